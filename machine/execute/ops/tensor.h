// The arithmetic of the tensor cores, as pure functions.
//
// Sums of real numbers follow published models of Hopper's tensor cores: P. Xie et al., "MMA-Sim: Bit-Accurate
// Reference Model of Tensor Cores and Matrix Cores", arXiv:2511.10909 (2025), and F. A. Khattak, M. Mikaitis, "Accurate
// Models of NVIDIA Tensor Cores", arXiv:2512.07004 (2025). They have not been compared with an H200 here. What
// ptxas 13.0 makes of an instruction for sm_90 (how many products one machine instruction adds) was read in its machine
// code.
//
// The rule: products are exact; they and the addend are aligned to the largest exponent among them and cut off
// kFractionBits below it, towards zero; the sum of these is exact, and then rounded: towards zero for f32, to nearest
// even for f16. An exponent is that of the operands as they are written: a product's is the sum of its factors'.
#pragma once

#include <cstdint>
#include <span>

#include "machine/isa/matrix.h"

namespace coalesce::machine {

inline constexpr int kFractionBits = 25;
inline constexpr int kZeroExponent = -126;  // of a zero
inline constexpr uint32_t kNanSingle = 0x7fffffff, kNanHalf = 0x7fff;

// A finite number, significand * 2^(exponent - fraction bits): 10 fraction bits for factors, 23 for addends.
struct Term {
  int32_t significand = 0;
  int32_t exponent = kZeroExponent;
  bool special = false;  // infinite or not a number
  double value = 0;
};
Term factor_of(CellType cell, uint32_t bits);  // f16, bf16, tf32 (the low 13 bits are cut off), e4m3, e5m2
Term addend_of(CellType cell, uint32_t bits);  // f16, f32

// left[0..n) * right[0..n) + addend, as f16 or f32 bits.
uint32_t tensor_sum(std::span<const Term> left, std::span<const Term> right, const Term& addend, CellType result);

// sums[m][n] = left[m][k] * right[n][k] + sums[m][n]; elements as bits, one a word.
void multiply(const MatrixForm& form, const uint64_t* left, const uint64_t* right, uint64_t* sums);

}  // namespace coalesce::machine
