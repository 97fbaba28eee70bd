#!/usr/bin/env bash
# run.sh [--cub-main DIR] [--binaries DIR] [--output FILE] [PART...]: exact sums on this computer: on its GPU, where it has one and
# nvcc builds (or --binaries holds) the programs, beside the library's plain sum and CUB's; and on its CPU. Lines of JSON go to FILE
# (build/exact.jsonl), from which chart.py writes tables and plots of the documents.
#
#   PART             check, flat, sustained, small, speed, shapes, forms, errors, torch, host; without any: all but forms
#   --cub-main DIR   a checkout of NVIDIA/cccl: its sum that is the same on every GPU is measured too
#   --binaries DIR   programs that are built already
set -euo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
root=$(cd "$here/../.." && pwd -P)
cub_main='' binaries='' output=$root/build/exact.jsonl parts=()
fail() { echo "error: $2" >&2 && exit "$1"; }
while [[ $# -gt 0 ]]; do
  case $1 in
    --cub-main) cub_main=${2-} && shift ;;
    --binaries) binaries=${2-} && shift ;;
    --output) output=${2-} && shift ;;
    --*) fail 2 "there is no option '$1': --cub-main, --binaries, --output" ;;
    *) parts+=("$1") ;;
  esac
  shift
done
[[ ${#parts[@]} -gt 0 ]] || parts=(check flat sustained small speed shapes errors torch host)
has() { [[ " ${parts[*]} " == *" $1 "* ]]; }
types=(float double __half __nv_bfloat16)
mkdir -p "$(dirname "$output")"
: >"$output"

if has host; then
  mkdir -p "$root/build"
  ${CXX:-c++} -std=c++17 -O3 -march=native -pthread -I"$root/include" -o "$root/build/exact_host" "$here/host.cpp"
  "$root/build/exact_host" | tee -a "$output"
fi
if ! nvidia-smi >/dev/null 2>&1; then
  echo "there is no GPU here: only the CPU was measured" >&2
  exit 0
fi

# group | parts: one program for each type and group, so that they build side by side
groups='CHECK check
FLAT flat sustained small speed errors
SHAPES shapes
FORMS forms'
build() {
  command -v nvcc >/dev/null || fail 3 "there is no nvcc on PATH; give programs that are built already with --binaries"
  mkdir -p "$binaries"
  local flags=(-std=c++17 -O3 -arch=native -cudart static -Xcompiler -pthread "-I$root/include" "-I$root") group rest type jobs=() job
  local main=() cub=()
  [[ -z $cub_main ]] || main=(-DCOALESCE_CUB_MAIN "-I$cub_main/cub" "-I$cub_main/thrust" "-I$cub_main/libcudacxx/include")
  while read -r group rest; do
    for type in "${types[@]}"; do
      [[ $group != FORMS || $type == float ]] || continue  # its states of doubles exceed the plain kernels' shared memory
      cub=()
      [[ $type == __* ]] || cub=("${main[@]}")  # its sum that is the same everywhere knows float and double
      nvcc "${flags[@]}" "${cub[@]}" "-DELEMENT=$type" "-DONLY_$group=1" -o "$binaries/$group-$type" "$here/exact.cu" &
      jobs+=($!)
    done
  done <<<"$groups"
  for job in "${jobs[@]}"; do wait "$job" || fail 1 "nvcc could not build a benchmark"; done
}
if [[ -z $binaries ]]; then
  binaries=$root/build/bench-exact
  build
fi
arrays=$(mktemp -d)
trap 'rm -rf "$arrays"' EXIT
cd "$arrays"
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader |
  awk -F', ' -v date="$(LC_ALL=C date -u +%F)" 'NR == 1 { printf "{\"machine\": \"%s\", \"driver\": \"%s\", \"date\": \"%s\"}\n", $1, $2, date }' >>"$output"
while read -r group rest; do
  for type in "${types[@]}"; do
    [[ -x $binaries/$group-$type ]] || continue
    asked=()
    for part in $rest; do has "$part" && asked+=("$part"); done
    [[ ${#asked[@]} -eq 0 ]] || "$binaries/$group-$type" "${asked[@]}" | tee -a "$output"
  done
done <<<"$groups"
if has torch && python3 -c 'import torch' 2>/dev/null; then python3 "$here/errors_torch.py" | tee -a "$output"; fi
