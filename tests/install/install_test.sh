#!/usr/bin/env bash
# install_test.sh CMAKE SOURCE BUILD VERSION: `cmake --install` into a fresh prefix (with a blank in its name, and moved
# afterwards), then what a new user does first, without nvcc and without a way back into the source or build tree.
set -euo pipefail
cmake=$1 source=$2 build=$3 version=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
  echo "FAILED: $1" >&2
  for log in "$work"/std{out,err}; do [[ ! -s $log ]] || sed "s|^|${log##*/}: |" "$log" >&2; done
  exit 1
}

"$cmake" --install "$build" --prefix "$work/at first" >"$work/stdout"
mv "$work/at first" "$work/moved here"
prefix="$work/moved here"

for file in bin/coalesce share/coalesce/include/cuda_runtime.h share/coalesce/lab/reduce/claims.toml share/doc/coalesce/LICENSE \
  share/bash-completion/completions/coalesce share/zsh/site-functions/_coalesce share/man/man1/coalesce.1.gz \
  lib/python3/dist-packages/coalesce.py; do
  [[ -s $prefix/$file ]] || fail "$file is not installed"
done
for soname in libcudart.so.11.0 libcudart.so.12 libcudart.so.13 libcuda.so.1 libcoalesce_redirect.so nvrtc/libnvrtc.so.13; do
  [[ -e $prefix/lib/coalesce/$soname ]] || fail "lib/coalesce/$soname is not installed"
done
# bin/coalesce knows the source tree, but asks for it only where a CMakeCache.txt lies beside bin: not here.
strays=$(grep -rlF --exclude=coalesce -e "$source" -e "$build" "$prefix" || true)
[[ -z $strays ]] || fail "installed files name the source or build tree: $strays"
unlinked=$(ldd "$prefix/bin/coalesce" "$prefix"/lib/coalesce/libcudart.so.* | grep 'not found' || true)
[[ -z $unlinked ]] || fail "libraries are missing: $unlinked"

# A user's surroundings: a home of their own, an empty cache, Debian's programs and no nvcc.
mkdir "$work/home"
cp "$source/tests/install/fill.cu" "$work/home"
cd "$work/home"
as_user() { env -i HOME="$work/home" PATH="$prefix/bin:/usr/bin:/bin" "$@" >"$work/stdout" 2>"$work/stderr"; }
if as_user nvcc --version; then
  echo "SKIPPED: nvcc is in /usr/bin, so its absence cannot be tried here" >&2
  exit 77
fi

as_user coalesce --version || fail "coalesce --version exits $?"
grep -qF "$version" "$work/stdout" || fail "coalesce --version does not say $version"

if command -v man >/dev/null; then
  as_user env MANPATH="$prefix/share/man" man --warnings coalesce || fail "man coalesce"
  grep -q -- --write-budget "$work/stdout" || fail "the manual page has no --write-budget"
  [[ ! -s $work/stderr ]] || fail "man has objections to the manual page"
fi

code=0
as_user coalesce run --json counted.json fill.cu hello || code=$?
[[ $code -eq 7 ]] || fail "coalesce run: exit code $code, where the program's is 7"
grep -qxF "filled 1024, told 'hello'" "$work/stdout" || fail "the program's output did not come through"
grep -q fill "$work/stderr" || fail "no row for kernel fill"
grep -Eq '"global_store_sectors": ?128\b' counted.json || fail "not 128 sectors stored: $(cat counted.json)"

# The library: found by CMake and by pkg-config, and by the command without being told.
for file in include/coalesce/reduce.cuh lib/cmake/coalesce/coalesceConfig.cmake share/pkgconfig/coalesce.pc; do
  [[ -s $prefix/$file ]] || fail "$file is not installed"
done
mkdir "$work/consumer"
cat >"$work/consumer/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES CXX)
find_package(coalesce 0.1 REQUIRED)
get_target_property(folders coalesce::coalesce INTERFACE_INCLUDE_DIRECTORIES)
foreach(folder IN LISTS folders)
  if(NOT EXISTS "${folder}/coalesce/reduce.cuh")
    message(FATAL_ERROR "no coalesce/reduce.cuh in ${folder}")
  endif()
endforeach()
END
"$cmake" -S "$work/consumer" -B "$work/consumer/build" -DCMAKE_PREFIX_PATH="$prefix" >"$work/stdout" 2>"$work/stderr" ||
  fail "find_package(coalesce) does not find the library"
# coalesce_add_test: a CTest that keeps its budget, one that exceeds it, one with a requirement, one that has a race.
cp "$source/examples/saxpy.cu" "$source/examples/race.cu" "$work/consumer"
as_user coalesce run -q --write-budget "$work/consumer/kept.txt" "$work/consumer/saxpy.cu" || fail "--write-budget"
sed 's/global_store_sectors <= 131072/global_store_sectors <= 131071/' "$work/consumer/kept.txt" >"$work/consumer/tight.txt"
cmp -s "$work/consumer/kept.txt" "$work/consumer/tight.txt" && fail "not 131072 sectors: $(cat "$work/consumer/kept.txt")"
cat >>"$work/consumer/CMakeLists.txt" <<'END'
enable_testing()
coalesce_add_test(SOURCE saxpy.cu NAME kept BUDGET kept.txt)
coalesce_add_test(SOURCE saxpy.cu NAME tight BUDGET tight.txt)
coalesce_add_test(SOURCE saxpy.cu REQUIRE "saxpy: store_excess == 1" "bank_conflicts == 0" ARGUMENTS 1000)
coalesce_add_test(SOURCE race.cu CHECK)
add_executable(app IMPORTED)
set_target_properties(app PROPERTIES IMPORTED_LOCATION /bin/true)
coalesce_add_test(TARGET app DEVICE a100)
END
as_user "$cmake" -S "$work/consumer" -B "$work/consumer/build" -DCMAKE_PREFIX_PATH="$prefix" ||
  fail "coalesce_add_test cannot be configured"
ctest=$(dirname "$(command -v "$cmake")")/ctest
(cd "$work/consumer/build" && as_user "$ctest" --no-tests=error) || true # two of them fail, as they are to
results=$(sed -n 's/.* Test *#[0-9]*: \([a-z.]*\) \.* *\**\([A-Z][a-z]*\).*/\1 \2/p' "$work/stdout")
for expected in "kept Passed" "tight Failed" "coalesce.saxpy Passed" "coalesce.race Failed" "coalesce.app Failed"; do
  grep -qxF "$expected" <<<"$results" || fail "coalesce_add_test: not '$expected' in $results"
done
grep -q '"run" "--device" "a100" "/bin/true"' "$work/consumer/build/CTestTestfile.cmake" || fail "coalesce_add_test of a target"
if command -v pkg-config >/dev/null; then
  flags=$(PKG_CONFIG_PATH="$prefix/share/pkgconfig" pkg-config --cflags coalesce) || fail "pkg-config does not know coalesce"
  eval "set -- $flags" # the folder's name has a blank, which pkg-config escapes for a shell
  [[ -s ${1#-I}/coalesce/reduce.cuh ]] || fail "pkg-config names a folder without the library: $flags"
fi
cat >sum.cu <<'END'
#include <coalesce/transpose.cuh>
int main() { return coalesce::transpose<float>(nullptr, nullptr, 0, 5) ? 9 : 1; }
END
code=0
as_user coalesce run -q sum.cu || code=$?
[[ $code -eq 9 ]] || fail "a program that includes the library ends with $code, not 9"
