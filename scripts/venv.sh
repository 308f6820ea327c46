# Sourced by grade.sh and test.sh: makes .venv once, reuses it, and says what it does.
# Installs again only when requirements.txt has changed; an interrupted set-up is resumed.
# Leaves `root` (this repository) and `python` (that of .venv); the working folder stays.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd) || exit 1
python=$root/.venv/bin/python

find_python() {
    local candidate
    for candidate in "${PYTHON:-}" python3.11 python3.12 python3.13 python3 python; do
        [ -n "$candidate" ] && command -v "$candidate" >/dev/null 2>&1 || continue
        if "$candidate" -c 'import sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            printf '%s' "$candidate"
            return
        fi
    done
    echo "Python 3.11 or newer with its venv module is needed; install it, or set PYTHON=/path/to/python" >&2
    return 1
}

make_venv() {
    local base stamp wanted torch
    wanted=$(cksum < "$root/requirements.txt")
    stamp=$root/.venv/requirements.stamp
    if [ -x "$python" ] && [ "$(cat "$stamp" 2>/dev/null)" = "$wanted" ]; then
        return
    fi
    if [ -e "$root/.venv" ] && { [ -L "$root/.venv" ] || ! [ -O "$root/.venv" ]; }; then
        echo ".venv is a link, or another user's, and lacks what requirements.txt lists; set it up as its owner" >&2
        return 1
    fi
    if ! "$python" -c 'import pip' 2>/dev/null; then
        base=$(find_python) || return 1
        echo "Making .venv with $base" >&2
        rm -rf "$root/.venv"
        "$base" -m venv "$root/.venv" || return 1
    fi
    torch=$(grep '^torch==' "$root/requirements.txt")
    echo "Installing requirements.txt into .venv (a minute or two, once)" >&2
    # torch first and alone: as a dependency of others, pip might choose a larger build.
    "$python" -m pip install -qq --disable-pip-version-check "$torch" || return 1
    "$python" -m pip install -qq --disable-pip-version-check -r "$root/requirements.txt" || return 1
    printf '%s' "$wanted" > "$stamp"
}

if ! make_venv; then
    echo "The set-up did not finish; run the same command again to resume it." >&2
    exit 1
fi
