SELECT input, state FROM redrive.payloads WHERE job = $1
