#!/usr/bin/env bash
# On a GPU: runs Compute Sanitizer's tools on the kernels of tests/end_to_end/hazards.cu, for the table of
# docs/check.md. Needs nvcc and compute-sanitizer; half a minute. usage: check_peers.sh [FOLDER with codes.txt of an
# earlier run]
set -euo pipefail
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd -P)
if [[ $# -gt 0 ]]; then
  work=$1
else
  work=$(mktemp -d)
  nvcc -O3 -std=c++17 -lineinfo -arch=native -o "$work/kernels" "$root/tests/end_to_end/hazards.cu"
  one() { # exit code 9: the tool found something
    local code=0 options=()
    if [[ $3 == racecheck ]]; then options=(--racecheck-report all); fi
    timeout 30 compute-sanitizer --tool "$3" "${options[@]}" --error-exitcode 9 "$work/kernels" "$1" "$2" >"$work/$3.$1.$2.txt" 2>&1 || code=$?
    echo "$3 $1 $2 $code" >>"$work/codes.txt"
  }
  export -f one
  export work
  "$work/kernels" list | while read -r name right; do
    for which in wrong right; do
      if [[ -n $right && $which == wrong ]]; then continue; fi
      for tool in racecheck initcheck memcheck; do echo "$name $which $tool"; done
    done
  done | xargs -P 8 -L 1 bash -c 'one $0 $1 $2'
fi
echo "| Kernel | Here | racecheck | initcheck | memcheck |"
echo "| --- | --- | --- | --- | --- |"
awk '/^__global__ void/ { name = $3; sub(/\(.*/, "", name) } / \/\/ HERE: / { print name, $NF }' "$root/tests/end_to_end/hazards.cu" |
  while read -r name hazard; do
    row="| \`$name\` | $hazard |"
    for tool in racecheck initcheck memcheck; do
      code=$(awk -v t=$tool -v n="$name" '$1 == t && $2 == n && $3 == "wrong" { print $4 }' "$work/codes.txt")
      row+=" $([[ $code == 9 ]] && echo found || echo -) |"
    done
    echo "$row"
  done
awk '$3 == "right" { ++all } $3 == "right" && $4 == 9 { print "Found in the right form:", $1, $2 } END { print ""; print all " runs of right forms" }' "$work/codes.txt"
