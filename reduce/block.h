// Elements of a file as values of this machine.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

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
  // Whether elements can be used where they lie: aligned and in this machine's byte order.
  static bool usable(const Array& array) {
    return !array.swapped && reinterpret_cast<uintptr_t>(array.elements()) % alignof(T) == 0;
  }

  // `count` elements from `index` on: a copy, or where they lie if they are usable, and few or `mapped`. Valid until
  // the next call.
  const T* elements(const Array& array, uint64_t index, uint64_t count, bool mapped = false) {
    const std::byte* const at = array.elements() + index * sizeof(T);
    const bool few = count * sizeof(T) < kRead;
    if ((few || mapped) && usable(array)) return reinterpret_cast<const T*>(at);
    T* const copy = room(count);
    if (few)
      std::memcpy(copy, at, count * sizeof(T));
    else
      array.file.read(array.begin + index * sizeof(T), copy, count * sizeof(T));
    if (array.swapped) {
      for (uint64_t i = 0; i < count; ++i) copy[i] = turned(copy[i]);
    }
    return copy;
  }

 private:
  static constexpr uint64_t kRead = 64 << 10;  // bytes that are worth a call of the kernel, some 2 us
  // The kernel copies a fifth faster to pages than to addresses that are not multiples of 64.
  static constexpr std::size_t kPage = 4096;

  T* room(uint64_t count) {
    if (count > room_) {
      const std::size_t bytes = (count * sizeof(T) + kPage - 1) / kPage * kPage;
      copy_.reset(static_cast<T*>(std::aligned_alloc(kPage, bytes)));
      room_ = copy_ == nullptr ? 0 : count;
      if (copy_ == nullptr) throw std::bad_alloc();
    }
    return copy_.get();
  }

  struct Free {
    void operator()(T* memory) const { std::free(memory); }
  };
  std::unique_ptr<T, Free> copy_;
  uint64_t room_ = 0;
};

}  // namespace coalesce::reduce
