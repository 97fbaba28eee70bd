// Double l of a factor's register belongs to row l / 4 and column l % 4, of the right factor's to column l / 4 of the
// matrix; double l of a register of sums to row l / 4 and column l % 4 * 2, or, in the other one, the next column.
#include "machine/execute/ops/tensor_doubles.h"

#include <cmath>
#include <cstring>

#include "machine/execute/ops/numbers.h"

namespace coalesce::machine {

namespace {

constexpr uint32_t kDepth = 4, kRowPairs = 4;
using Doubles = double __attribute__((vector_size(64)));  // two rows of four columns

COALESCE_INLINE void add_product(const Doubles& a, const Doubles& b, Doubles& sum) {
#ifdef __clang__
  sum = __builtin_elementwise_fma(a, b, sum);
#else
  for (int i = 0; i < 8; ++i) sum[i] = std::fma(a[i], b[i], sum[i]);
#endif
}

template <int K>
COALESCE_INLINE void add_column(const Doubles* left, const double* right, Doubles (*sums)[kRowPairs]) {
  for (uint32_t e = 0; e < 2; ++e) {
    const double* const r = right + kDepth * e + K;
    const Doubles other = {r[0], r[8], r[16], r[24], r[0], r[8], r[16], r[24]};
    for (uint32_t p = 0; p < kRowPairs; ++p) {
      const Doubles own = __builtin_shufflevector(left[p], left[p], K, K, K, K, 4 + K, 4 + K, 4 + K, 4 + K);
      add_product(own, other, sums[e][p]);
    }
  }
}

}  // namespace

bool multiply_doubles(const MatrixForm& f, const double* const* left, const double* const* right,
                      const double* const* addends, double (*to)[32]) {
  const uint32_t tiles = f.m / 8u;
  Doubles nothing{};
  for (uint32_t tile = 0; tile < tiles; ++tile) {
    Doubles sums[2][kRowPairs], rows[kRowPairs];
    for (uint32_t e = 0; e < 2; ++e) std::memcpy(sums[e], addends[2 * tile + e], sizeof sums[e]);
    for (uint32_t k = 0; k < f.k / kDepth; ++k) {
      std::memcpy(rows, left[k * tiles + tile], sizeof rows);
      add_column<0>(rows, right[k], sums), add_column<1>(rows, right[k], sums);
      add_column<2>(rows, right[k], sums), add_column<3>(rows, right[k], sums);
    }
    for (uint32_t e = 0; e < 2; ++e) {
      for (const Doubles& s : sums[e]) nothing += s - s;  // 0, or not a number, of infinite sums, too
      std::memcpy(to[2 * tile + e], sums[e], sizeof sums[e]);
    }
  }
  double all = 0;
  for (int i = 0; i < 8; ++i) all += nothing[i];
  return all == 0;
}

}  // namespace coalesce::machine
