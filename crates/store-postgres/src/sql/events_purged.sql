SELECT value::int8 FROM redrive.settings WHERE key = 'events/purged'
