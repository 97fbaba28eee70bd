// Addresses that are affine unless a number wraps on the way.
//
// a[row * n + column] with 32-bit numbers is computed modulo 2^32 and then widened. Where n is a parameter, no proof
// says that no lane wraps, so the decoder calls the address general; it is affine in every launch that works. Code for
// such a register keeps lane 0's value and a bit "no lane has wrapped" beside the vector (emit/checked_affine.cpp); an
// access reads only these two.
#pragma once

#include <cstdint>
#include <vector>

#include "native/analyse/registers.h"

namespace coalesce::native {

struct CheckedAffine {
  std::vector<bool> is;         // by register: general, of 64 bits, affine unless a lane wraps
  std::vector<int64_t> stride;  // by register, bytes

  // Bytes between neighbouring lanes of a 64-bit value; 0 for what is the same in all lanes. False: not affine.
  bool stride_of(const Registers& registers, const machine::Value& v, int64_t* stride) const;
};

CheckedAffine find_checked_affine(const Registers& registers);

// Factors and strides beyond this are not followed: products of two stay far from 2^63.
inline constexpr int64_t kMostFactor = int64_t{1} << 30;

}  // namespace coalesce::native
