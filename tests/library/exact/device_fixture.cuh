// Parts that the checks of device.cu share: arrays on the device, and the count of wrong results.
#pragma once

#include <algorithm>
#include <coalesce/exact.cuh>
#include <coalesce/host/exact.hpp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "tests/library/exact/cases.h"

namespace {

using half_t = __half;
using bfloat16_t = __nv_bfloat16;
using element = ELEMENT;
namespace exact = coalesce::exact;
namespace host = coalesce::host;
using bits = exact::format<element>::bits;
using host_element =
    std::conditional_t<std::is_same_v<element, half_t>, coalesce::half_bits,
                       std::conditional_t<std::is_same_v<element, bfloat16_t>, coalesce::bfloat16_bits, element>>;

long checks = 0, wrong = 0;
std::size_t arrays_seen = 0;  // by segments() and matrices()

void require(const coalesce::status& s, const char* what) {
  if (s.ok()) return;
  std::printf("%s: %s\n", what, s.message());
  std::exit(1);
}

// `count` elements on the device, `shift` elements behind a 256-byte boundary.
class on_device {
 public:
  explicit on_device(const std::vector<host_element>& x, std::size_t shift = 0) : shift_(shift) {
    require(cudaMalloc(&memory_, (x.size() + shift + 1) * sizeof(element)), "cudaMalloc");
    require(cudaMemcpy(memory_ + shift, x.data(), x.size() * sizeof(element), cudaMemcpyHostToDevice), "cudaMemcpy");
  }
  ~on_device() { cudaFree(memory_); }
  const element* get() const { return memory_ + shift_; }

 private:
  element* memory_ = nullptr;
  std::size_t shift_;
};

class results {
 public:
  explicit results(std::size_t count) : count_(count) {
    require(cudaMalloc(&memory_, count * sizeof(element)), "cudaMalloc");
  }
  ~results() { cudaFree(memory_); }
  element* get() const { return memory_; }
  std::vector<bits> read() const {
    std::vector<bits> x(count_);
    require(cudaMemcpy(x.data(), memory_, count_ * sizeof(element), cudaMemcpyDeviceToHost), "the kernel");
    return x;
  }

 private:
  element* memory_ = nullptr;
  std::size_t count_;
};

void expect(bits got, host_element expected, const char* what, std::uint64_t seed, std::size_t count) {
  ++checks;
  if (got == exact::to_bits(expected)) return;
  if (++wrong <= 20) {
    std::printf("wrong: %s of %zu, seed %llu: %llx in place of %llx\n", what, count,
                static_cast<unsigned long long>(seed), static_cast<unsigned long long>(got),
                static_cast<unsigned long long>(exact::to_bits(expected)));
  }
}

}  // namespace
