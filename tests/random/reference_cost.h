// The cost of an access, from sets of addresses.
#pragma once

#include <cstdint>
#include <set>

#include "machine/observe/counters.h"
#include "tests/random/reference_program.h"

namespace coalesce::machine::test::reference {

enum class Access : uint8_t { load, store, atomic };

// Counts a request of the lanes `on`, each at its address. `touched`: all sectors of global memory so far.
void count_access(const Decoded& d, const Lanes& address, uint32_t on, Access access, Counters& counters,
                  std::set<uint64_t>& touched);

}  // namespace coalesce::machine::test::reference
