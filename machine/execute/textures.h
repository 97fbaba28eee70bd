// tex, tld4, suld and sust for the lanes of a warp.
#pragma once

#include "machine/execute/code.h"

namespace coalesce::machine {

// Textures follow the CUDA C++ Programming Guide's section "Texture Fetching": the nearest texel, or the weighted mean
// of 2, 4 or 8 with weights rounded to 1/256. They are not counted: no counter of ours is about the texture unit.
void texture_access(const Step& s, Context& c);

}  // namespace coalesce::machine
