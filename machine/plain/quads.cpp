// mma.m8n8k4 of halves as the plain executor carries it out: four products, each of lanes 4 q to 4 q + 3 and the four
// that are 16 on, by the manual's formulas.
#include "machine/execute/ops/tensor.h"
#include "machine/plain/matrix.h"
#include "machine/plain/run.h"

namespace coalesce::machine::plain {

namespace {

// Matrix a, "row" (a lane has a row's four columns) or "col"; b, "col" (a lane has a column's four rows) or "row".
Position in_a(bool row, uint32_t lane, uint32_t i) {
  const uint32_t four = lane < 16 ? 0 : 4;
  return row ? Position{lane % 4 + four, i} : Position{i % 4 + four, lane % 4};
}
Position in_b(bool row, uint32_t lane, uint32_t i) {
  const uint32_t four = lane < 16 ? 0 : 4;
  return row ? Position{lane % 4, i + four} : Position{i, lane % 4 + four};
}
Position in_c(bool half, uint32_t lane, uint32_t i) {
  const uint32_t four = lane < 16 ? 0 : 4;
  if (half) return {lane % 4 + four, i};
  return {(lane & 1) + (i & 2) + four, (i & 4) + (lane & 2) + (i & 1)};
}

}  // namespace

void run_quads(Warp& w, Frame& f, const Op& op, uint32_t on) {
  const MatrixForm& form = op.matrix->form;
  std::vector<Lanes> out(op.out.size());
  for (uint32_t q = 0; q < 4; ++q) {
    std::vector<uint64_t> a(8 * 4), b(8 * 4), sums(8 * 8);
    const auto half = [&](std::size_t first, uint32_t lane, uint32_t i) {
      return value(w, op.in[first + i / 2], lane) >> 16 * (i % 2) & 0xffff;
    };
    for (const uint32_t first : {0u, 16u})
      for (uint32_t lane = first + 4 * q; lane < first + 4 * q + 4; ++lane) {
        for (uint32_t i = 0; i < 4; ++i) {
          const Position in_left = in_a(!form.by_column[0], lane, i), in_right = in_b(!form.by_column[1], lane, i);
          a[in_left.row * 4 + in_left.column] = half(0, lane, i);
          b[in_right.column * 4 + in_right.row] = half(2, lane, i);
        }
        for (uint32_t i = 0; i < 8; ++i) {
          const bool halves = form.addend == CellType::f16;
          const Position p = in_c(halves, lane, i);
          sums[p.row * 8 + p.column] = halves ? half(4, lane, i) : value(w, op.in[4 + i], lane) & 0xffffffff;
        }
      }
    multiply(form, a.data(), b.data(), sums.data());
    for (const uint32_t first : {0u, 16u})
      for (uint32_t lane = first + 4 * q; lane < first + 4 * q + 4; ++lane)
        for (uint32_t i = 0; i < 8; ++i) {
          const bool halves = form.result == CellType::f16;
          const Position p = in_c(halves, lane, i);
          out[halves ? i / 2 : i][lane] |= sums[p.row * 8 + p.column] << (halves ? 16 * (i % 2) : 0);
        }
  }
  for (std::size_t r = 0; r < out.size(); ++r)
    for (uint32_t l = 0; l < kLanes; ++l)
      if (on >> l & 1) put(f, op.out[r], l, out[r][l], 4);
}

}  // namespace coalesce::machine::plain
