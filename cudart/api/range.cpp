#include "cudart/api/range.h"

#include "cudart/api/memory.h"

namespace coalesce::cudart {

bool box_span(const Box& box, const Layout& layout, uint64_t& bytes) {
  uint64_t rows = 0, slices = 0;
  return !__builtin_mul_overflow(box.height - 1, layout.pitch, &rows) &&
         !__builtin_mul_overflow(box.depth - 1, layout.slice, &slices) &&
         !__builtin_add_overflow(rows, slices, &bytes) && !__builtin_add_overflow(bytes, box.width, &bytes);
}

bool is_managed(Runtime& r, const void* pointer) {
  const machine::Allocation* a = r.memory().find(address_of(pointer));
  return a != nullptr && a->origin == machine::Origin::managed;
}

bool classify(Runtime& r, uint64_t address, uint64_t bytes, Where& where) {
  const machine::Allocation* a = r.memory().find(address);
  if (a == nullptr) {
    where = Where::pageable;
    // Freed device memory stays reserved; it never turns into the program's own.
    if (!ever_allocated(address)) return true;
    for (const auto& old : r.memory().all()) {
      if (!old->live && old->origin == machine::Origin::device && address - old->base < old->size) return false;
    }
    return true;
  }
  switch (a->origin) {
    case machine::Origin::host:
      where = Where::pinned;
      break;
    case machine::Origin::managed:
      where = Where::managed;
      break;
    default:
      where = Where::device;
  }
  return bytes <= a->size - (address - a->base);
}

}  // namespace coalesce::cudart
