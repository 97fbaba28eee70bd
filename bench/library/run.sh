#!/usr/bin/env bash
# run.sh [--only REGEX] [--seconds S] [--cub-main DIR] [--binaries DIR] [--output FILE]: the library beside CUB, Thrust
# and PyTorch on this machine's GPU; lines of JSON go to FILE (build/library.jsonl), which table.py makes the documents from.
#
#   --only REGEX     only cases whose name matches, such as 'matrix/sum/float/1024x262144/axis1'
#   --seconds S      each program starts no case after so many seconds (so that it can be run in parts)
#   --cub-main DIR   a checkout of NVIDIA/cccl: measured as well, as "cub-main"
#   --binaries DIR   programs that are built already; without it nvcc builds them
set -euo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
root=$(cd "$here/../.." && pwd -P)
only='' seconds=1000000 cub_main='' binaries='' output=$root/build/library.jsonl
fail() { echo "error: $2" >&2 && exit "$1"; }
while [[ $# -gt 0 ]]; do
  [[ $# -ge 2 ]] || fail 2 "$1 needs a value"
  case $1 in
    --only) only=$2 ;;
    --seconds) seconds=$2 ;;
    --cub-main) cub_main=$2 ;;
    --binaries) binaries=$2 ;;
    --output) output=$2 ;;
    *) fail 2 "there is no option '$1': --only, --seconds, --cub-main, --binaries, --output" ;;
  esac
  shift 2
done
command -v nvidia-smi >/dev/null && nvidia-smi >/dev/null || fail 3 "there is no GPU here; the counts without one: ./dev test -R Library"

# Each a program of its own, so that they build side by side.
build() {
  command -v nvcc >/dev/null || fail 3 "there is no nvcc on PATH; give programs that are built already with --binaries"
  local nvcc=(nvcc -std=c++17 -O3 -arch=native -cudart static "-I$root/include") job jobs=()
  mkdir -p "$binaries"
  for type in int8 half double; do
    [[ $type != int8 ]] && more=() || more=(-DRAGGED)
    "${nvcc[@]}" -DTYPE=$type "${more[@]}" -o "$binaries/reductions-$type" "$here/reductions.cu" & jobs+=($!)
  done
  for op in sum max argmax argmin variance stats; do
    local more=(-DTYPE=float -DSHAPES "-DOP=$op")
    [[ $op != sum && $op != max ]] || more+=(-DRAGGED)
    "${nvcc[@]}" "${more[@]}" -o "$binaries/reductions-float-$op" "$here/reductions.cu" & jobs+=($!)
  done
  for type in int8 half float double; do
    "${nvcc[@]}" -DTYPE=$type -o "$binaries/eager-$type" "$here/eager.cu" & jobs+=($!)
  done
  "${nvcc[@]}" -o "$binaries/moving" "$here/moving.cu" & jobs+=($!)
  "${nvcc[@]}" -o "$binaries/limit" "$here/limit.cu" & jobs+=($!)
  "${nvcc[@]}" -o "$binaries/cub" "$here/cub.cu" & jobs+=($!)
  if [[ -n $cub_main ]]; then
    "${nvcc[@]}" -DLIBRARY='"cub-main"' "-I$cub_main/cub" "-I$cub_main/thrust" "-I$cub_main/libcudacxx/include" \
      -o "$binaries/cub-main" "$here/cub.cu" & jobs+=($!)
  fi
  for job in "${jobs[@]}"; do wait "$job" || fail 1 "nvcc could not build a benchmark"; done
}
if [[ -z $binaries ]]; then
  binaries=$root/build/bench-library
  build
fi

mkdir -p "$(dirname "$output")"
{
  # The first line names the machine.
  nvidia-smi --query-gpu=name,driver_version --format=csv,noheader |
    awk -F', ' -v date="$(LC_ALL=C date -u +%F)" 'NR == 1 { printf "{\"machine\": \"%s\", \"driver\": \"%s\", \"date\": \"%s\"}\n", $1, $2, date }'
  for program in limit "$binaries"/reductions-* moving cub cub-main "$binaries"/eager-*; do
    program=${program##*/}
    [[ -x $binaries/$program ]] || continue
    echo "== $program" >&2
    "$binaries/$program" --only "$only" --seconds "$seconds" || echo "$program ended with $?" >&2
  done
  if python3 -c 'import torch' 2>/dev/null; then
    echo "== torch" >&2
    cases=$(mktemp)
    "$binaries/limit" --list >"$cases"
    python3 "$here/torch_reductions.py" "$cases" --only "$only" --seconds "$seconds" || echo "torch ended with $?" >&2
    rm "$cases"
  fi
} >"$output"
echo "$(grep -c seconds "$output") figures in $output; tables and plots: bench/library/table.py and random_shapes.py, each with $output" >&2
