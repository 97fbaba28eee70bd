// `coalesce banks`: which banks of shared memory the lanes of a warp meet, by the machine's own rule, without a
// program.
#pragma once

#include <array>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "machine/observe/traffic.h"
#include "tool/options.h"

namespace coalesce::tool {

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

// The 32 banks as seats, a line for each pass, and below what it costs and which padding frees it.
void print_banks(std::ostream& out, const BankPicture& picture, bool colour);
std::string banks_json(const BankPicture& picture);

// The whole subcommand; the exit code.
int banks(const BankOptions& options);

}  // namespace coalesce::tool
