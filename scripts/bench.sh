#!/usr/bin/env bash
# Run every benchmark, or those that are named; peers run in environments of their own, made on first use.
# Results go to benchmarks/results/NAME.json, and from there into the numbers of README.md and docs/.
# With --quick: tiny sizes, no peers, results in build/bench-quick/; no number of a document changes.
# A result in which something could not be run goes to NAME.partial beside it, and the last whole one stays.
# The Adult table of benchmarks/anonymize.py is in the folder that PYDPLIB_ADULT names; without it a made-up one is used,
# and the result, in which no loss is judged, goes to build/bench/.
# Usage: scripts/bench.sh [--quick] [NAME ...]
set -uo pipefail
cd "$(dirname "$0")/.."
python=.venv/bin/python results=benchmarks/results quick=()
[ "${1:-}" = --quick ] && { quick=(--quick) results=build/bench-quick; shift; }
names=("$@")
[ $# -gt 0 ] || for script in benchmarks/[a-z]*.py; do names+=("$(basename "$script" .py)"); done
for name in "${names[@]}"; do
  [ -f "benchmarks/$name.py" ] || { echo "There is no benchmarks/$name.py." >&2; exit 2; }
done

mkdir -p "$results"
failed=()
for name in "${names[@]}"; do
  echo "== $name"
  target=$results
  [ "$name${PYDPLIB_ADULT:-}" != anonymize ] || target=${results/benchmarks\/results/build\/bench}
  "$python" "benchmarks/$name.py" "${quick[@]}" --json "$target/$name.json" || failed+=("$name")
done
[ ${#quick[@]} -gt 0 ] || "$python" scripts/bench_numbers.py || failed+=("the numbers of the documents")
echo "Results: $results"
[ ${#failed[@]} -eq 0 ] || { (IFS=,; echo "Did not finish, or missed a bar: ${failed[*]}") >&2; exit 1; }
