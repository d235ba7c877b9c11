SELECT redrive.now_ms()
