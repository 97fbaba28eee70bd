// Whose memory requests are counted. Results are the same.
#pragma once

#include <cstdint>

#include "machine/named.h"

namespace coalesce::machine {

enum class Model : uint8_t {
  ptx,    // those of the program's PTX: what the programmer and the compiler wrote
  ptxas,  // those of what ptxas makes of it at -O3, as far as that can be foreseen (program/merge.h)
};

inline constexpr Names<Model, 2> kModels{{{"ptx", Model::ptx}, {"ptxas", Model::ptxas}}};

}  // namespace coalesce::machine
