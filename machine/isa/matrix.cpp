#include "machine/isa/matrix.h"

#include <iterator>

namespace coalesce::machine {

namespace {

// In the order of CellType.
constexpr std::string_view kCells[] = {"",     "f16", "bf16", "tf32", "f32", "f64", "e4m3",
                                       "e5m2", "s4",  "u4",   "s8",   "u8",  "s32", "b1"};

uint32_t columns_of(CellType cell) { return 4 * run_of(cell); }

// Rows in blocks of 16, of each block the tiles of a column one below the other.
std::vector<Tile> by_blocks(uint32_t rows, uint32_t columns, uint32_t each) {
  std::vector<Tile> tiles;
  const uint32_t block = rows < 16 ? 8 : 16;
  for (uint32_t r = 0; r < rows; r += block)
    for (uint32_t c = 0; c < columns; c += each)
      for (uint32_t half = 0; half < block; half += 8)
        tiles.push_back({static_cast<uint16_t>(r + half), static_cast<uint16_t>(c)});
  return tiles;
}

}  // namespace

CellType cell_from(std::string_view word) {
  for (std::size_t i = 1; i < std::size(kCells); ++i)
    if (kCells[i] == word) return static_cast<CellType>(i);
  return CellType::none;
}

bool is_float(CellType cell) { return cell >= CellType::f16 && cell <= CellType::e5m2; }

uint16_t block_of(const MatrixForm& f, bool is_wmma) {
  if ((f.left == CellType::e4m3 || f.left == CellType::e5m2) && !f.group) return 0;
  if (is_wmma && f.left == CellType::tf32) return 4;
  return f.sparse ? f.k / 2 : f.k;
}

std::vector<Tile> left_tiles(uint32_t m, uint32_t k, CellType cell) { return by_blocks(m, k, columns_of(cell)); }

std::vector<Tile> right_tiles(uint32_t n, uint32_t k, CellType cell) {
  std::vector<Tile> tiles;
  for (uint32_t r = 0; r < n; r += 8)
    for (uint32_t c = 0; c < k; c += columns_of(cell))
      tiles.push_back({static_cast<uint16_t>(r), static_cast<uint16_t>(c)});
  return tiles;
}

std::vector<Tile> sum_tiles(uint32_t m, uint32_t n) { return by_blocks(m, n, 8); }

// The upper half of the lanes has the lines from 4 on.
Tile quad_factor(bool along_k, uint32_t lane, uint32_t i) {
  const auto line = static_cast<uint16_t>((along_k ? lane % 4 : i) + lane / 16 * 4);
  return {line, static_cast<uint16_t>(along_k ? i : lane % 4)};
}
Tile quad_sum(CellType sum, uint32_t lane, uint32_t i) {
  const uint32_t high = lane / 16 * 4;
  if (sum == CellType::f16) return {static_cast<uint16_t>(lane % 4 + high), static_cast<uint16_t>(i)};
  return {static_cast<uint16_t>((lane & 1) + (i & 2) + high), static_cast<uint16_t>((i & 4) + (lane & 2) + (i & 1))};
}

// Four bits name two of four columns (of 4-bit numbers: two pairs of four; of tf32: one of two, as a pair of halves).
static uint32_t columns_of_nibble(CellType left) {
  const uint32_t bits = bits_of(left);
  return bits == 32 ? 2 : bits == 4 ? 8 : 4;
}
uint32_t lanes_of_metadata(const MatrixForm& form) { return form.k / columns_of_nibble(form.left) / 4; }

std::vector<uint16_t> columns_of_sparse(const MatrixForm& form, const uint32_t* metadata) {
  const uint32_t bits = bits_of(form.left), chunk = columns_of_nibble(form.left), each = chunk / 2;
  const uint32_t chunks = form.k / chunk, lanes = lanes_of_metadata(form);  // of a row; four chunks a lane and row
  std::vector<uint16_t> columns;
  for (uint32_t r = 0; r < form.m; ++r)
    for (uint32_t c = 0; c < chunks; ++c) {
      // Half of a lane's word is for a row, half for the one eight rows below, if numbers have 16 bits and more; else
      // all of it is for one row.
      const uint32_t lane = bits >= 16   ? form.selector * lanes + c / 4
                            : lanes == 2 ? form.selector * 2 + r / 8
                                         : r / 8 + c / 8 * 2;
      const uint32_t word = metadata[r % 8 * 4 + lane];
      const uint32_t nibble = word >> (bits >= 16 ? r / 8 * 16 + c % 4 * 4 : c % 8 * 4) & 15;
      for (uint32_t e = 0; e < each; ++e) {
        const uint32_t place = bits == 32  ? (nibble >> 1 & 1)
                               : bits == 4 ? 2 * (nibble >> e / 2 * 2 & 3) + e % 2
                                           : nibble >> 2 * e & 3;
        columns.push_back(static_cast<uint16_t>(c * chunk + place));
      }
    }
  return columns;
}

uint32_t described_address(uint64_t descriptor, bool transposed, uint32_t major, uint32_t along_k, uint32_t row) {
  const auto field = [&](uint32_t bit) { return static_cast<uint32_t>(descriptor >> bit & 0x3fff) << 4; };
  const uint32_t start = field(0), leading = field(16), stride = field(32), base = descriptor >> 49 & 7;
  const uint32_t mode = descriptor >> 62, span = mode == 0 ? 16 : 256u >> mode;  // bytes that a swizzled line has
  if (mode == 0) return start + row * 16 + major * stride + along_k * leading;
  const uint32_t tiles = span / 16;  // a line has that many
  uint32_t at = start + row * span;
  at += transposed ? major % tiles * 16 + major / tiles * leading + along_k * stride
                   : along_k % tiles * 16 + along_k / tiles * leading + major * stride;
  return at ^ ((((at >> 7) - base) & (tiles - 1)) << 4);
}

}  // namespace coalesce::machine
