// The role of each instruction of a kernel in the rules of `check`, as far as the kernel's text decides it.
#pragma once

#include <cstdint>
#include <vector>

#include "machine/program/program.h"

namespace coalesce::machine {

// The role of an instruction's accesses.
struct AccessRule {
  Kind kind = Kind::nothing;
  Order order = Order::weak;
  Scope scope = Scope::device;
  bool polls = false;     // a strong load that its value repeats, in a loop without stores: it waits
  bool may_poll = false;  // a load, or an atomic that returns a value, in a loop
  bool tries = false;     // a compare-and-swap: what it does not expect leaves the word as it is
  bool waits = false;     // an atomic in a loop that may as well wait for a store: repeated, it leaves the same word
  uint8_t used = 0xff;    // loads: bit k, the value of element k is not only moved on
};
std::vector<AccessRule> find_rules(const Decoded& program);  // by instruction
class Loops;
void find_polls(const Decoded& program, const Loops& loops, std::vector<AccessRule>& rules);  // sets `polls`

inline bool is_strong(const AccessRule& r) { return r.order != Order::weak; }
// The half of a cp.async that writes, and is done some time before the wait for it.
inline bool copies_to(const MemoryOp& op) { return op.is_copy && op.space == AddressSpace::shared; }

// Two accesses that are made to meet: atomics, st.relaxed, ld.acquire ... of scopes that reach each other. volatile is
// enough for a flag that is polled, and no way to exchange data: what such a store and an atomic leave depends on which
// comes last, unless the atomic waits for the store.
bool meant_to_meet(const AccessRule& a, const AccessRule& b, bool same_block);

// A barrier that threads can go past: by the branch at the end of block `branch`, to block `after`, behind which there
// is more to do than to exit. (Threads that leave early are no mistake.)
struct Skip {
  uint32_t barrier, branch, after;  // instruction, blocks
};
// The same of barriers of warps, by `kind`.
std::vector<Skip> find_skips(const Decoded& program, Kind kind = Kind::barrier);

}  // namespace coalesce::machine
