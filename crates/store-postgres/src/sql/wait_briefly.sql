SELECT set_config('lock_timeout', '200ms', true)
