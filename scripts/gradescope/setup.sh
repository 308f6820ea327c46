#!/usr/bin/env bash
# Gradescope runs this once, as root, when it builds the image: a Python, and what requirements.txt pins.
# Ubuntu 22.04 has Python 3.10, and a 3.11 that is a release candidate, with which torch cannot be imported; hence
# a final release: one that is there already, or from the deadsnakes archive by apt, or from uv by pip.
set -uo pipefail
source=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
venv=$(dirname "$source")/venv
uv=$venv.uv
export DEBIAN_FRONTEND=noninteractive PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
if [ -e "$source/pip.conf" ]; then
    export PIP_CONFIG_FILE=$source/pip.conf
fi

fail() {
    echo "setup.sh: $*" >&2
    exit 1
}

# The first of these commands that is a final release, 3.11 or newer, with all that makes a virtual environment.
first_usable() {
    local candidate
    for candidate in "$@"; do
        [ -n "$candidate" ] && command -v "$candidate" >/dev/null 2>&1 || continue
        if "$candidate" -c '
import ensurepip, sys, venv
sys.exit(sys.version_info < (3, 11) or sys.version_info.releaselevel != "final")' 2>/dev/null; then
            command -v "$candidate"
            return
        fi
    done
    return 1
}

from_apt() {
    command -v apt-get >/dev/null 2>&1 || return 1
    {
        apt-get update -qq &&
            apt-get install -qq -y --no-install-recommends software-properties-common gpg-agent &&
            add-apt-repository -y ppa:deadsnakes/ppa &&
            apt-get update -qq &&
            apt-get install -qq -y --no-install-recommends python3.11 python3.11-venv
    } >&2 && first_usable python3.11
}

from_uv() {
    {
        python3 -m pip --version || apt-get install -qq -y --no-install-recommends python3-pip
        python3 -m pip install -q --target "$uv" uv==0.9.0 &&
            PYTHONPATH=$uv UV_PYTHON_INSTALL_DIR=$uv/python python3 -m uv python install 3.11
    } >&2 && first_usable "$uv"/python/*/bin/python3.11
}

python=$(first_usable "${PYTHON:-}" python3.11 python3.12 python3.13 python3)
if [ -z "$python" ]; then
    echo "setup.sh: no Python 3.11 here; trying apt" >&2
    python=$(from_apt)
fi
if [ -z "$python" ]; then
    echo "setup.sh: apt gave none; trying uv" >&2
    python=$(from_uv)
fi
[ -n "$python" ] || fail "no final release of Python 3.11 or newer is here, and neither apt nor uv gave one; choose a" \
    "base image that has one, or set PYTHON"

"$python" -m venv --clear "$venv" || fail "$python could not make a virtual environment in $venv"
python=$venv/bin/python
# torch first and alone: as a dependency of others, pip might choose a larger build.
"$python" -m pip install -q "$(grep '^torch==' "$source/requirements.txt")" || fail "pip could not install torch"
"$python" -m pip install -q -r "$source/requirements.txt" || fail "pip could not install requirements.txt"
if [ "$("$python" -c 'import torch; print(torch.version.cuda)')" != None ]; then
    echo "setup.sh: note: this is the CUDA build of torch, which grades, but needs gigabytes; name an index with the" \
        "CPU build in a pip.conf, see docs/gradescope.md" >&2
fi
PYTHONPATH=$source "$python" -P -s -m autograder.gradescope.container "$(dirname "$source")" --ready ||
    fail "everything is installed, but the grader cannot start; see above"
