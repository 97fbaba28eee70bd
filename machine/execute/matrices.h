// The tensor cores' instructions on a warp's registers (isa/matrix.h).
#pragma once

#include "machine/execute/ops/ops.h"

namespace coalesce::machine {

Handler matrix_handler();  // of Kind::collective

}  // namespace coalesce::machine
