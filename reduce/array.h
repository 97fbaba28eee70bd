// An array in a file: .npy (NumPy's format, versions 1 to 3) or raw elements.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "reduce/element.h"
#include "reduce/mapped_file.h"

namespace coalesce::reduce {

struct Array {
  explicit Array(MappedFile mapped, Element type = Element::f32) : file(std::move(mapped)), element(type) {}
  MappedFile file;
  Element element;
  bool swapped = false;           // bytes of an element in the other order than this machine's
  bool fortran = false;           // the first axis is the one that is next in memory
  std::vector<uint64_t> extents;  // empty: one element
  uint64_t count = 0;             // elements
  uint64_t begin = 0;             // bytes ahead of the first element

  const std::byte* elements() const { return file.data() + begin; }
  uint64_t bytes() const { return count * row_of(element).bytes; }
  // The row-major position of the element that is `index`-th in memory.
  uint64_t position(uint64_t index) const;
};

// Throws std::runtime_error with path and reason: no .npy, a type that is none of kElements, a file that is shorter
// than its header says.
Array open_npy(const std::string& path);
// All bytes of the file, from `skip` on, as elements; their number must be whole.
Array open_raw(const std::string& path, Element element, uint64_t skip);

}  // namespace coalesce::reduce
