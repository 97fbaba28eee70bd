// Steps that move between scalar and vector slots, and the step that runs another one under a guard.
#pragma once

#include "machine/execute/ops.h"

namespace coalesce::machine {

Handler expand_handler(Element element);    // dst[lane] = src + lane * Expand::stride
Handler collapse_handler(Element element);  // dst = src[lowest active lane]
Handler guarded_handler();

}  // namespace coalesce::machine
