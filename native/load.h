// An object file becomes executable code.
#pragma once

#include <memory>

#include "machine/execute/native.h"
#include "native/generate.h"

namespace coalesce::native {

// Loads `object`, made by compile() from an equal `code`. Null when the object is not one this build understands, or
// holds no code. `code` must live as long as what is returned.
std::shared_ptr<const machine::NativeKernel> load(const machine::Code& code, const Object& object);

}  // namespace coalesce::native
