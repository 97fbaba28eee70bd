// The machine's rule (machine/execute/ops/tensor.h) carried out on tiles of matrices.h.
#pragma once

#include <cstring>

#include "machine/execute/ops/tensor.h"
#include "matrices.h"

namespace matrices {

namespace cm = coalesce::machine;

inline cm::CellType type_of(Cell c) { return cm::cell_from(kCellNames[static_cast<uint32_t>(c)]); }
inline bool is_group(const Form& f) { return f.unit == Unit::group_shared || f.unit == Unit::group_registers; }

inline cm::MatrixForm machine_form(const Form& f) {
  cm::MatrixForm r;
  r.m = static_cast<uint16_t>(f.m), r.n = static_cast<uint16_t>(f.n), r.k = static_cast<uint16_t>(f.k);
  r.left = type_of(f.a), r.right = type_of(f.b), r.addend = type_of(f.c), r.result = type_of(f.d);
  r.saturate = f.name.find("satfinite") != std::string::npos;
  r.and_bits = f.name.find(".and.") != std::string::npos;
  r.sparse = f.sparse;
  r.quads = f.quads;
  r.by_column[0] = f.name.find("k4.col") != std::string::npos;
  r.by_column[1] = f.name.find(".col.f") != std::string::npos;
  r.group = is_group(f);
  r.selector = r.sparse ? static_cast<uint8_t>(f.name.back() - '0') : 0;
  r.block = cm::block_of(r, f.unit == Unit::wmma);
  return r;
}

// Visits each element of factor tiles in registers: visit(row, column, word, bit).
template <class Visit>
void each_factor(const std::vector<cm::Tile>& tiles, Cell c, uint32_t lanes, uint32_t first_lane, Visit visit) {
  const uint32_t bits = bits_of(c), run = bits == 64 ? 1 : 32 / bits, words = bits == 64 ? 2 : 1;
  for (size_t t = 0; t < tiles.size(); ++t)
    for (uint32_t l = 0; l < 32; ++l)
      for (uint32_t e = 0; e < run; ++e)
        visit(tiles[t].row + l / 4, tiles[t].column + l % 4 * run + e, (t * lanes + first_lane + l) * words, e * bits);
}
template <class Visit>
void each_sum(uint32_t m, uint32_t n, Cell c, uint32_t lanes, Visit visit) {  // visit(row, column, word, bit)
  const uint32_t words = bits_of(c) == 64 ? 2 : 1;
  for (uint32_t first = 0; first < m; first += lanes == 128 ? 16 : m) {
    const std::vector<cm::Tile> tiles = cm::sum_tiles(lanes == 128 ? 16 : m, n);
    for (size_t t = 0; t < tiles.size(); ++t)
      for (uint32_t l = 0; l < 32; ++l)
        for (uint32_t e = 0; e < 2; ++e) {
          const uint32_t row = first + tiles[t].row + l / 4, lane = 2 * first + l;
          c == Cell::f16 ? visit(row, tiles[t].column + l % 4 * 2 + e, t * lanes + lane, 16 * e)
                         : visit(row, tiles[t].column + l % 4 * 2 + e, ((2 * t + e) * lanes + lane) * words, 0u);
        }
  }
}
inline uint64_t bits_at(const uint32_t* words, Cell c, size_t word, uint32_t bit) {
  uint64_t v = words[word] >> bit;
  if (bits_of(c) == 64) return v | static_cast<uint64_t>(words[word + 1]) << 32;
  return v & ((uint64_t{1} << bits_of(c)) - 1);
}

struct Tile {
  uint32_t lefts = 0;  // columns of the left factor
  std::vector<uint64_t> a, b, c;
  std::vector<uint16_t> columns;  // sparse
};
inline Tile tile_of(const Form& f, const uint32_t* in) {
  Tile t;
  t.lefts = f.sparse ? f.k / 2 : f.k;
  t.a.resize(size_t{f.m} * t.lefts), t.b.resize(size_t{f.n} * f.k), t.c.resize(size_t{f.m} * f.n);
  const uint32_t *b = in + f.words_a, *c = b + f.words_b;
  const auto put_a = [&](uint32_t first, const std::vector<cm::Tile>& tiles, uint32_t lanes) {
    each_factor(tiles, f.a, lanes, 2 * first, [&](uint32_t row, uint32_t column, size_t word, uint32_t bit) {
      t.a[(first + row) * t.lefts + column] = bits_at(in, f.a, word, bit);
    });
  };
  const auto shared = [&](const uint32_t* from, Cell cell, uint32_t rows, uint32_t columns, std::vector<uint64_t>& to) {
    for (uint32_t r = 0; r < rows; ++r)
      for (uint32_t k = 0; k < columns; ++k) {
        const uint32_t bit = k * bits_of(cell);
        const uint32_t byte = r / 8 * 256 + bit / 128 * 128 + r % 8 * 16 + bit / 8 % 16;
        to[r * columns + k] = bits_at(from, cell, byte / 4, byte % 4 * 8 + bit % 8);
      }
  };
  if (f.unit == Unit::group_shared)
    shared(in, f.a, f.m, t.lefts, t.a);
  else if (f.unit == Unit::group_registers)
    for (uint32_t first = 0; first < 64; first += 16) put_a(first, cm::left_tiles(16, t.lefts, type_of(f.a)), 128);
  else
    put_a(0, cm::left_tiles(f.m, t.lefts, type_of(f.a)), 32);
  if (is_group(f))
    shared(b, f.b, f.n, f.k, t.b);
  else
    each_factor(cm::right_tiles(f.n, f.k, type_of(f.b)), f.b, 32, 0,
                [&](uint32_t row, uint32_t column, size_t word, uint32_t bit) {
                  t.b[row * f.k + column] = bits_at(b, f.b, word, bit);
                });
  each_sum(f.m, f.n, f.c, f.lanes, [&](uint32_t row, uint32_t column, size_t word, uint32_t bit) {
    t.c[row * f.n + column] = bits_at(c, f.c, word, bit);
  });
  cm::MatrixForm rows = machine_form(f);
  if (is_group(f)) rows.m = 16;
  for (uint32_t warp = 0; f.sparse && warp < f.lanes / 32; ++warp) {
    const std::vector<uint16_t> more = cm::columns_of_sparse(rows, c + f.words_c + 32 * warp);
    t.columns.insert(t.columns.end(), more.begin(), more.end());
  }
  return t;
}

inline std::vector<uint32_t> quads_by_rule(const Form& f, const uint32_t* in) {
  const cm::MatrixForm form = machine_form(f);
  uint64_t a[4][32], b[4][32], sums[4][64];
  const auto each = [](Cell cell, auto use) {  // use(sum's place, word, bit) of sums
    for (uint32_t l = 0; l < 32; ++l)
      for (uint32_t i = 0; i < 8; ++i) {
        const cm::Tile t = cm::quad_sum(type_of(cell), l, i);
        const bool halves = cell == Cell::f16;
        use(cm::quad_product(l), t.row * 8 + t.column, (halves ? i / 2 : i) * 32 + l, halves ? i % 2 * 16 : 0);
      }
  };
  for (uint32_t l = 0; l < 32; ++l)
    for (uint32_t i = 0; i < 4; ++i) {
      const cm::Tile left = cm::quad_factor(!form.by_column[0], l, i), right = cm::quad_factor(form.by_column[1], l, i);
      a[cm::quad_product(l)][left.row * 4 + left.column] = bits_at(in, f.a, i / 2 * 32 + l, i % 2 * 16);
      b[cm::quad_product(l)][right.row * 4 + right.column] = bits_at(in + f.words_a, f.b, i / 2 * 32 + l, i % 2 * 16);
    }
  const uint32_t* c = in + f.words_a + f.words_b;
  each(f.c, [&](uint32_t q, uint32_t at, uint32_t word, uint32_t bit) { sums[q][at] = bits_at(c, f.c, word, bit); });
  for (uint32_t q = 0; q < 4; ++q) cm::multiply(form, a[q], b[q], sums[q]);
  std::vector<uint32_t> out(f.words_d);
  each(f.d, [&](uint32_t q, uint32_t at, uint32_t word, uint32_t bit) {
    out[word] |= static_cast<uint32_t>(sums[q][at]) << bit;
  });
  return out;
}

inline std::vector<uint32_t> by_rule(const Form& f, const uint32_t* in) {
  if (f.quads) return quads_by_rule(f, in);
  Tile t = tile_of(f, in);
  const cm::MatrixForm form = machine_form(f);
  if (form.sparse)
    cm::multiply_sparse(form, t.a.data(), t.columns.data(), t.b.data(), t.c.data());
  else
    cm::multiply(form, t.a.data(), t.b.data(), t.c.data());
  std::vector<uint32_t> out(f.words_d);
  each_sum(f.m, f.n, f.d, f.lanes, [&](uint32_t row, uint32_t column, size_t word, uint32_t bit) {
    const uint64_t v = t.c[row * f.n + column];
    out[word] |= static_cast<uint32_t>(v) << bit;
    if (f.d == Cell::f64) out[word + 1] = static_cast<uint32_t>(v >> 32);
  });
  return out;
}

}  // namespace matrices
