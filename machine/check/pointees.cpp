#include "machine/check/pointees.h"

#include <cstring>

#include "machine/execute/block.h"
#include "machine/execute/calls.h"

namespace coalesce::machine {

void Pointees::begin() {
  for (auto& of_warp : pointers_) of_warp.assign(check_.addresses.pointers(), {});
}

bool Pointees::check_heap(const Access& a, const Target& t) {
  const DeviceHeap* heap = check_.launch().heap;
  if (!heap || !heap->holds(t.address)) return true;
  const DeviceHeap::Block block = heap->around(t.address);
  if (block.live && t.address + a.bytes <= block.base + block.bytes) return true;
  Seen s = s_.seen(Hazard::out_of_array, a, t);
  const std::string what = std::to_string(block.bytes) + " bytes that malloc has given";
  s.note = block.base == 0 ? "malloc has not given it"
           : block.live    ? std::to_string(t.address - block.base - block.bytes) + " bytes behind the end of " + what
                           : "within " + what + ", which were freed";
  check_.findings.add(s);
  return false;
}

void Pointees::load_pointers(const Access& a, const Warp& w) {
  for (uint32_t m = w.active; m; m &= m - 1) {
    Target t;
    t.lane = lowest(m);
    t.warp = w.index;
    const bool found = locator_.find(a, w, address_of(a, w, t.lane), a.bytes, t) && t.host && a.op->width == 8;
    for (const auto& [element, number] : check_.addresses.loads_pointers(a.window)) {
      uint64_t& to = pointers_[w.index][number][t.lane];
      to = 0;
      if (found) std::memcpy(&to, t.host + std::size_t{element} * 8, 8);
    }
  }
}

void Pointees::gave(uint32_t instruction, uint32_t lane, uint64_t address, const Warp& w) {
  if (const uint32_t n = check_.addresses.given_pointer(instruction); n != kNone) pointers_[w.index][n][lane] = address;
}

bool Pointees::within_pointer(const Access& a, const Target& t) {
  const uint64_t from = pointers_[t.warp][check_.addresses.pointer_of(a.window)][t.lane];
  if (from == 0 || t.space != AddressSpace::global) return true;
  const Allocation* target = check_.launch().memory->find(from);
  if (!target || target->origin == Origin::host) return true;
  const bool inside = t.address - target->base < target->size;
  const DeviceHeap* heap = check_.launch().heap;
  if (!heap || !heap->holds(from)) {
    if (inside) return true;
    Seen s = s_.seen(Hazard::out_of_array, a, t);
    s.made_of = target->base;
    check_.findings.add(s);
    return false;
  }
  const DeviceHeap::Block block = heap->around(from);
  if (!block.live || from - block.base >= block.bytes || t.address - block.base < block.bytes) return true;
  Seen s = s_.seen(Hazard::out_of_array, a, t);
  s.note = "its address was made of a pointer to " + std::to_string(block.bytes) + " bytes that malloc has given";
  check_.findings.add(s);
  return false;
}

}  // namespace coalesce::machine
