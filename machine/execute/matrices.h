// What the tensor cores' instructions do with a warp's registers (isa/matrix.h).
#pragma once

#include "machine/execute/ops.h"

namespace coalesce::machine {

Handler matrix_handler();  // of Kind::collective

}  // namespace coalesce::machine
