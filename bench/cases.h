// The kernels that bench_machine times: one row per kernel of kernels.cu, with its input and its right answer. The
// OpenCL host program (twins.cpp) takes sizes, input and answers from the same rows.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace coalesce::bench {

using Words = std::vector<uint32_t>;  // ints or floats, as bits

// A loop in plain C++ that does as much as a kernel (plain.h): where memory limits both, and where computing does.
enum class Plain : uint8_t { none, transpose, add, multiply };

struct Case {
  std::string_view name;
  std::string_view kernel;
  uint32_t n;          // elements, or the side of a square
  uint32_t times;      // the grid does all of it so often (its third dimension, which no kernel reads)
  uint32_t small_n;    // for executors that would take minutes for n
  uint32_t block[2];   // threads
  uint32_t tile[2];    // elements a block deals with; tile[1] == 0: n is a length, else a side
  uint32_t block_out;  // words of output per block; 0: one per element
  bool twin;           // twins.cl has it
  double target;       // millions of warp instructions a second with one thread; 0: none was set
  double faster;       // target: native to interpreted; 0: none was set
  Plain plain;         // what does as much
  void (*fill)(uint32_t n, Words& a, Words& b);
  Words (*answer)(uint32_t n, const Words& a, const Words& b);  // what the kernel must leave, bit by bit

  std::array<uint32_t, 3> grid(uint32_t size) const;
  uint64_t words_in(uint32_t size) const;
  uint64_t words_out(uint32_t size) const;
};

std::span<const Case> cases();
const Case* find_case(std::string_view name);  // null: no such case

}  // namespace coalesce::bench
