// A kernel as one function.
#pragma once

#include "native/emit/emitter.h"

namespace coalesce::native {

// Emits the kernel's function. facts.regions must not be empty.
void emit_kernel(Emitter& e);

// For the loader (run/kernel.cpp), after emit_kernel().
std::vector<uint32_t> loader_words(const Emitter& e);

}  // namespace coalesce::native
