// The tensor cores' operands: shapes, types, and which lane holds which elements.
//
// Matrices lie in registers as tiles: a register of all lanes is eight rows of four lanes, each with a run of elements
// along the row. Of the left matrix (m x k) rows are m, of the right one (k x n) rows are n, of sums rows are m.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace coalesce::machine {

enum class CellType : uint8_t { none, f16, bf16, tf32, f32, f64, e4m3, e5m2, s4, u4, s8, u8, s32, b1 };

uint32_t bits_of(CellType cell);  // in memory and in registers
CellType cell_from(std::string_view word);
bool is_float(CellType cell);

struct MatrixForm {
  enum class Action : uint8_t {
    meet,       // nothing: lanes wait for each other
    spread,     // ldmatrix: rows of 16 bytes, lane 8 i + r has row r of matrix i -> tiles
    gather,     // stmatrix: the other way
    transpose,  // movmatrix: a tile of 16-bit elements
    multiply,   // sources: tiles of left, right, sums; results: tiles of sums
  };
  Action action = Action::meet;
  uint8_t count = 0;        // spread, gather: matrices
  bool transposed = false;  // spread, gather
  // multiply
  uint16_t m = 0, n = 0, k = 0;
  uint16_t block = 0;  // real numbers: products that are added up at once; 0: as FFMA, apart from the addend (fp8)
  CellType left = CellType::none, right = CellType::none, addend = CellType::none, result = CellType::none;
  bool saturate = false;  // s32
  bool and_bits = false;  // b1: and in place of xor
};

struct Tile {
  uint16_t row = 0, column = 0;  // of its first element
};
// Elements that a lane holds of a tile: in one register of 4 bytes (of 8: f64) for the factors, two for sums.
inline uint32_t run_of(CellType factor) { return factor == CellType::f64 ? 1 : 32 / bits_of(factor); }
// Registers a lane has for a tile of sums: two, or one of two halves.
inline uint32_t registers_of_sums(CellType sum) { return sum == CellType::f16 ? 1 : 2; }

std::vector<Tile> left_tiles(uint32_t m, uint32_t k, CellType cell);
std::vector<Tile> right_tiles(uint32_t n, uint32_t k, CellType cell);
std::vector<Tile> sum_tiles(uint32_t m, uint32_t n);

}  // namespace coalesce::machine
