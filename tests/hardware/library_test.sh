#!/usr/bin/env bash
# library_test.sh SOURCE BUILD [NAME...]: builds the library's test programs with nvcc for the GPU at hand, those for which
# there are types once for every type, and runs each there, also under compute-sanitizer's memcheck, racecheck and
# initcheck, if it is there. As many at a time as there are cores. 0: all right; 1: one failed; 3: no GPU.
#
# NAME: flat, flat-double, ...: all whose names begin with one of these.
set -euo pipefail
source=$1 build=$2
shift 2
fail() { echo "error: $2" >&2 && exit "$1"; }
nvidia-smi >/dev/null 2>&1 || fail 3 "there is no GPU here; the same programs without one: ./dev test -R Library"
command -v nvcc >/dev/null || fail 3 "there is no nvcc on PATH"
mkdir -p "$build"

# A line for each program: its name, its file, its type.
programs() {
  local name type
  for type in std::int{8,16,32,64}_t std::uint{8,16,32,64}_t __half __nv_bfloat16 float double; do
    name=${type#std::} name=${name#__} name=${name%_t}
    echo "shapes-$name tests/library/shapes.cu $type"
    echo "flat-$name tests/library/flat.cu $type"
    echo "segments-$name tests/library/segments.cu $type"
  done
  for name in flat edges streams moving examples budgets; do echo "$name tests/library/$name.cu"; done
  for name in library_large library_columns; do echo "$name tests/hardware/$name.cu"; done
}

# One line of these.
try() {
  local name=$1 file=$2 type=${3-} tool
  nvcc -std=c++17 -O2 -arch=native -cudart static ${type:+-DTYPE="$type"} -I"$source/include" -o "$build/$name" \
    "$source/$file" >"$build/$name.log" 2>&1 || { echo "FAILED to compile: $name; see $build/$name.log" && return 1; }
  "$build/$name" >"$build/$name.log" 2>&1 || { echo "FAILED: $name; see $build/$name.log" && return 1; }
  # The large one would take hours. Errors that the tests provoke on purpose are no finding.
  if [[ $name != library_large ]] && command -v compute-sanitizer >/dev/null; then
    for tool in memcheck racecheck initcheck; do
      compute-sanitizer --tool $tool --report-api-errors no --error-exitcode 9 "$build/$name" >"$build/$name.$tool.log" 2>&1 ||
        { echo "FAILED under compute-sanitizer's $tool: $name; see $build/$name.$tool.log" && return 1; }
    done
  fi
  echo "ok: $name"
}
export -f try
export source build

wanted=$(IFS='|' && echo "$*")
programs | grep -E "^($wanted)" | xargs -P "$(nproc)" -I{} bash -c 'set -- {}; try "$@"' || exit 1
