// Steps that move between scalar and vector slots, and the step that runs another one under a guard.
#pragma once

#include "machine/execute/ops/ops.h"

namespace coalesce::machine {

struct Warp;

Handler expand_handler(Element element, bool uniform);  // dst[lane] = src + lane * Expand::stride; uniform: that is 0
Handler collapse_handler(Element element);              // dst = src[lowest active lane]
Handler guarded_handler();

// Saves registers before a call (SaveOp), and gives them back to the lanes of `mask`.
Handler save_handler();
void restore_frame(Warp& w, uint32_t frame, uint32_t mask);

}  // namespace coalesce::machine
