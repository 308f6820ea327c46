#!/usr/bin/env bash
# The gate: proves that solutions, student release, references and checks fit together.
set -euo pipefail
. "$(dirname "$0")/scripts/venv.sh"
exec .venv/bin/python -m autograder verify "$@"
