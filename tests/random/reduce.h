// Makes a random kernel that shows a difference as small as it can be.
#pragma once

#include <functional>

#include "tests/random/generator.h"

namespace coalesce::machine::test {

// Leaves out lines, many at once, then one by one, as long as `still(less)` holds. What initialises a register stays:
// what one holds otherwise is nobody's business. Texts that are no PTX any more must count as "no longer".
GeneratedKernel reduced(GeneratedKernel k, const std::function<bool(const GeneratedKernel&)>& still);

}  // namespace coalesce::machine::test
