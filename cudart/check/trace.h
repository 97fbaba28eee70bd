// Calls on the host's stack, cheap to take and to keep; named only where a finding shows them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "machine/diagnostic.h"

namespace coalesce::cudart {

using Frames = std::vector<uintptr_t>;  // addresses within the calling instructions, the innermost first

// The caller's stack, without what belongs to this library: up to 24 calls, some microseconds.
Frames frames_here();
// "FILE+0xOFFSET" for each.
machine::Trace trace_of(std::string title, const Frames& frames);

}  // namespace coalesce::cudart
