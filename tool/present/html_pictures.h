// The two pictures of the report: which banks a warp's lanes meet on, and which sectors its lanes share. SVG text; the
// page's script (report/src/pictures.js) draws the very same text for what the reader chooses, and a test compares
// them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tool/figures/seats.h"

namespace coalesce::tool {

std::string lane_list(const std::vector<uint32_t>& lanes);  // {0,1,2,8} -> "0-2 8"

std::string bank_summary(const BankQuestion& question);
std::string bank_svg(const BankQuestion& question);
std::string sector_summary(const SectorQuestion& question);
std::string sector_svg(const SectorQuestion& question);

}  // namespace coalesce::tool
