#!/usr/bin/env bash
# Measures `coalesce check` beside `coalesce run` on one thread, with native code and interpreted, for the table of
# docs/check.md. Least user time of ROUNDS (3) runs each, taken in turns; memory is the highest of the program's process.
# Some minutes. usage: check_cost.sh [COALESCE]
set -euo pipefail
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
coalesce=${1:-$root/build/bin/coalesce}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
least() { sort -g | head -1; }
measure() { # NAME WORDS...: adds user seconds and MiB to files
  local name=$1
  shift
  /usr/bin/env python3 - "$@" >>"$work/$name" <<'PY'
import os, resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
u = resource.getrusage(resource.RUSAGE_CHILDREN)
print("%.3f %d" % (u.ru_utime, u.ru_maxrss // 1024))
PY
}
echo "| Program | native | interpreter | \`check\` | Times native | Times interpreter | MiB, \`run\` and \`check\` |"
echo "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"
while read -r name n; do
  file=$root/$name.cu
  rm -f "$work"/*
  "$coalesce" run -q --compiler clang --threads 1 "$file" --n "$n" >/dev/null 2>&1 || true # compiles, native code, too
  "$coalesce" check -q --compiler clang "$file" --n 256 >/dev/null 2>&1 || true
  for ((k = 0; k < ${ROUNDS:-3}; ++k)); do
    measure native "$coalesce" run -q --compiler clang --threads 1 "$file" --n "$n"
    measure interpreter "$coalesce" run -q --compiler clang --engine interpreter --threads 1 "$file" --n "$n"
    measure check "$coalesce" check -q --compiler clang "$file" --n "$n"
  done
  a=$(cut -d' ' -f1 "$work/native" | least) b=$(cut -d' ' -f1 "$work/interpreter" | least) c=$(cut -d' ' -f1 "$work/check" | least)
  memory="$(cut -d' ' -f2 "$work/native" | least) and $(cut -d' ' -f2 "$work/check" | least)"
  awk -v p="\`$name --n $n\`" -v a="$a" -v b="$b" -v c="$c" -v m="$memory" \
    'BEGIN { printf "| %s | %.2f s | %.2f s | %.2f s | %.0f | %.0f | %s |\n", p, a, b, c, c / a, c / b, m }'
done <<'EOF'
lab/reduce/reduce 4000000
lab/transpose/transpose 2048
lab/matmul/matmul 256
lab/matmul/matmul 512
lab/matmul/matmul 1024
bench/histogram 16777216
EOF
