// A decoded kernel's identity: two with the same fingerprint have the same native code.
#pragma once

#include <string>

#include "machine/program/program.h"

namespace coalesce::native {

// SHA-256, 64 hexadecimal digits, over all that code generation may read: shape, registers, instructions, flow of
// control, memory descriptors. Source places and texts of messages are left out: adding a comment to a source makes no
// other code. Cost: some 4 ns a byte, below 1 ms for usual kernels.
std::string fingerprint(const machine::Decoded& program);

}  // namespace coalesce::native
