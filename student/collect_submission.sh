#!/bin/sh
# Make submission.zip of what is to be handed in, and say what is missing.
cd "$(dirname "$0")" || exit 1
exec python3 collect_submission.py "$@"
