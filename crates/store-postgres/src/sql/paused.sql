SELECT substr(key, 7) FROM redrive.settings WHERE key LIKE 'pause/%' ORDER BY key
