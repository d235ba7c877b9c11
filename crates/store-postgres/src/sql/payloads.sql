SELECT job, input, state FROM redrive.payloads WHERE job = ANY($1)
