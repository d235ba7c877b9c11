SELECT substr(key, 7) FROM settings WHERE key >= 'pause/' AND key < 'pause0' ORDER BY key
