#!/usr/bin/env bash
# Make a virtual environment and install the pinned versions of a lock file and this package into it.
# Usage: scripts/setup_venv.sh VENV LOCK
set -euo pipefail
venv=$1 lock=$2

find_python() {
  for name in ${PYTHON:+"$PYTHON"} python3.13 python3.12 python3.11 python3; do
    if command -v "$name" >/dev/null 2>&1 && "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      echo "$name"
      return
    fi
  done
}

python=$(find_python)
if [ -z "$python" ] || { [ ! -x "$venv/bin/python" ] && ! "$python" -c 'import ensurepip, venv' 2>/dev/null; }; then
  "$(dirname "$0")/setup_system.sh" python || true
  python=$(find_python)
fi
[ -n "$python" ] || { echo "pydplib needs Python 3.11 or newer; none was found. Set PYTHON=/path/to/python3." >&2; exit 1; }

if [ ! -x "$venv/bin/python" ]; then
  echo "Making the virtual environment $venv ..."
  "$python" -m venv "$venv"
fi
echo "Installing the pinned packages of $lock (a few minutes the first time) ..."
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes -r "$lock" 2> >(grep -v '^WARNING: Location' >&2)
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps -e . 2> >(grep -v '^WARNING: Location' >&2)
