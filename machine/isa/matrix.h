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

// In memory and in registers; of a type that is none: a register's.
constexpr uint32_t bits_of(CellType cell) {
  constexpr uint8_t bits[] = {32, 16, 16, 32, 32, 64, 8, 8, 4, 4, 8, 8, 32, 1};
  return bits[static_cast<uint8_t>(cell)];
}
CellType cell_from(std::string_view word);
bool is_float(CellType cell);

struct MatrixForm {
  enum class Action : uint8_t {
    meet,       // nothing: lanes wait for each other
    spread,     // ldmatrix: rows of 16 bytes, lane 8 i + r has row r of matrix i -> tiles
    gather,     // stmatrix: the other way
    transpose,  // movmatrix: a tile of 16-bit elements
    describe,   // wgmma: source: a descriptor -> each lane's address of a row, as spread wants them
    multiply,   // sources: tiles of left, right, sums, and of a sparse one the metadata; results: tiles of sums
  };
  Action action = Action::meet;
  uint8_t count = 0;        // spread, gather: matrices
  bool transposed = false;  // spread, gather, describe
  bool own_rows = false;    // describe: the left factor, of which a warp has 16 rows
  uint8_t deep = 2;         // describe: tiles along k
  uint16_t first = 0;       // describe: lanes 0 to 7 have the rows of that tile, the next eight of the next one ...
  // multiply
  uint16_t m = 0, n = 0, k = 0;
  uint16_t block = 0;  // real numbers: products that are added up at once; 0: as FFMA, apart from the addend (fp8)
  CellType left = CellType::none, right = CellType::none, addend = CellType::none, result = CellType::none;
  bool saturate = false;  // s32
  bool and_bits = false;  // b1: and in place of xor
  bool group = false;     // wgmma: real numbers have a rule of their own
  bool negative = false;  // wgmma: the product's negative is added
  bool sparse = false;    // the left factor has half of its columns; metadata says which (columns_of_sparse)
  uint8_t selector = 0;   // sparse: the lanes whose metadata is read
  bool quads = false;     // mma.m8n8k4 of halves: four products, each of two quads of lanes (quad_factor, quad_sum)
  bool by_column[2] = {false, true};  // quads: how the factors are written
};

struct Tile {
  uint16_t row = 0, column = 0;  // of its first element
};
// Elements that a lane holds of a tile: in one register of 4 bytes (of 8: f64) for the factors, two for sums.
constexpr uint32_t run_of(CellType factor) {
  constexpr uint8_t run[] = {1, 2, 2, 1, 1, 1, 4, 4, 8, 8, 4, 4, 1, 32};
  return run[static_cast<uint8_t>(factor)];
}
// Registers a lane has for a tile of sums: two, or one of two halves.
inline uint32_t registers_of_sums(CellType sum) { return sum == CellType::f16 ? 1 : 2; }

// How many products one machine instruction of sm_90 adds up: those of an mma, four of wmma's tf32; 0: tensor.cpp.
uint16_t block_of(const MatrixForm& form, bool is_wmma);

std::vector<Tile> left_tiles(uint32_t m, uint32_t k, CellType cell);
std::vector<Tile> right_tiles(uint32_t n, uint32_t k, CellType cell);
std::vector<Tile> sum_tiles(uint32_t m, uint32_t n);

// mma.m8n8k4 of halves: where element `i` of a lane belongs, in the product that its two quads share. Of the left
// factor rows are m and columns k, of the right one rows are n and columns k.
inline uint32_t quad_product(uint32_t lane) { return lane / 4 % 4; }
Tile quad_factor(bool along_k, uint32_t lane, uint32_t i);
Tile quad_sum(CellType sum, uint32_t lane, uint32_t i);

// Counts the lanes of four that, in a sparse product, have a row's metadata: 1, 2 or 4.
uint32_t lanes_of_metadata(const MatrixForm& form);
// The columns of the elements that a sparse left factor has, row by row; `metadata`: 32 lanes' words.
std::vector<uint16_t> columns_of_sparse(const MatrixForm& form, const uint32_t* metadata);

// wgmma: where a descriptor says that row `row` (16 bytes) of a tile lies in shared memory. A tile has eight rows, of
// the matrix's `major` dimension (m or n) or, transposed, of k. It is number `major` along m or n, and `along_k` along
// k.
uint32_t described_address(uint64_t descriptor, bool transposed, uint32_t major, uint32_t along_k, uint32_t row);

}  // namespace coalesce::machine
