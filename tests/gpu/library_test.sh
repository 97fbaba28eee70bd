#!/usr/bin/env bash
# library_test.sh SOURCE BUILD [NAME...]: builds the library's test programs with nvcc for the GPU at hand, with every type
# compiled in, and runs them there; then under compute-sanitizer, if it is there. 0: all right; 1: one failed; 3: no GPU.
set -euo pipefail
source=$1 build=$2
shift 2
fail() { echo "error: $2" >&2 && exit "$1"; }
nvidia-smi >/dev/null 2>&1 || fail 3 "there is no GPU here; the same programs without one: ./dev test -R Library"
command -v nvcc >/dev/null || fail 3 "there is no nvcc on PATH"
programs=("$source"/tests/library/*.cu "$source/tests/gpu/library_large.cu")
mkdir -p "$build"
declare -A jobs
for program in "${programs[@]}"; do
  name=$(basename "$program" .cu)
  [[ $# -eq 0 || " $* " == *" $name "* ]] || continue
  nvcc -std=c++17 -O2 -arch=native -cudart static -DALL_TYPES -I"$source/include" -o "$build/$name" "$program" &
  jobs[$name]=$!
done
failed=0
for name in "${!jobs[@]}"; do
  if wait "${jobs[$name]}" && "$build/$name"; then
    # Its own allocations only; the large one would take hours.
    if [[ $name != library_large ]] && command -v compute-sanitizer >/dev/null && ! compute-sanitizer --error-exitcode 1 "$build/$name" >"$build/$name.log" 2>&1; then
      echo "FAILED under compute-sanitizer: $name; see $build/$name.log" && failed=1
    fi
  else
    echo "FAILED: $name" && failed=1
  fi
done
exit $failed
