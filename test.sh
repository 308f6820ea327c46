#!/usr/bin/env bash
# All tests of the project: style, types, then pytest (which runs the gate and the attacks, too).
set -euo pipefail
. "$(dirname "$0")/scripts/venv.sh"
cd "$root"
"$python" -m ruff check .
"$python" -m ruff format --check .
"$python" -m mypy
"$root/.venv/bin/lint-imports" --no-cache --no-logo
exec "$python" -m pytest "$@"
