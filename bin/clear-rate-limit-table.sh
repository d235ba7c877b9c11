#!/bin/sh
# Gives places in flight back that are taken for nothing.
exec "${REDRIVE:-redrive}" intake clear-inflight "$@"
