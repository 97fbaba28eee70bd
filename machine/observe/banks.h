// The sizes that the rules of traffic.cpp and traffic_affine.cpp are made of.
#pragma once

#include <bit>
#include <cstdint>

namespace coalesce::machine::banks {

constexpr uint32_t kSectorShift = 5, kLineShift = 7;
constexpr uint32_t kBanks = 32, kBankBytes = 4, kPassBytes = kBanks * kBankBytes;

constexpr uint32_t count(uint32_t mask) { return static_cast<uint32_t>(std::popcount(mask)); }
constexpr uint32_t log2_of(uint32_t width) { return static_cast<uint32_t>(std::countr_zero(width)); }

}  // namespace coalesce::machine::banks
