#!/usr/bin/env bash
# Grade submissions: ./grade.sh PATH... [--course NAME] [--out DIR], or ./grade.sh --examples
set -euo pipefail
. "$(dirname "$0")/scripts/venv.sh"
# -P: nothing in the folder from which this is called may stand in for a module of ours.
GRADE_CALLED_AS=$0 PYTHONPATH=$root exec "$python" -P -m autograder --root "$root" grade "$@"
