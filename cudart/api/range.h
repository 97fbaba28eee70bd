// Checks of memory ranges, for copies and fills.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cudart/core/runtime.h"

namespace coalesce::cudart {

// The kind of an address in a copy. `pageable`: memory from elsewhere (malloc, the stack).
enum class Where : uint8_t { pageable, pinned, managed, device };

// A box of `depth` slices of `height` rows of `width` bytes. Rows lie `pitch` apart, slices `slice` apart.
struct Box {
  size_t width = 0, height = 1, depth = 1;
  bool empty() const { return width == 0 || height == 0 || depth == 0; }
  size_t bytes() const { return width * height * depth; }
};
struct Layout {
  uint64_t address = 0;
  size_t pitch = 0, slice = 0;
};

// Bytes from a box's first to just past its last. False: the numbers overflow, so no memory can hold it.
bool box_span(const Box& box, const Layout& layout, uint64_t& bytes);

// Classifies [address, address + bytes). False: it begins in an allocation and does not end there, or it lies in memory
// that was freed.
bool classify(Runtime& r, uint64_t address, uint64_t bytes, Where& where);

// Whether the byte lies in live managed memory.
bool is_managed(Runtime& r, const void* pointer);

inline bool on_device(Where w) { return w != Where::pageable; }  // kernels can reach it
inline bool on_host(Where w) { return w != Where::device; }      // the host can reach it
inline uint64_t address_of(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

}  // namespace coalesce::cudart
