// The tensor cores' instructions on a warp's registers (isa/matrix.h).
#pragma once

#include "machine/execute/ops/ops.h"
#include "machine/isa/matrix.h"

namespace coalesce::machine {

Handler matrix_handler(const MatrixForm& form);  // of Kind::collective

}  // namespace coalesce::machine
