#!/usr/bin/env bash
# Run the tests of the core on the oldest and on the newest versions of its dependencies, each in a new environment.
# The oldest are the lower bounds of pyproject.toml themselves, on the oldest Python that is here; the newest are what
# the index has, on the newest. PYTHON names another Python for both.
# Usage: scripts/test_versions.sh [oldest|newest] [PYTEST_ARGUMENT ...]
set -euo pipefail
cd "$(dirname "$0")/.."
which=(oldest newest)
case ${1:-} in oldest | newest) which=("$1"); shift ;; esac
# The core: what runs without the platform, a database server, Spark or a browser.
tests=(tests/unit/{noise,mechanisms,budget,policy,engine,release,paper,datasets,anonymity,capture,cli}
  tests/unit/test_{errors,files_by_name,guarantee,public_names,receipt,schema}.py tests/spec)
[ $# -gt 0 ] || set -- -q -m "not slow and not spark and not postgres and not browser"

find_python() {
  for name in ${PYTHON:+"$PYTHON"} "$@" python3; do
    if "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      echo "$name"
      return
    fi
  done
}

for age in "${which[@]}"; do
  venv=build/venv-$age
  if [ "$age" = oldest ]; then python=$(find_python python3.11 python3.12 python3.13); else python=$(find_python python3.13 python3.12 python3.11); fi
  [ -n "$python" ] || { echo "No Python 3.11 or newer was found." >&2; exit 1; }
  echo "== $age versions of the core's dependencies, $("$python" --version)"
  "$python" -m venv --clear "$venv"
  bounds=build/bounds-$age.txt
  "$venv/bin/python" - "$age" >"$bounds" <<'PYTHON'
import sys, tomllib
for line in tomllib.load(open("pyproject.toml", "rb"))["project"]["dependencies"]:
    name, oldest = line.split(">=")
    print(f"{name}=={oldest}" if sys.argv[1] == "oldest" else f"{name}>={oldest}")
PYTHON
  # Beside the core, what its tests read tables with and check its arithmetic against.
  "$venv/bin/python" -m pip install -q --disable-pip-version-check -c "$bounds" \
    . pytest hypothesis pandas polars pyarrow scipy opendp dp-accounting openpyxl plotly kaleido "psycopg[binary]"
  "$venv/bin/python" -m pip list --disable-pip-version-check --format freeze |
    grep -iE '^(numpy|narwhals|cryptography|duckdb|click|rich)=='
  "$venv/bin/python" -m pytest -p no:cacheprovider "$@" "${tests[@]}"
done
