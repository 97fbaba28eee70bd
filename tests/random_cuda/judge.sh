#!/usr/bin/env bash
# Random CUDA programs on a GPU: the device's results against the host's, which judges generator and emulation. Needs nvcc and g++.
#   judge.sh [OUT]     writes OUT/differences and OUT/sums.gz (a line for each program: seed, sum of what the host computed)
# Variables: FIRST seed, PROGRAMS, JOBS compilers at once, SECONDS_LEFT after which no further source is begun, GPUS to use.
export ROOT OUT=${1-out}
ROOT=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd -P)
export FIRST=${FIRST-1} PROGRAMS=${PROGRAMS-5200} PER=20 JOBS=${JOBS-$(nproc)} SECONDS_LEFT=${SECONDS_LEFT-185}
export WORK=$(mktemp -d) GPUS=${GPUS-$(nvidia-smi -L | wc -l)}
mkdir -p "$OUT"
g++ -std=c++20 -O1 -I"$ROOT" -DCOALESCE_BINARY_DIR='"/tmp"' -DCOALESCE_SOURCE_DIR="\"$ROOT\"" "$ROOT"/tests/random_cuda/*.cpp -o "$WORK/random_cuda" -pthread || exit 1
one() {  # one source, its way by its number
  local i=$1 from=$((FIRST + $1 * PER)) base=$WORK/s$1 flags=
  [ $(($(date +%s) - START)) -lt "$SECONDS_LEFT" ] || { echo "skipped $from"; return; }
  case $((i % 4)) in 0) [ $((i % 16)) = 0 ] && flags=-G ;; 1) flags="-Xcicc -O1" ;; *) flags= ;; esac
  "$WORK/random_cuda" --seeds "$from,$PER" --print > "$base.cu"
  if ! nvcc -std=c++17 -arch=sm_90 -w -fmad=false -Xcompiler -fno-strict-aliasing $flags -I"$ROOT/tests/random_cuda/include" "$base.cu" -o "$base" > "$base.err" 2>&1; then
    echo "no program $from $flags: $(grep -m1 error "$base.err")"; return
  fi
  # Three programs at a time on a GPU: stacks of recursive kernels take gigabytes.
  local slot=$((i % (3 * GPUS)))
  export CUDA_VISIBLE_DEVICES=$((slot % GPUS))
  exec 9> "$WORK/slot.$slot"; flock 9
  timeout 60 "$base" --sums > "$base.out" 2> "$base.err2" < /dev/null
  local code=$?
  if [ $code -gt 1 ] || grep -q ' failed: ' "$base.out"; then  # each by itself
    for s in $(seq $from $((from + PER - 1))); do timeout 30 "$base" --sums $s > "$base.$s" 2>&1; c=$?; cat "$base.$s"; [ $c -le 1 ] || echo "exit code $c, seed $s"; done > "$base.out"
  fi
  exec 9>&-
  sed "s|^|${flags:--O3}: |" "$base.out"
  rm -f "$base" "$base.cu"
}
export -f one
export START=$(date +%s)
seq 0 $(((PROGRAMS + PER - 1) / PER - 1)) | xargs -P "$JOBS" -I{} bash -c 'one {}' > "$OUT/all"
grep -o 'sum .*' "$OUT/all" | sort -k2n | gzip > "$OUT/sums.gz"
grep -v ': sum ' "$OUT/all" > "$OUT/differences"
echo "programs run: $(grep -c ': sum ' "$OUT/all")  not right: $(grep -c 'seed' "$OUT/differences")  sources without a program: $(grep -c 'no program' "$OUT/differences")  skipped sources: $(grep -c skipped "$OUT/differences")  seconds: $(($(date +%s) - START))"
head -50 "$OUT/differences"
rm -f "$OUT/all"; rm -rf "$WORK"
