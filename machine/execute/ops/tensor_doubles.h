// Products of matrices of doubles from registers to registers.
#pragma once

#include <cstdint>

#include "machine/isa/matrix.h"

namespace coalesce::machine {

// sums = left * right + addends: fused multiply-adds from the first column to the last. Pointers to registers of 32
// doubles, in the order of left_tiles, right_tiles and sum_tiles; 8 or 16 rows, 8 columns. False, and what is written
// does not count, where a sum is not a number: `multiply` knows which one.
bool multiply_doubles(const MatrixForm& form, const double* const* left, const double* const* right,
                      const double* const* addends, double (*sums)[32]);

}  // namespace coalesce::machine
