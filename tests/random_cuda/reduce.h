// Makes a failing program as small as it can be.
#pragma once

#include <functional>
#include <vector>

#include "tests/random_cuda/generator.h"

namespace coalesce::random_cuda {

// Says for each of some variants of a program whether it still fails. Asked for several at once, as most of the time
// goes into reading headers.
using StillFails = std::function<std::vector<bool>(const std::vector<Cuts>&)>;

Cuts reduced(const Program& program, const StillFails& still_fails);

}  // namespace coalesce::random_cuda
