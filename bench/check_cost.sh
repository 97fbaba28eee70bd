#!/usr/bin/env bash
# Measures `coalesce check` beside `coalesce run` on one thread of the interpreter, for the table of docs/check.md.
# Least user time of three runs each, taken in turns; a minute. usage: check_cost.sh [COALESCE]
set -euo pipefail
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
coalesce=${1:-$root/build/bin/coalesce}
TIMEFORMAT=%U
least() { sort -g | head -1; }
seconds() { { time "$@" >/dev/null 2>&1; } 2>&1; }
echo "| Program | \`run\` | \`check\` | Times |"
echo "| --- | ---: | ---: | ---: |"
while read -r name n; do
  file=$root/lab/$name/$name.cu run=() check=()
  "$coalesce" run -q --compiler clang "$file" --n 1 >/dev/null 2>&1 || true # compiles
  for _ in 1 2 3; do
    run+=("$(seconds "$coalesce" run -q --compiler clang --engine interpreter --threads 1 "$file" --n "$n")")
    check+=("$(seconds "$coalesce" check -q --compiler clang "$file" --n "$n")")
  done
  a=$(printf '%s\n' "${run[@]}" | least) b=$(printf '%s\n' "${check[@]}" | least)
  echo "| \`lab/$name --n $n\` | $a s | $b s | $(awk -v a="$a" -v b="$b" 'BEGIN { printf "%.0f", b / a }') |"
done <<'EOF'
reduce 4000000
transpose 2048
matmul 256
EOF
