#pragma once

#include <llvm/IR/Function.h>

namespace coalesce::native {

// Changes nothing that the function computes. For targets with registers for masks, after all passes: LLVM's selection
// of instructions, which comes next, may not end without it (masks.cpp).
void hide_logic_of_masks(llvm::Function& f);

}  // namespace coalesce::native
