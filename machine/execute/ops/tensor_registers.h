// The rule for sums of real numbers (tensor.h) from registers to registers, sixteen rows at a time, in vectors.
#pragma once

#include <cstdint>

#include "machine/isa/matrix.h"

namespace coalesce::machine {

inline constexpr uint32_t kMostColumns = 256;                            // of the right factor: wgmma's
inline constexpr uint32_t kMostDepth = 32;                               // columns of the left one
inline constexpr uint32_t kMostSumRegisters = 2 * 2 * kMostColumns / 8;  // of a lane
inline constexpr uint32_t kMostFactorRegisters = 2 * kMostDepth / 4 + kMostColumns / 8 * kMostDepth / 4;

// Whether multiply_registers has the form: 16 rows of f16, bf16 or tf32, sums of the addends' type. At most 16 products
// of a block may be other than 0.
bool takes_registers(const MatrixForm& form);

// sums = left * right + addends, each as pointers to registers of 32 words, in the order of left_tiles, right_tiles and
// sum_tiles; of eight columns, sums may lie where the sources do. False, and of eight columns nothing is written, where
// single precision cannot do it: a number is infinite or not a number, or a bf16, a tf32 or an addend is extremely
// large or small. `multiply` is for these.
bool multiply_registers(const MatrixForm& form, const uint32_t* const* left, const uint32_t* const* right,
                        const uint32_t* const* addends, uint32_t* const* sums);

// Where a thread keeps the factors of a product of eight columns as numbers, for the ones that follow. A factor that it
// has is taken from its place; the caller answers for it that no other call has come between. After false, it has none.
inline constexpr uint32_t kLeftPlaces = 4, kRightPlaces = 32;
struct FactorPlaces {
  uint8_t left = 0, right = 0;
  bool has_left = false, has_right = false;
};
bool multiply_registers(const MatrixForm& form, const FactorPlaces& places, const uint32_t* const* left,
                        const uint32_t* const* right, const uint32_t* const* addends, uint32_t* const* sums);

}  // namespace coalesce::machine
