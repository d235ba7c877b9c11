SELECT lane, count(*) FROM redrive.jobs WHERE state = 'processing' GROUP BY lane
