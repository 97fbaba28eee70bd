// The three libraries differ only in what version.cpp, compiled once for each, says.
#pragma once

namespace coalesce::cudart {

int runtime_version();  // 13000, 12000 or 11000

}  // namespace coalesce::cudart
