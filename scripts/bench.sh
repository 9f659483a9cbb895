#!/usr/bin/env bash
# Run every benchmark; results go to benchmarks/results/NAME.json.
# Usage: scripts/bench.sh [--quick]
set -uo pipefail
mkdir -p benchmarks/results
failed=()
for script in benchmarks/[a-z]*.py; do
  name=$(basename "$script" .py)
  echo "== $name"
  .venv/bin/python "$script" "$@" --json "benchmarks/results/$name.json" || failed+=("$name")
done
[ ${#failed[@]} -eq 0 ] || { echo "did not finish or missed a bar: ${failed[*]}" >&2; exit 1; }
