#!/bin/sh
# What waits in queue/ and retry/, what is in work, what failed.
exec "${REDRIVE:-redrive}" intake status "$@"
