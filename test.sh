#!/usr/bin/env bash
# All tests of the project: style, types, then pytest (which runs the gate, too).
set -euo pipefail
. "$(dirname "$0")/scripts/venv.sh"
.venv/bin/ruff check .
.venv/bin/ruff format --check .
.venv/bin/mypy
exec .venv/bin/python -m pytest "$@"
