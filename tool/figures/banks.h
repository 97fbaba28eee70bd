// The banks of shared memory that the lanes of a warp meet, by the machine's own rule, without a program.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "machine/observe/traffic.h"

namespace coalesce::tool {

inline constexpr uint32_t kBanks = 32, kBankBytes = 4, kMostPad = 64;  // the most padding that is tried

// Lane l loads the element at l * (stride + pad); elements are `width` bytes. (A column of an array whose rows have
// `stride` elements and `pad` unused ones.)
struct BankAccess {
  uint32_t stride = 1, width = 4, pad = 0, lanes = 32;
};

// A word that some lanes of a group ask a bank for.
struct Seat {
  uint32_t word = 0;            // byte address / 4
  std::vector<uint32_t> lanes;  // that share it
};

// Lanes that are served together: all for up to 4 bytes each, half warps for 8, quarters for 16.
struct BankGroup {
  std::array<std::vector<Seat>, 32> banks;  // per bank its words, in the order of the lanes
  std::size_t passes() const;               // of the fullest bank
};

struct BankPicture {
  BankAccess access;
  machine::SharedCost load, store;
  std::vector<BankGroup> groups;     // of the load
  std::optional<uint32_t> free_pad;  // the least padding without conflicts, up to 64; empty: there is none
};
BankPicture bank_picture(const BankAccess& access);

}  // namespace coalesce::tool
