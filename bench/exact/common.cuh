// Data, time and output of exact.cu.
#pragma once

#include <coalesce/exact.cuh>
#include <coalesce/host/exact.hpp>
#include <coalesce/reduce.cuh>
#include <cstdio>
#include <cstring>
#include <cub/device/device_reduce.cuh>
#include <functional>
#include <string>
#include <vector>

#include "tests/library/exact/cases.h"

namespace {

using element = ELEMENT;
namespace exact = coalesce::exact;
using bits = exact::format<element>::bits;
using host_element =
    std::conditional_t<std::is_same_v<element, __half>, coalesce::half_bits,
                       std::conditional_t<std::is_same_v<element, __nv_bfloat16>, coalesce::bfloat16_bits, element>>;
const char* type_name() {
  return std::is_same_v<element, __half>          ? "half"
         : std::is_same_v<element, __nv_bfloat16> ? "bfloat16"
         : sizeof(element) == 4                   ? "float"
                                                  : "double";
}

void require(cudaError_t error, int line) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "error: line %d: %s\n", line, cudaGetErrorString(error));
  std::exit(3);
}
void require(const coalesce::status& s, int line) {
  if (s.ok()) return;
  std::fprintf(stderr, "error: line %d: %s\n", line, s.message());
  std::exit(3);
}
#define REQUIRE(call) require(call, __LINE__)

// ---- data
__host__ __device__ std::uint64_t mixed(std::uint64_t z) {
  z += 0x9e3779b97f4a7c15ull;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ z >> 27) * 0x94d049bb133111ebull;
  return z ^ z >> 31;
}
const char* const kinds[] = {"uniform", "normal", "wide", "bits", "cancelling", "equal", "ramp", "zeros", "subnormal"};
constexpr int kind_count = 9;
__global__ void generate(element* x, std::int64_t n, int kind) {
  constexpr int precision = exact::format<element>::precision;
  for (std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x; i < n;
       i += static_cast<std::int64_t>(gridDim.x) * blockDim.x) {
    const std::int64_t pair = kind == 4 && i >= n / 2 ? n - 1 - i : i;
    const std::uint64_t h = mixed(pair), g = mixed(h);
    const double uniform = static_cast<double>(h >> 11) * 0x1p-53;
    double v = 0;
    if (kind == 0) v = uniform;
    if (kind == 1) v = sqrt(-2 * log(uniform + 0x1p-54)) * cospi(2 * static_cast<double>(g >> 11) * 0x1p-53);
    const int reach = std::is_same_v<element, __half> ? 8 : 60;
    if (kind == 2 || kind == 4)
      v = ldexp(1 + uniform, static_cast<int>((g >> 8) % (2 * reach)) - reach) * (g & 1 ? -1 : 1);
    if (kind == 4 && i >= n / 2) v = -v;
    if (kind == 5) v = 0.1;
    if (kind == 6) v = (static_cast<double>(i) + 0.5) / static_cast<double>(n);
    if (kind == 3 || kind == 8) {
      bits b = static_cast<bits>(h);
      const bits field = exact::infinity<element>;
      if (kind == 8) b &= static_cast<bits>(~field);
      if ((b & field) == field) b ^= static_cast<bits>(bits(1) << (precision - 1) << 2);
      x[i] = exact::from_bits<element>(b);
    } else if constexpr (sizeof(element) == 8) {
      x[i] = v;
    } else {
      x[i] = static_cast<element>(static_cast<float>(v));
    }
  }
}
void fill(element* x, std::int64_t n, int kind) {
  generate<<<1320, 256>>>(x, n, kind);
  REQUIRE(cudaDeviceSynchronize());
}

// ---- time
cudaEvent_t begin_event, end_event;
template <class Call>
double microseconds(Call call, int repeat = 1) {
  REQUIRE(cudaEventRecord(begin_event));
  for (int i = 0; i < repeat; ++i) call();
  REQUIRE(cudaEventRecord(end_event));
  REQUIRE(cudaEventSynchronize(end_event));
  float ms;
  REQUIRE(cudaEventElapsedTime(&ms, begin_event, end_event));
  return ms * 1e3 / repeat;
}
double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}
struct contender {
  const char* name;
  std::function<void()> call;
};
// Turn by turn, there and back, so that no one always follows the same one.
std::vector<double> compare(const std::vector<contender>& all, int turns) {
  std::vector<std::vector<double>> times(all.size());
  for (int turn = -1; turn < turns; ++turn) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::size_t k = turn % 2 ? all.size() - 1 - i : i;
      const double us = microseconds(all[k].call);
      if (turn >= 0) times[k].push_back(us);
    }
  }
  REQUIRE(cudaGetLastError());
  std::vector<double> result;
  for (auto& t : times) result.push_back(median(t));
  return result;
}
void print(const char* what, const std::string& where, double bytes, const std::vector<contender>& all,
           const std::vector<double>& us) {
  std::printf("{\"part\": \"%s\", \"type\": \"%s\", \"case\": \"%s\", \"bytes\": %.0f", what, type_name(),
              where.c_str(), bytes);
  for (std::size_t i = 0; i < all.size(); ++i) std::printf(", \"%s\": %.3f", all[i].name, us[i]);
  std::printf(", \"of_plain\": %.4f}\n", us[0] / us[1]);
  std::fflush(stdout);
}

element *data, *results;
void* cub_space;
std::size_t cub_bytes;
std::int64_t capacity;

}  // namespace
