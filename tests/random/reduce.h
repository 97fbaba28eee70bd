// Makes a random kernel that shows a difference as small as it can be.
#pragma once

#include <functional>

#include "tests/random/generator.h"

namespace coalesce::machine::test {

// Leaves out lines, many at once, then one by one, as long as `still(less)` holds. What initialises a register stays,
// because PTX does not say what it holds otherwise. `still` must be false for texts that are no PTX.
GeneratedKernel reduced(GeneratedKernel k, const std::function<bool(const GeneratedKernel&)>& still);

}  // namespace coalesce::machine::test
