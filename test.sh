#!/usr/bin/env bash
# The tests of the project: style, types, imports, then pytest (which runs the gate and the attacks, too).
#
#   ./test.sh                 everything, on all cores
#   ./test.sh --fast          all but the tests marked slow; what to run while you work
#   ./test.sh PATH… -k WORD   only these tests; everything that pytest takes may follow
set -euo pipefail
. "$(dirname "$0")/scripts/venv.sh"
cd "$root"
chosen=()
if [ "${1:-}" = --fast ]; then
    chosen=(-m "not slow")
    shift
fi
"$python" -m ruff check .
"$python" -m ruff format --check .
"$python" -m mypy
"$root/.venv/bin/lint-imports" --no-cache --no-logo
# -n auto: few tests run in one process, see tests/project/schedule.py.
exec "$python" -m pytest -n auto --dist loadgroup "${chosen[@]+"${chosen[@]}"}" "$@"
