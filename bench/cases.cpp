#include "bench/cases.h"

#include <bit>
#include <cmath>

namespace coalesce::bench {
namespace {

uint32_t bits(float value) { return std::bit_cast<uint32_t>(value); }
float number(uint32_t word) { return std::bit_cast<float>(word); }

// 32-bit words without a pattern that a lane class could recognise.
uint32_t scrambled(uint32_t i) {
  i = (i ^ (i >> 16)) * 0x7feb352du;
  i = (i ^ (i >> 15)) * 0x846ca68bu;
  return i ^ (i >> 16);
}

constexpr uint32_t kPeriod = 1024;  // the input of `arithmetic` repeats, so that its answer is quick to compute

void fill_arithmetic(uint32_t n, Words& a, Words& b) {
  for (uint32_t i = 0; i < n; ++i) a[i] = scrambled(i % kPeriod) % 1000;
  b[0] = bits(0.999f), b[1] = bits(0.001f), b[2] = 1664525, b[3] = 1013904223;
}

Words answer_arithmetic(uint32_t n, const Words& a, const Words& b) {
  Words out(n);
  for (uint32_t i = 0; i < n; ++i) {
    if (i >= kPeriod) {
      out[i] = out[i - kPeriod];
      continue;
    }
    uint32_t k = a[i], j = 0;
    float x = static_cast<float>(k), y = x;
    for (int step = 0; step < 512; ++step) {
      x = std::fma(x, number(b[0]), number(b[1]));
      k = k * b[2] + b[3];
      y = y + x;
      j += k;
    }
    out[i] = bits(x) ^ bits(y) ^ k ^ j;
  }
  return out;
}

void fill_integers(uint32_t n, Words& a, Words&) {
  for (uint32_t i = 0; i < n; ++i) a[i] = scrambled(i);
}

// Sums wrap around, as they do in the kernels.
template <uint32_t block>
Words answer_sums(uint32_t n, const Words& a, const Words&) {
  Words out(n / block);
  for (uint32_t i = 0; i < n; ++i) out[i / block] += a[i];
  return out;
}

Words answer_strided(uint32_t n, const Words& a, const Words&) {
  Words out(n);
  for (uint32_t i = 0; i < n; ++i) out[i] = a[i / 256 * 256 + (i + 16) % 256] + 16;
  return out;
}

// Small whole numbers: their products and sums are exact in any order, fused or not.
void fill_floats(uint64_t words, Words& a, Words& b) {
  for (uint32_t i = 0; i < words; ++i) {
    a[i] = bits(static_cast<float>(scrambled(i) % 64));
    b[i] = bits(static_cast<float>(scrambled(i) / 64 % 64));
  }
}
void fill_line(uint32_t n, Words& a, Words& b) { fill_floats(n, a, b); }
void fill_square(uint32_t n, Words& a, Words& b) { fill_floats(uint64_t{n} * n, a, b); }

Words answer_vector_add(uint32_t n, const Words& a, const Words& b) {
  Words out(n);
  for (uint32_t i = 0; i < n; ++i) out[i] = bits(number(a[i]) + number(b[i]));
  return out;
}

Words answer_matmul(uint32_t n, const Words& a, const Words& b) {
  std::vector<float> sums(uint64_t{n} * n);
  for (uint32_t row = 0; row < n; ++row)
    for (uint32_t k = 0; k < n; ++k)
      for (uint32_t column = 0; column < n; ++column)
        sums[row * n + column] += number(a[row * n + k]) * number(b[k * n + column]);
  Words out;
  out.reserve(sums.size());
  for (float sum : sums) out.push_back(bits(sum));
  return out;
}

Words answer_transpose(uint32_t n, const Words& a, const Words&) {
  Words out(uint64_t{n} * n);
  for (uint32_t row = 0; row < n; ++row)
    for (uint32_t column = 0; column < n; ++column) out[column * n + row] = a[row * n + column];
  return out;
}

void fill_words(uint32_t n, Words& a, Words& b) {
  for (uint32_t i = 0; i < n; ++i) a[i] = scrambled(i), b[i] = scrambled(i + n);
}

Words answer_add(uint32_t n, const Words& a, const Words& b) {
  Words out(n);
  for (uint32_t i = 0; i < n; ++i) out[i] = a[i] + b[i];
  return out;
}

Words answer_histogram(uint32_t n, const Words& a, const Words&) {
  Words out(n / 16);
  for (uint32_t i = 0; i < n; ++i) ++out[i / 4096 * 256 + a[i] % 256];
  return out;
}

// Kernels that memory limits have a second row, with arrays that fit in a core's caches.
// clang-format off
constexpr Case kCases[] = {
  // name                  kernel          n        times small_n  block      tile       out  twin   target faster plain         fill            answer
  {"arithmetic",           "arithmetic",      1 << 19, 1,    1 << 10, {256, 1},  {256, 0},  0,   true,  0,     0,     Plain::none,      fill_arithmetic,  answer_arithmetic},
  {"tree_neighbours",      "tree_neighbours", 1 << 24, 1,    1 << 13, {512, 1},  {512, 0},  1,   true,  5000,  0,     Plain::none,      fill_integers,    answer_sums<512>},
  {"tree_halving",         "tree_halving",    1 << 24, 1,    1 << 13, {512, 1},  {512, 0},  1,   true,  5000,  0,     Plain::none,      fill_integers,    answer_sums<512>},
  {"tree_strided",         "tree_strided",    1 << 24, 1,    1 << 13, {256, 1},  {256, 0},  1,   true,  1500,  0,     Plain::none,      fill_integers,    answer_sums<256>},
  {"tree_shuffle",         "tree_shuffle",    1 << 24, 1,    1 << 13, {512, 1},  {512, 0},  1,   false, 0,     10,    Plain::none,      fill_integers,    answer_sums<512>},
  {"matmul",               "matmul",          512,     1,    64,      {32, 32},  {32, 32},  0,   true,  5000,  0,     Plain::multiply,  fill_square,      answer_matmul},
  {"vector_add",           "vector_add",      1 << 25, 1,    1 << 15, {256, 1},  {256, 0},  0,   true,  0,     0,     Plain::add,       fill_line,        answer_vector_add},
  {"strided",              "strided",         1 << 21, 1,    1 << 12, {256, 1},  {256, 0},  0,   true,  0,     0,     Plain::none,      fill_integers,    answer_strided},
  {"transpose",            "transpose",       4096,    1,    256,     {32, 8},   {32, 32},  0,   true,  0,     0,     Plain::transpose, fill_square,      answer_transpose},
  {"transpose_in_cache",   "transpose",       64,      1024, 256,     {32, 8},   {32, 32},  0,   false, 0,     10,    Plain::none,      fill_square,      answer_transpose},
  {"histogram",            "histogram",       1 << 24, 1,    1 << 15, {256, 1},  {4096, 0}, 256, true,  0,     10,    Plain::none,      fill_integers,    answer_histogram},
  {"add_64bit",            "add_64bit",       1 << 24, 1,    1 << 15, {256, 1},  {512, 0},  0,   true,  0,     0,     Plain::add,       fill_words,       answer_add},
  {"add_64bit_in_cache",   "add_64bit",       1 << 16, 128,  1 << 15, {256, 1},  {512, 0},  0,   false, 0,     10,    Plain::none,      fill_words,       answer_add},
  {"add_128bit",           "add_128bit",      1 << 24, 1,    1 << 15, {256, 1},  {1024, 0}, 0,   true,  0,     0,     Plain::add,       fill_words,       answer_add},
  {"add_128bit_in_cache",  "add_128bit",      1 << 16, 256,  1 << 15, {256, 1},  {1024, 0}, 0,   false, 0,     10,    Plain::none,      fill_words,       answer_add},
};
// clang-format on

}  // namespace

std::array<uint32_t, 3> Case::grid(uint32_t size) const {
  return {size / tile[0], tile[1] ? size / tile[1] : 1, times};
}
uint64_t Case::words_in(uint32_t size) const { return tile[1] ? uint64_t{size} * size : size; }
uint64_t Case::words_out(uint32_t size) const {
  return block_out ? uint64_t{size} / tile[0] * block_out : words_in(size);
}

std::span<const Case> cases() { return kCases; }

const Case* find_case(std::string_view name) {
  for (const Case& c : kCases)
    if (c.name == name) return &c;
  return nullptr;
}

}  // namespace coalesce::bench
