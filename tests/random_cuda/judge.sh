#!/usr/bin/env bash
# Random CUDA programs on a GPU: the device's results against the host's, which judges generator and emulation.
#   judge.sh compile DIR   compiles sources into DIR; needs nvcc and g++, no GPU, and takes up again what was broken off
#   judge.sh run DIR OUT   runs what lies in DIR; writes OUT/differences and OUT/sums.gz (a line for each program:
#                          seed, sum of what the host computed)
#   judge.sh reduce DIR OUT SEED WAY   makes a program that fails small: OUT/seed...cu; WAY is nvcc-O3, nvcc-O1 or nvcc-G
# Variables: FIRST seed, PROGRAMS, PER source, JOBS at once, GPUS to use, SLOTS programs at once on a GPU,
# SECONDS_LEFT after which no further source is begun.
set -u
export ROOT MODE=$1 DIR=$2 OUT=${3-}
ROOT=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd -P)
export FIRST=${FIRST-1} PER=${PER-40} SECONDS_LEFT=${SECONDS_LEFT-185}
export PROGRAMS=${PROGRAMS-5200} JOBS=${JOBS-$(nproc)}

compile() {  # the source of the given number
  local i=$1 from=$((FIRST + $1 * PER)) kind=O3 flags=
  case $((i % 4)) in 0) [ $((i % 16)) = 0 ] && kind=G flags=-G ;; 1) kind=O1 flags="-Xcicc -O1" ;; esac
  local base=$DIR/$from.$PER.$kind
  [ ! -x "$base" ] || return
  "$DIR/random_cuda" --seeds "$from,$PER" --print > "$base.cu"
  if nvcc -std=c++17 -gencode arch=compute_90,code=sm_90 -w -fmad=false -Xcompiler -fno-strict-aliasing $flags \
      -I"$ROOT/tests/random_cuda/include" "$base.cu" -o "$base.part" > "$base.err" 2>&1; then
    strip "$base.part" && mv "$base.part" "$base" && rm -f "$base.err"
  else
    echo "no program $base: $(grep -m1 error "$base.err")"
  fi
  rm -f "$base.cu"
}

run() {  # the given program, its GPU by the given number
  local i=$1 base=$2 name from per kind
  [ $(($(date +%s) - START)) -lt "$SECONDS_LEFT" ] || { echo "skipped $base"; return; }
  name=$(basename "$base"); from=${name%%.*} kind=${name##*.} per=${name#*.}; per=${per%.*}
  # Stacks of 16 KiB a thread take 4 GiB on a GPU; a program that needs more runs again with 64 KiB.
  local slot=$((i % (SLOTS * GPUS))) out=$WORK/$name code
  export CUDA_VISIBLE_DEVICES=$((slot % GPUS))
  exec 9> "$WORK/slot.$slot"; flock 9
  STACK=16384 timeout 100 "$base" --sums > "$out" 2> /dev/null < /dev/null
  code=$?
  if [ $code -gt 1 ] || grep -q ' failed: ' "$out"; then  # each by itself
    for s in $(seq "$from" $((from + per - 1))); do
      timeout 30 "$base" --sums "$s" > "$out.1" 2>&1; code=$?
      cat "$out.1"; [ $code -le 1 ] || echo "exit code $code, seed $s"
    done > "$out"
  fi
  sed "s|^|$kind: |" "$out"
}

as_coalesce() {  # what `coalesce run -q ... --compiler nvcc -X FLAG... FILE.cu [SEED]` does, on the GPU
  local flags=() file=
  while [ $# -gt 0 ]; do
    case $1 in -X) flags+=("$2"); shift ;; -X*) flags+=("${1#-X}") ;; *.cu) file=$1; shift; break ;; esac
    shift
  done
  nvcc -std=c++17 -arch=native "${flags[@]}" "$file" -o "${file%.cu}.run" > /dev/null || { echo "$file does not compile" >&2; return 2; }
  timeout 30 "${file%.cu}.run" "$@"
}

generator() {
  mkdir -p "$DIR"
  g++ -std=c++20 -O1 -I"$ROOT" -DCOALESCE_BINARY_DIR='"/tmp"' -DCOALESCE_SOURCE_DIR="\"$ROOT\"" "$ROOT"/tests/random_cuda/*.cpp -o "$DIR/random_cuda" -pthread
}

export -f compile run
case $MODE in
compile)
  generator || exit 1
  seq 0 $(((PROGRAMS + PER - 1) / PER - 1)) | xargs -P "$JOBS" -I{} bash -c 'compile {}'
  rm -f "$DIR/random_cuda" ;;
run)
  mkdir -p "$OUT"
  export WORK=$(mktemp -d) SLOTS=${SLOTS-8} GPUS=${GPUS-$(nvidia-smi -L | wc -l)} START=$(date +%s)
  find "$DIR" -maxdepth 1 -type f -name '[0-9]*' -executable | sort | cat -n | xargs -P $((SLOTS * GPUS)) -L 1 bash -c 'run "$0" "$1"' > "$OUT/all"
  grep -o 'sum .*' "$OUT/all" | sort -k2n | gzip > "$OUT/sums.gz"
  grep -v ': sum ' "$OUT/all" > "$OUT/differences"
  echo "programs run: $(grep -c ': sum ' "$OUT/all")  not right: $(grep -c 'seed' "$OUT/differences")" \
    " skipped sources: $(grep -c skipped "$OUT/differences")  seconds: $(($(date +%s) - START))"
  head -50 "$OUT/differences"
  rm -rf "$OUT/all" "$WORK" ;;
reduce)
  generator && printf '#!/bin/sh\nexec bash %q as_coalesce - "$@"\n' "$(readlink -f -- "${BASH_SOURCE[0]}")" > "$DIR/command" && chmod +x "$DIR/command" &&
    "$DIR/random_cuda" --seeds "$4,1" --compilations "$5" --engines gpu --scratch "$DIR" --command "$DIR/command" --kept "$OUT" ;;
as_coalesce) as_coalesce "${@:3}" ;;
*) sed -n '2,10s/^# //p' "${BASH_SOURCE[0]}" >&2; exit 2 ;;
esac
