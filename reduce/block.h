// Elements of a file as values of this machine.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "reduce/array.h"

namespace coalesce::reduce {

template <class T>
inline T turned(T value) {  // its bytes in the other order
  unsigned char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  for (std::size_t i = 0; i < sizeof(T) / 2; ++i) std::swap(bytes[i], bytes[sizeof(T) - 1 - i]);
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

template <class T>
inline T element_at(const Array& array, uint64_t index) {
  T value;
  std::memcpy(&value, array.elements() + index * sizeof(T), sizeof(T));
  return array.swapped ? turned(value) : value;
}

template <class T>
class Block {
 public:
  // `count` elements from `index` on: where they lie, or a copy if they are misaligned or in the other byte order.
  // Valid until the next call.
  const T* elements(const Array& array, uint64_t index, uint64_t count) {
    const std::byte* const at = array.elements() + index * sizeof(T);
    if (!array.swapped && reinterpret_cast<uintptr_t>(at) % alignof(T) == 0) return reinterpret_cast<const T*>(at);
    copy_.resize(count);
    std::memcpy(copy_.data(), at, count * sizeof(T));
    if (array.swapped) {
      for (T& value : copy_) value = turned(value);
    }
    return copy_.data();
  }

 private:
  std::vector<T> copy_;
};

}  // namespace coalesce::reduce
