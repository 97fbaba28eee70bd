// `coalesce banks` as a picture of text and as JSON.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>

#include "tool/figures/banks.h"

namespace coalesce::tool {

// The 32 banks as seats, a line for each pass, and below what it costs and which padding frees it. Where `width` has no
// room for 32 banks, the second half stands below the first.
void print_banks(std::ostream& out, const BankPicture& picture, bool colour, std::size_t width);
std::string banks_json(const BankPicture& picture);

}  // namespace coalesce::tool
