UPDATE redrive.moves SET target = $3 WHERE number = $1 AND target = $2 AND state = 'open'
