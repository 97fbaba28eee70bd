#include "machine/isa/matrix.h"

#include <iterator>

namespace coalesce::machine {

namespace {

struct CellName {
  std::string_view word;
  CellType cell;
  uint8_t bits;
};
constexpr CellName kCells[] = {{"f16", CellType::f16, 16},  {"bf16", CellType::bf16, 16}, {"tf32", CellType::tf32, 32},
                               {"f32", CellType::f32, 32},  {"f64", CellType::f64, 64},   {"e4m3", CellType::e4m3, 8},
                               {"e5m2", CellType::e5m2, 8}, {"s4", CellType::s4, 4},      {"u4", CellType::u4, 4},
                               {"s8", CellType::s8, 8},     {"u8", CellType::u8, 8},      {"s32", CellType::s32, 32},
                               {"b1", CellType::b1, 1}};

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

uint32_t bits_of(CellType cell) {
  for (const CellName& c : kCells)
    if (c.cell == cell) return c.bits;
  return 32;
}

CellType cell_from(std::string_view word) {
  for (const CellName& c : kCells)
    if (c.word == word) return c.cell;
  return CellType::none;
}

bool is_float(CellType cell) { return cell >= CellType::f16 && cell <= CellType::e5m2; }

std::vector<Tile> left_tiles(uint32_t m, uint32_t k, CellType cell) { return by_blocks(m, k, columns_of(cell)); }

std::vector<Tile> right_tiles(uint32_t n, uint32_t k, CellType cell) {
  std::vector<Tile> tiles;
  for (uint32_t r = 0; r < n; r += 8)
    for (uint32_t c = 0; c < k; c += columns_of(cell))
      tiles.push_back({static_cast<uint16_t>(r), static_cast<uint16_t>(c)});
  return tiles;
}

std::vector<Tile> sum_tiles(uint32_t m, uint32_t n) { return by_blocks(m, n, 8); }

}  // namespace coalesce::machine
