#include "bench/plain.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <thread>

namespace coalesce::bench {
namespace {

constexpr uint64_t kTile = 32;

void add(const float* a, const float* b, float* out, uint64_t count) {
  for (uint64_t k = 0; k < count; ++k) out[k] = a[k] + b[k];
}

// Transposes like the kernel: tiles of 32 x 32 through a buffer, so that both sides are whole lines.
void transpose(const float* a, float* out, uint64_t side) {
  float tile[kTile][kTile + 1];
  for (uint64_t top = 0; top < side; top += kTile)
    for (uint64_t left = 0; left < side; left += kTile) {
      for (uint64_t y = 0; y < kTile; ++y)
        for (uint64_t x = 0; x < kTile; ++x) tile[y][x] = a[(top + y) * side + left + x];
      for (uint64_t y = 0; y < kTile; ++y)
        for (uint64_t x = 0; x < kTile; ++x) out[(left + y) * side + top + x] = tile[x][y];
    }
}

// A row of a tile, which is what a warp of the kernel has.
using Row = float __attribute__((vector_size(kTile * sizeof(float))));

Row load(const float* from) {
  Row row;
  std::memcpy(&row, from, sizeof row);
  return row;
}

// The tiles of the product in rows of tiles first ... last - 1. As the kernel goes: tiles of both are copied, and each
// row of the one meets all of the other, four rows at a time, whose sums stay in registers as long.
void multiply(const float* a, const float* b, float* out, uint64_t side, uint64_t first, uint64_t last) {
  struct alignas(sizeof(Row)) Tile {
    float at[kTile][kTile];
  };
  constexpr uint64_t kRows = 4;
  Tile left, right, sums;
  for (uint64_t top = first * kTile; top < last * kTile; top += kTile)
    for (uint64_t from = 0; from < side; from += kTile) {
      std::memset(&sums, 0, sizeof sums);
      for (uint64_t place = 0; place < side; place += kTile) {
        for (uint64_t y = 0; y < kTile; ++y) {
          const Row of_a = load(a + (top + y) * side + place), of_b = load(b + (place + y) * side + from);
          std::memcpy(left.at[y], &of_a, sizeof of_a);
          std::memcpy(right.at[y], &of_b, sizeof of_b);
        }
        for (uint64_t y = 0; y < kTile; y += kRows) {
          Row sum[kRows];
          std::memcpy(sum, sums.at[y], sizeof sum);
#pragma GCC unroll 32
          for (uint64_t k = 0; k < kTile; ++k) {
            const Row row = load(right.at[k]);
            for (uint64_t r = 0; r < kRows; ++r) sum[r] += left.at[y + r][k] * row;
          }
          std::memcpy(sums.at[y], sum, sizeof sum);
        }
      }
      for (uint64_t y = 0; y < kTile; ++y) std::memcpy(out + (top + y) * side + from, sums.at[y], sizeof(Row));
    }
}

// Some 50 ms.
float arithmetic() {
  float x[64];
  for (int k = 0; k < 64; ++k) x[k] = static_cast<float>(k);
  for (int round = 0; round < 20'000'000; ++round)
    for (float& each : x) each = each * 0.999f + 0.001f;
  float sum = 0;
  for (const float each : x) sum += each;
  return sum;
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

PlainLoop::PlainLoop(Plain plain, uint64_t words)
    : plain_(plain),
      side_(static_cast<uint64_t>(std::sqrt(static_cast<double>(words)))),
      a_(words, 1),
      b_(plain == Plain::transpose ? 0 : words, 2),
      out_(words),
      pool_(plain == Plain::multiply ? 2 : 1) {
  a_[1] = 5;  // of a square, in the first row
}

double PlainLoop::run(unsigned threads) {
  std::fill(out_.begin(), out_.end(), 0.0f);
  const auto start = std::chrono::steady_clock::now();
  switch (plain_) {
    case Plain::none:
      break;
    case Plain::add:
      add(a_.data(), b_.data(), out_.data(), out_.size());
      break;
    case Plain::transpose:
      transpose(a_.data(), out_.data(), side_);
      break;
    case Plain::multiply: {
      const uint64_t rows = side_ / kTile;
      pool_.run(threads, [&](unsigned number) {
        multiply(a_.data(), b_.data(), out_.data(), side_, rows * number / threads, rows * (number + 1) / threads);
      });
    }
  }
  const double seconds = seconds_since(start);
  const auto side = static_cast<float>(side_);
  const bool right = plain_ == Plain::add         ? out_[1] == 7 && out_.back() == 3
                     : plain_ == Plain::transpose ? out_[side_] == 5 && out_.back() == 1
                                                  : out_[0] == 2 * (side + 4) && out_.back() == 2 * side;
  if (!right) throw std::runtime_error("the plain loop is wrong");
  return seconds;
}

void PlainLoop::burst(std::vector<double>* one, std::vector<double>* two) {
  constexpr double kShort = 0.02;
  constexpr int kRuns = 5;
  const auto some = [&](unsigned threads, std::vector<double>* seconds) {
    const double first = run(threads);
    if (!seconds) return;
    if (first > kShort) return seconds->push_back(first);
    for (int i = 0; i < kRuns; ++i) seconds->push_back(run(threads));
  };
  some(1, one);
  if (plain_ == Plain::multiply) some(2, two);
}

std::vector<double> plain_two_threads(int repetitions) {
  std::vector<double> ratios;
  for (int i = 0; i < repetitions; ++i) {
    double seconds[2];
    float sums[2];
    for (unsigned n = 1; n <= 2; ++n) {
      const auto start = std::chrono::steady_clock::now();
      std::thread other;
      if (n == 2) other = std::thread([&] { sums[1] = arithmetic(); });
      sums[0] = arithmetic();
      if (n == 2) other.join();
      seconds[n - 1] = seconds_since(start);
    }
    if (sums[0] != sums[1]) throw std::runtime_error("the plain loop is wrong");
    ratios.push_back(2 * seconds[0] / seconds[1]);
  }
  return ratios;
}

}  // namespace coalesce::bench
