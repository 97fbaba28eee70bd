// Accesses that leave the array, the allocation or the block of malloc's that their address was made of.
#include <cstring>

#include "machine/check/check.h"
#include "machine/execute/block.h"
#include "machine/execute/calls.h"

namespace coalesce::machine {

void LaunchCheck::find_bounds() {
  const Decoded& p = *launch_.program;
  std::vector<const Allocation*> target(p.registers.size());
  std::vector<Pointer> pointers(p.registers.size());
  for (uint32_t r = 0; r < p.registers.size(); ++r) {
    const Register& reg = p.registers[r];
    uint64_t value = 0;
    if (reg.builtin != Builtin::parameter || reg.parameter_size != sizeof value || !launch_.parameters ||
        reg.parameter_offset + sizeof value > launch_.parameters->size())
      continue;
    std::memcpy(&value, launch_.parameters->data() + reg.parameter_offset, sizeof value);
    target[r] = launch_.memory->find(value);
    // A range that the host has registered may touch another such range, whose end is then its beginning.
    if (target[r] && target[r]->origin != Origin::host) {
      pointers[r] = Pointer::of_allocation;
    } else if (may_be_address(value)) {
      pointers[r] = Pointer::elsewhere;
    }
  }
  for (const Root& root : find_roots(p, pointers)) {
    Bounds& b = bounds_.emplace_back();
    if (root.kind == Root::Kind::array) {
      const ArrayVariable& a = p.arrays[root.index];
      b = {false, a.space, a.offset, a.size ? a.offset + a.size : uint64_t{launch_.shared_bytes}};
    } else if (root.kind == Root::Kind::parameter) {
      const Allocation& a = *target[root.index];
      b = {false, AddressSpace::global, a.base, a.base + a.size};
    }
  }
}

// "of shared memory 'words'", "of allocation #3 ...": what an address was made of.
std::string LaunchCheck::name_bounds(const Seen& s) const {
  const Decoded& p = *launch_.program;
  const Bounds& b = bounds_[p.code[s.instruction].memory];
  if (b.space == AddressSpace::global) return launch_.memory->describe(b.base, 1);
  for (const ArrayVariable& a : p.arrays)
    if (a.space == b.space && a.offset == b.base) {
      Seen first = s;
      first.address = b.base;
      if (b.space == AddressSpace::shared) return name_address(first);
      return "variable '" + a.name + "' of " + std::to_string(a.size) + " bytes";
    }
  return "";
}

// Whether the access lies in what its address was made of.
bool BlockCheck::within(const Access& a, const Target& t, uint64_t bytes) const {
  const LaunchCheck::Bounds& b = check_.bounds(a.window);
  if (b.any || b.space != t.space || (t.address >= b.base && t.address + bytes <= b.end)) return true;
  // An access outside every allocation ends the launch, which says so.
  return t.space == AddressSpace::global && !check_.launch().memory->find(t.address);
}

// Finds accesses of the device heap that lie between blocks of malloc, or in one that was freed.
void BlockCheck::check_heap(const Access& a, const Target& t) {
  const DeviceHeap* heap = check_.launch().heap;
  if (!heap || !heap->holds(t.address)) return;
  const DeviceHeap::Block block = heap->around(t.address);
  if (block.live && t.address + a.bytes <= block.base + block.bytes) return;
  LaunchCheck::Seen s = seen(Hazard::out_of_array, a, t);
  const std::string what = std::to_string(block.bytes) + " bytes that malloc has given";
  s.note = block.base == 0 ? "malloc has not given it"
           : block.live    ? std::to_string(t.address - block.base - block.bytes) + " bytes behind the end of " + what
                           : "within " + what + ", which were freed";
  check_.found(s);
}

}  // namespace coalesce::machine
