#include "machine/execute/matrices.h"

#include <array>
#include <cstring>

#include "machine/execute/ops/tensor.h"
#include "machine/execute/ops/tensor_doubles.h"
#include "machine/execute/ops/tensor_registers.h"
#include "machine/execute/warp.h"

namespace coalesce::machine {

namespace {

using Words = std::array<uint32_t, kLanes>;  // a register of all lanes
using Row = std::array<uint16_t, 8>;         // of a matrix of 16-bit elements

void write(Warp& w, Slot slot, const uint32_t* words) {
  uint32_t* to = w.at<uint32_t>(slot);
  if (w.active == ~0u)
    std::memcpy(to, words, sizeof(Words));
  else
    for (uint32_t m = w.active; m; m &= m - 1) to[lowest(m)] = words[lowest(m)];
}

uint16_t half_of(uint32_t word, uint32_t which) { return static_cast<uint16_t>(word >> 16 * which); }

// A tile's words from its 8 rows of 16 bytes. Transposed: from its columns.
Words tile_from(const std::array<Row, 8>& rows, bool transposed) {
  Words words{};
  for (uint32_t l = 0; l < kLanes; ++l)
    for (uint32_t e = 0; e < 2; ++e) {
      const uint32_t r = l / 4, c = l % 4 * 2 + e;
      words[l] |= uint32_t{transposed ? rows[c][r] : rows[r][c]} << 16 * e;
    }
  return words;
}
std::array<Row, 8> rows_of(const uint32_t* words, bool transposed) {
  std::array<Row, 8> rows{};
  for (uint32_t l = 0; l < kLanes; ++l)
    for (uint32_t e = 0; e < 2; ++e) {
      const uint32_t r = l / 4, c = l % 4 * 2 + e;
      (transposed ? rows[c][r] : rows[r][c]) = half_of(words[l], e);
    }
  return rows;
}

// The one source is what each lane has loaded.
void spread(const LaneOp& op, Warp& w) {
  const auto* loaded = w.at<std::array<Row, kLanes>>(op.sources[0]);
  std::array<Words, 4> out;  // a target may lie where the source does
  for (uint32_t i = 0; i < op.matrix->count; ++i) {
    std::array<Row, 8> rows;
    std::memcpy(&rows, loaded->data() + 8 * i, sizeof rows);
    if (op.matrix->transposed)
      out[i] = tile_from(rows, true);
    else
      std::memcpy(&out[i], &rows, sizeof rows);  // a row's words are four lanes'
  }
  for (uint32_t i = 0; i < op.matrix->count; ++i) write(w, op.targets[i], out[i].data());
}

void gather(const LaneOp& op, Warp& w) {
  auto* to = w.at<std::array<Row, kLanes>>(op.targets[0]);
  for (uint32_t i = 0; i < op.matrix->count; ++i) {
    const std::array<Row, 8> rows = rows_of(w.at<uint32_t>(op.sources[i]), op.matrix->transposed);
    for (uint32_t r = 0; r < 8; ++r) (*to)[8 * i + r] = rows[r];
  }
}

// Lane l's address is that of row l % 8 of tile `first` + l / 8.
void describe(const LaneOp& op, Warp& w) {
  const MatrixForm& f = *op.matrix;
  const auto* descriptor = w.at<uint64_t>(op.sources[0]);
  Words at{};
  for (uint32_t l = 0; l < kLanes; ++l) {
    const uint32_t tile = f.first + l / 8;
    const uint32_t major = f.own_rows ? w.index % 4 * 2 + tile % 2 : tile / f.deep,
                   along_k = f.own_rows ? tile / 2 : tile % f.deep;
    at[l] = described_address(descriptor[l], f.transposed, major, along_k, l % 8);
  }
  write(w, op.targets[0], at.data());
}

void transpose(const LaneOp& op, Warp& w) {
  write(w, op.targets[0], tile_from(rows_of(w.at<uint32_t>(op.sources[0]), false), true).data());
}

// A factor's elements, row by row, from the registers of its tiles.
std::vector<uint64_t> factor_from(Warp& w, const Slot* slots, const std::vector<Tile>& tiles, CellType cell,
                                  uint32_t rows, uint32_t columns) {
  std::vector<uint64_t> cells(std::size_t{rows} * columns);
  const uint32_t bits = bits_of(cell), run = run_of(cell);
  const uint64_t cut = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  for (std::size_t t = 0; t < tiles.size(); ++t)
    for (uint32_t l = 0; l < kLanes; ++l) {
      const uint64_t word = bits == 64 ? w.at<uint64_t>(slots[t])[l] : w.at<uint32_t>(slots[t])[l];
      uint64_t* to = cells.data() + (tiles[t].row + l / 4) * columns + tiles[t].column + l % 4 * run;
      for (uint32_t e = 0; e < run; ++e) to[e] = word >> e * bits & cut;
    }
  return cells;
}

// Calls visit(element, slot of its register, lane, which half of it) for each element of the sums.
template <class Visit>
void each_sum(const MatrixForm& f, CellType cell, const Slot* slots, uint64_t* sums, Visit visit) {
  const std::vector<Tile> tiles = sum_tiles(f.m, f.n);
  for (std::size_t t = 0; t < tiles.size(); ++t)
    for (uint32_t l = 0; l < kLanes; ++l)
      for (uint32_t e = 0; e < 2; ++e) {
        uint64_t& at = sums[(tiles[t].row + l / 4) * f.n + tiles[t].column + l % 4 * 2 + e];
        cell == CellType::f16 ? visit(at, slots[t], l, e) : visit(at, slots[2 * t + e], l, 0);
      }
}

// A sparse left factor with its zeros: registers of 32 words for each tile.
std::vector<Words> with_zeros(const LaneOp& op, Warp& w, const uint32_t* metadata) {
  const MatrixForm& f = *op.matrix;
  const uint32_t half = f.k / 2, run = run_of(f.left), bits = bits_of(f.left);
  const std::vector<uint64_t> given =
      factor_from(w, op.sources.data(), left_tiles(f.m, half, f.left), f.left, f.m, half);
  const std::vector<uint16_t> columns = columns_of_sparse(f, metadata);
  std::vector<uint64_t> whole(std::size_t{f.m} * f.k);
  for (uint32_t i = 0; i < f.m * half; ++i) whole[i / half * f.k + columns[i]] = given[i];
  const std::vector<Tile> tiles = left_tiles(f.m, f.k, f.left);
  std::vector<Words> registers(tiles.size());
  for (std::size_t t = 0; t < tiles.size(); ++t)
    for (uint32_t l = 0; l < kLanes; ++l)
      for (uint32_t e = 0; e < run; ++e)
        registers[t][l] |= static_cast<uint32_t>(whole[(tiles[t].row + l / 4) * f.k + tiles[t].column + l % 4 * run + e]
                                                 << (e * bits));
  return registers;
}

// As multiply_tiles, where registers can be multiplied as they are. The zeros of a sparse factor add nothing to a sum,
// and where they meet what is not finite, registers do not do.
bool multiply_as_vectors(const LaneOp& op, Warp& w) {
  MatrixForm f = *op.matrix;
  if (f.sparse) f.sparse = false, f.block *= 2;
  if (!takes_registers(f) || op.matrix->block > 16) return false;
  const uint32_t along_k = f.k / (4 * run_of(f.left)), lefts = 2 * along_k, rights = f.n / 8 * along_k,
                 sums = f.n / 8 * 2 * registers_of_sums(f.addend), given = op.matrix->sparse ? lefts / 2 : lefts;
  std::array<const uint32_t*, kMostFactorRegisters + kMostSumRegisters> from;
  for (uint32_t i = 0; i < given + rights + sums; ++i) from[lefts - given + i] = w.at<uint32_t>(op.sources[i]);
  std::vector<Words> left;
  if (op.matrix->sparse) {
    left = with_zeros(op, w, w.at<uint32_t>(op.sources[given + rights + sums]));
    for (uint32_t i = 0; i < lefts; ++i) from[i] = left[i].data();
  }
  std::array<uint32_t[kLanes], kMostSumRegisters> out;
  std::array<uint32_t*, kMostSumRegisters> to;
  for (uint32_t i = 0; i < sums; ++i) to[i] = out[i];
  if (!multiply_registers(f, from.data(), from.data() + lefts, from.data() + lefts + rights, to.data())) return false;
  for (uint32_t i = 0; i < sums; ++i) write(w, op.targets[i], out[i]);
  return true;
}

// The same for doubles.
bool multiply_as_doubles(const LaneOp& op, Warp& w) {
  const MatrixForm& f = *op.matrix;
  if (f.left != CellType::f64 || f.n != 8 || w.active != ~0u) return false;
  const uint32_t lefts = f.m / 8u * (f.k / 4u), rights = f.k / 4u, sums = f.m / 8u * 2;
  std::array<const double*, 16> from;  // m16n8k16: 8, 4 and 4
  for (uint32_t i = 0; i < lefts + rights + sums; ++i) from[i] = w.at<double>(op.sources[i]);
  double out[4][kLanes];
  if (!multiply_doubles(f, from.data(), from.data() + lefts, from.data() + lefts + rights, out)) return false;
  for (uint32_t i = 0; i < sums; ++i) std::memcpy(w.at<double>(op.targets[i]), out[i], sizeof out[i]);
  return true;
}

// mma.m8n8k4 has two registers of each factor, four of sums in halves, eight of others.
void multiply_quads(const LaneOp& op, Warp& w) {
  const MatrixForm& f = *op.matrix;
  uint64_t factor[2][4][8 * 4] = {}, sums[4][8 * 8];  // of each product
  for (uint32_t l = 0; l < kLanes; ++l)
    for (uint32_t i = 0; i < 4; ++i)
      for (uint32_t b = 0; b < 2; ++b) {
        const Tile t = quad_factor(f.by_column[b] == (b == 1), l, i);
        factor[b][quad_product(l)][t.row * 4 + t.column] = half_of(w.at<uint32_t>(op.sources[2 * b + i / 2])[l], i % 2);
      }
  const auto each = [&](CellType cell, const Slot* slots, auto use) {
    const bool halves = cell == CellType::f16;
    for (uint32_t l = 0; l < kLanes; ++l)
      for (uint32_t i = 0; i < 8; ++i) {
        const Tile t = quad_sum(cell, l, i);
        uint32_t& word = w.at<uint32_t>(slots[halves ? i / 2 : i])[l];
        use(sums[quad_product(l)][t.row * 8 + t.column], word, l, halves ? i % 2 * 16 : 0, halves ? 0xffffu : ~0u);
      }
  };
  each(f.addend, op.sources.data() + 4,
       [](uint64_t& sum, uint32_t word, uint32_t, uint32_t shift, uint32_t cut) { sum = word >> shift & cut; });
  for (uint32_t q = 0; q < 4; ++q) multiply(f, factor[0][q], factor[1][q], sums[q]);
  each(f.result, op.targets.data(), [&](uint64_t sum, uint32_t& word, uint32_t l, uint32_t shift, uint32_t cut) {
    if (w.active >> l & 1) word = (word & ~(cut << shift)) | static_cast<uint32_t>(sum) << shift;
  });
}

void multiply_tiles(const LaneOp& op, Warp& w) {
  if (op.matrix->quads) return multiply_quads(op, w);
  if (multiply_as_vectors(op, w) || multiply_as_doubles(op, w)) return;
  const MatrixForm& f = *op.matrix;
  const uint32_t lefts = f.sparse ? f.k / 2 : f.k;
  const std::vector<Tile> left = left_tiles(f.m, lefts, f.left), right = right_tiles(f.n, f.k, f.right);
  const Slot* sources = op.sources.data();
  const std::vector<uint64_t> a = factor_from(w, sources, left, f.left, f.m, lefts);
  const std::vector<uint64_t> b = factor_from(w, sources + left.size(), right, f.right, f.n, f.k);
  std::vector<uint64_t> sums(std::size_t{f.m} * f.n);
  each_sum(f, f.addend, sources + left.size() + right.size(), sums.data(),
           [&](uint64_t& at, Slot slot, uint32_t lane, uint32_t half) {
             at = f.addend == CellType::f64   ? w.at<uint64_t>(slot)[lane]
                  : f.addend == CellType::f16 ? half_of(w.at<uint32_t>(slot)[lane], half)
                                              : w.at<uint32_t>(slot)[lane];
           });
  if (f.sparse) {
    const uint32_t* metadata =
        w.at<uint32_t>(sources[left.size() + right.size() + sum_tiles(f.m, f.n).size() * registers_of_sums(f.addend)]);
    multiply_sparse(f, a.data(), columns_of_sparse(f, metadata).data(), b.data(), sums.data());
  } else {
    multiply(f, a.data(), b.data(), sums.data());
  }
  each_sum(f, f.result, op.targets.data(), sums.data(), [&](uint64_t& at, Slot slot, uint32_t lane, uint32_t half) {
    if (!(w.active >> lane & 1)) return;
    if (f.result == CellType::f64)
      w.at<uint64_t>(slot)[lane] = at;
    else if (f.result == CellType::f16)
      std::memcpy(reinterpret_cast<std::byte*>(w.at<uint32_t>(slot) + lane) + 2 * half, &at, 2);
    else
      w.at<uint32_t>(slot)[lane] = static_cast<uint32_t>(at);
  });
}

void collective(const Step& s, Context& c) {
  const LaneOp& op = *static_cast<const LaneOp*>(s.extra);
  Warp& w = static_cast<Warp&>(c);
  switch (op.matrix->action) {
    case MatrixForm::Action::meet:
      return;
    case MatrixForm::Action::spread:
      return spread(op, w);
    case MatrixForm::Action::gather:
      return gather(op, w);
    case MatrixForm::Action::transpose:
      return transpose(op, w);
    case MatrixForm::Action::describe:
      return describe(op, w);
    case MatrixForm::Action::multiply:
      return multiply_tiles(op, w);
  }
}

bool is_common(const MatrixForm& f) { return takes_registers(f) && f.n == 8 && f.k <= 16; }

}  // namespace

void multiply_common(const Step& s, Context& c) {
  const LaneOp& op = *static_cast<const LaneOp*>(s.extra);
  Warp& w = static_cast<Warp&>(c);
  if (w.active != ~0u) return multiply_tiles(op, w);
  const MatrixForm& f = *op.matrix;
  const uint32_t along_k = f.k / (4 * run_of(f.left)), lefts = 2 * along_k, factors = 3 * along_k;
  const auto sums = static_cast<uint32_t>(op.targets.size());
  std::array<const uint32_t*, 16> from;  // of tf32: 8, 4 and 4
  std::array<uint32_t*, 4> to;
  const Slot *source = op.sources.data(), *target = op.targets.data();  // behind the sources: the members
#pragma clang loop unroll(disable) vectorize(disable)
  for (uint32_t i = 0; i < factors + sums; ++i) from[i] = w.at<uint32_t>(source[i]);
#pragma clang loop unroll(disable) vectorize(disable)
  for (uint32_t i = 0; i < sums; ++i) to[i] = w.at<uint32_t>(target[i]);
  if (!multiply_registers(f, from.data(), from.data() + lefts, from.data() + factors, to.data())) multiply_tiles(op, w);
}

void multiply_group(const Step& s, Context& c) {
  const MatrixGroup& g = *static_cast<const LaneOp*>(s.extra)->group;
  Warp& w = static_cast<Warp&>(c);
  bool kept = w.active == ~0u;  // until tiles are multiplied, which may read other factors to the same places
  std::array<const uint32_t*, 16> from;
  std::array<uint32_t*, 4> to;
  for (const MatrixGroup::Product& p : g.products) {
    const Slot *source = p.op->sources.data(), *target = p.op->targets.data();
#pragma clang loop unroll(disable) vectorize(disable)
    for (uint32_t i = kept && p.places.has_left ? g.lefts : 0; i < g.factors + g.sums; ++i)
      from[i] = w.at<uint32_t>(source[i]);
#pragma clang loop unroll(disable) vectorize(disable)
    for (uint32_t i = 0; i < g.sums; ++i) to[i] = w.at<uint32_t>(target[i]);
    if (kept) {
      kept = multiply_registers(*p.op->matrix, p.places, from.data(), from.data() + g.lefts, from.data() + g.factors,
                                to.data());
      if (kept) continue;
    }
    multiply_tiles(*p.op, w);
  }
}

Handler matrix_handler(const MatrixForm& form) { return is_common(form) ? multiply_common : collective; }

}  // namespace coalesce::machine
