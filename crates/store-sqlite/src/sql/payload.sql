SELECT label, input, state FROM payloads WHERE job = ?1
