// The instructions of the tensor cores as the plain executor carries them out.
#pragma once

#include "machine/isa/matrix.h"
#include "machine/plain/code.h"

namespace coalesce::machine::plain {

struct MatrixOp {
  enum class What : uint8_t {
    load_rows,
    store_rows,
    transpose,
    multiply,
    load,
    store,
    group,
    quads  // mma.m8n8k4 of halves: two sources of a, two of b, then the sums
  };
  What what = What::multiply;
  uint32_t m = 8, n = 8, k = 0;                   // as written
  CellType cell = CellType::f16;                  // load, store: of the fragment
  char part = 'a';                                // load, store: a, b, c or d
  bool by_rows = true;                            // load, store: lines of memory are rows
  bool transposed = false;                        // load_rows, store_rows
  uint32_t count = 1;                             // load_rows, store_rows: matrices
  int stride = -1;                                // load, store: which source; -1: the length of a line
  MatrixForm form;                                // multiply; m and n as written
  std::size_t first_right = 0, first_addend = 0;  // multiply: sources of the left factor come first
  std::size_t metadata = 0;                       // of a sparse product: the source
  // wgmma: sources are the descriptor or registers of a, the descriptor of b, the predicate of the sums, the sums.
  bool left_in_registers = false, left_transposed = false, right_transposed = false;
};

// Element `i` that a lane holds of a part of the product, as the PTX manual numbers them: its row and column.
struct Position {
  uint32_t row = 0, column = 0;
};
Position position(const MatrixOp& op, char part, CellType cell, uint32_t lane, uint32_t i);
// Elements a lane holds, each once.
uint32_t elements_of(const MatrixOp& op, char part);

}  // namespace coalesce::machine::plain
