// Writes an array back to front, any element of up to 16 bytes, any alignment, with one launch.
#pragma once

#include <coalesce/detail/move/reverse.cuh>

namespace coalesce {

// out[count - 1 - i] = in[i].
template <class T>
status reverse(const T* in, std::int64_t count, T* out, cudaStream_t stream = nullptr) {
  static_assert(detail::is_bytes<T>, "coalesce::reverse moves bytes: the element type must be trivially copyable");
  static_assert(sizeof(T) <= 16,
                "coalesce::reverse moves elements of up to 16 bytes: reverse an array of indices instead");
  using namespace detail;
  if (status s = check_array(in, count, "reverse: in is null: pass device memory"); !s) return s;
  if (status s = check_array(out, count, "reverse: out is null: pass device memory"); !s) return s;
  if (count == 0) return {};
  constexpr int size = sizeof(T);
  const std::int64_t bytes = count * size;
  if (status s = check_apart(bytes_of(in, bytes), bytes_of(out, bytes)); !s) return s;
  if constexpr ((size & (size - 1)) == 0) {
    // Always so where the type's alignment is its size; then the other kernel is not even compiled.
    const auto whole = [](const void* p) { return reinterpret_cast<std::uintptr_t>(p) % size == 0; };
    if (alignof(T) == size || (whole(in) && whole(out))) {
      return start_rows<size, true>(reinterpret_cast<const unsigned char*>(in), 0,
                                    reinterpret_cast<unsigned char*>(out), 0, bytes, 1, stream);
    }
  }
  if constexpr (alignof(T) != size) return start_reverse_units<size, unit_bytes<T>>(in, out, count, stream);
  return {};
}

}  // namespace coalesce
