#!/usr/bin/env bash
# clang_header_matrix.sh [CLANG] [JOBS]: run by hand. Compiles, for the device and for the host, one program per
# combination of C++ standard, header, and the header's place before or after cuda_runtime.h. Kernel and host code both
# use std:: functions: where one header breaks the other's overloads, it shows here. Prints what fails; exit 1 then.
# The flags are those of `coalesce run`, where -include puts cuda_runtime.h first, whatever the program's own order is.
set -u
clang=${1:-clang++-19} jobs=${2:-1}
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
standards=(c++11 c++14 c++17 c++20 c++23)
headers=(cmath math.h cstdlib stdlib.h algorithm vector limits complex iostream numeric random string map functional
  memory utility tuple array chrono thread atomic cstdint cstring cassert valarray iomanip sstream fstream unordered_map
  iterator type_traits initializer_list cuda.h cuda_fp16.h cuda_bf16.h cuComplex.h cooperative_groups.h
  cooperative_groups/reduce.h math_constants.h)
common=(-x cuda --cuda-path=/nonexistent -nocudainc -nocudalib -Xclang -target-sdk-version=12.5 --cuda-gpu-arch=sm_90
  -O1 -Wall -Wno-unused-function -Werror -isystem "$root/cudart/include" -include cuda_runtime.h)

cat >"$work/body.h" <<'BODY'
__global__ void kernel(float* f, double* d, int* i, long long* l) {
  f[0] = std::abs(f[0]) + std::sqrt(f[1]) + std::fabs(f[2]) + std::pow(f[3], f[4]) + fabsf(f[5]) + abs(f[6]);
  d[0] = std::abs(d[0]) + std::sqrt(d[1]) + std::fabs(d[2]) + std::pow(d[3], d[4]) + fabs(d[5]) + abs(d[6]);
  d[7] = std::pow(d[3], 2) + pow(f[3], 2) + std::floor(d[4]) + std::exp(f[1]) + log(f[1]) + fmax(f[1], f[2]);
  i[0] = std::abs(i[0]) + abs(i[1]) + min(i[2], i[3]) + max(i[4], 7) + std::isnan(f[0]) + isnan(d[0]) + isinf(f[0]);
  l[0] = std::abs(l[0]) + llabs(l[1]) + min(l[2], l[3]) + max(l[4], 7ll);
}
double host(float f, double d, int i, long long l) {
  return std::abs(f) + std::abs(d) + std::abs(i) + static_cast<double>(std::abs(l)) + std::sqrt(f) + std::pow(d, 2) +
         std::fabs(d) + abs(i) + fabs(d) + std::isnan(d) + (std::isinf)(f);
}
int main() {
  void* p = nullptr;
  if (cudaMalloc(&p, 4096) != cudaSuccess) return 1;
  kernel<<<1, 1>>>(static_cast<float*>(p), static_cast<double*>(p), static_cast<int*>(p), static_cast<long long*>(p));
  return host(1, 2, 3, 4) < 0;
}
BODY

try() {  # STANDARD NAME SOURCE
  local source="$work/$2.cu" log="$work/$2.log"
  printf '%s' "$3" >"$source"
  "$clang" "${common[@]}" "-std=$1" --cuda-device-only --cuda-feature=+ptx78 -S "$source" -o "$work/$2.ptx" >"$log" 2>&1 &&
    "$clang" "${common[@]}" "-std=$1" --cuda-host-only -Xclang -fcuda-include-gpubinary -Xclang "$work/$2.ptx" \
      -fsyntax-only "$source" >>"$log" 2>&1 || {
    echo "FAILS: -std=$1 $2"
    grep -m2 -E 'error|warning' "$log" | sed "s|$work/||; s|^|  |"
    touch "$work/failed"
  }
  rm -f "$source" "$log" "$work/$2.ptx"
}

tried=0
for standard in "${standards[@]}"; do
  for header in "${headers[@]}" all; do
    lines="#include <$header>"$'\n'
    [[ $header != all ]] || lines=$(printf '#include <%s>\n' "${headers[@]}")$'\n'
    for place in before after; do
      name=$standard-${header//[.\/]/_}-$place
      text="$lines#include <cuda_runtime.h>"$'\n'
      [[ $place == before ]] || text="#include <cuda_runtime.h>"$'\n'"$lines"
      while (($(jobs -rp | wc -l) >= jobs)); do wait -n; done
      try "$standard" "$name" "$text#include \"body.h\""$'\n' &
      tried=$((tried + 1))
    done
  done
done
wait
echo "$tried combinations tried"
[[ ! -e $work/failed ]]
