#!/bin/sh
# How often each PDF is tried again: bin/set-max-retries.sh 5
exec "${REDRIVE:-redrive}" intake set-max-retries "${1:-3}"
