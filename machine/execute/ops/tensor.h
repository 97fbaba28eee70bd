// The arithmetic of the tensor cores, as pure functions.
//
// The rule for sums of real numbers: products are exact; they and the addend are aligned to the largest exponent among
// them and cut off kFractionBits below it, towards zero; the sum of these is exact, and then rounded: towards zero for
// f32, to nearest even for f16; no zero is negative. An exponent is that of the operands as they are written: a
// product's is the sum of its factors', and a zero has none. With an addend in f32, a result in f16 is rounded twice.
// wgmma of 8-bit reals keeps kSmallFractionBits in place of kFractionBits, and as many bits of an f32 result.
//
// Sources: P. Xie et al., "MMA-Sim: Bit-Accurate Reference Model of Tensor Cores and Matrix Cores", arXiv:2511.10909
// (2025), for the rule's form; the machine code of ptxas 13.0 for sm_90, for how many products one machine instruction
// adds. Evidence: an H100 gives the same bits for every form of tests/hardware/matrices.h, random and special numbers;
// tests/truth/matrices.txt keeps a part.
#pragma once

#include <cstdint>
#include <span>

#include "machine/isa/matrix.h"

namespace coalesce::machine {

inline constexpr int kFractionBits = 25, kSmallFractionBits = 13;
inline constexpr int kFactorBits = 10, kAddendBits = 23;  // of a term's fraction
inline constexpr int kZeroExponent = -1000;               // of a zero: what it is multiplied with does not matter
inline constexpr uint32_t kNanSingle = 0x7fffffff, kNanHalf = 0x7fff;

// A finite number, significand * 2^(exponent - fraction bits): 10 fraction bits for factors, 23 for addends.
struct Term {
  int32_t significand = 0;
  int32_t exponent = kZeroExponent;
  bool special = false;  // infinite or not a number
  double value = 0;      // of a special one
};
Term factor_of(CellType cell, uint32_t bits);  // f16, bf16, tf32 (the low 13 bits are cut off), e4m3, e5m2
Term addend_of(CellType cell, uint32_t bits);  // f16, f32

// left[0..n) * right[0..n) + addend, as f16 or f32 bits.
uint32_t tensor_sum(std::span<const Term> left, std::span<const Term> right, const Term& addend, CellType result,
                    int fraction_bits = kFractionBits);

// sums[m][n] = left[m][k] * right[n][k] + sums[m][n]; elements as bits, one a word. Of real numbers but f64, n is a
// multiple of eight.
void multiply(const MatrixForm& form, const uint64_t* left, const uint64_t* right, uint64_t* sums);
// sums[m][n] = left[m][i] * right[n][columns[m][i]] + sums[m][n], for half as many i as the form has columns.
void multiply_sparse(const MatrixForm& form, const uint64_t* left, const uint16_t* columns, const uint64_t* right,
                     uint64_t* sums);

}  // namespace coalesce::machine
