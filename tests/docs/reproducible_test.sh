#!/usr/bin/env bash
# Checks that every public function of the library that makes one value of many says in its header, in the table headed
# `reproducible`, on what the bits of its result depend, and that docs/exact.md lists it. f_host returns what f writes.
# usage: reproducible_test.sh SOURCE-DIR
set -euo pipefail
cd -- "$1"
headers=include/coalesce
names() { # header: the functions that it declares
  case $1 in
    reduce.cuh) sed '/^namespace detail {/,/^}  \/\/ namespace detail/d' "$headers/$1" | sed -nE 's/^ *COALESCE_FUNCTION\(([a-z]\w*),.*/\1/p; s/^status (\w+)\(.*/\1/p' | sed '/_host$/d' ;;
    exact.cuh) sed -nE 's/^inline constexpr detail::exact::.* (exact_\w+)\{\};/\1/p' "$headers/$1" | sed '/_host$/d' && echo exact_accumulator ;;
    host/exact.hpp) sed -nE 's/^T (\w+)\(.*/\1/p; s/^class (\w+) .*/\1/p' "$headers/$1" ;;
    */reduce.cuh) sed -nE 's/^__device__ __forceinline__ T (reduce)\(.*/'"${1%/*}"'::\1/p' "$headers/$1" ;;
  esac | sort -u
}
document=$(sed -n '/^### Reproducible/,/^## /p' docs/exact.md)
checked=0 failed=0
for header in reduce.cuh exact.cuh host/exact.hpp warp/reduce.cuh block/reduce.cuh; do
  for name in $(names "$header"); do
    checked=$((checked + 1))
    grep -qE "^//   $name +(elements|positions|launch|operation|-)" "$headers/$header" ||
      { echo "$headers/$header: no line says what the bits of $name depend on" && failed=1; }
    grep -q "\`$name\`" <<<"$document" || { echo "docs/exact.md, 'Reproducible': $name is missing" && failed=1; }
  done
done
# Fewer functions than this mean that the search misses some.
[[ $checked -ge 36 ]] || { echo "only $checked functions were found" && failed=1; }
echo "$checked functions"
exit "$failed"
