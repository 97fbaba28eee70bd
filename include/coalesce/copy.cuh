// Copies a matrix whose rows lie apart, any element type, any alignment, with one launch.
#pragma once

#include <coalesce/detail/move/copy.cuh>

namespace coalesce {

// `rows` rows of `columns` elements; a row begins `in_pitch` bytes after the one before it, or `out_pitch` (as
// cudaMallocPitch has it; at least columns * sizeof(T) in size; in_pitch may be negative, or 0 to repeat one row).
template <class T>
status copy(const T* in, std::int64_t in_pitch, T* out, std::int64_t out_pitch, std::int64_t rows, std::int64_t columns,
            cudaStream_t stream = nullptr) {
  static_assert(detail::is_bytes<T>, "coalesce::copy moves bytes: the element type must be trivially copyable");
  using namespace detail;
  if (rows < 0 || columns < 0) return refuse("copy: rows or columns are negative");
  if (rows == 0 || columns == 0) return {};
  std::int64_t bytes = 0, way_in = 0, way_out = 0;
  if (!multiply(columns, sizeof(T), bytes) || in_pitch == INT64_MIN || out_pitch < 0 ||
      !multiply(in_pitch < 0 ? -in_pitch : in_pitch, rows, way_in) || !multiply(out_pitch, rows, way_out)) {
    return refuse("copy: rows times pitch do not fit in 63 bits, or out_pitch is negative");
  }
  if (!in || !out) return refuse("copy: in or out is null: pass device memory");
  if (!aligned(in) || !aligned(out) || in_pitch % static_cast<std::int64_t>(alignof(T)) ||
      out_pitch % static_cast<std::int64_t>(alignof(T))) {
    return refuse("copy: a pointer or pitch is not a multiple of the element type's alignment");
  }
  if (rows > 1 && out_pitch < bytes) return refuse("copy: out_pitch is less than a row's bytes: rows would overlap");
  const std::int64_t back = in_pitch < 0 ? -in_pitch * (rows - 1) : 0, ahead = in_pitch > 0 ? in_pitch * (rows - 1) : 0;
  const auto* from = reinterpret_cast<const unsigned char*>(in);
  auto* to = reinterpret_cast<unsigned char*>(out);
  if (status s = check_apart(bytes_of(from - back, back + ahead + bytes), bytes_of(to, out_pitch * (rows - 1) + bytes));
      !s) {
    return s;
  }
  if (rows > 1 && in_pitch == bytes && out_pitch == bytes) {
    bytes *= rows;
    rows = 1;
  }
  // Everything that decides in which units rows can be moved.
  const std::uintptr_t all =
      reinterpret_cast<std::uintptr_t>(in) | reinterpret_cast<std::uintptr_t>(out) |
      static_cast<std::uintptr_t>(bytes) |
      (rows > 1 ? static_cast<std::uintptr_t>(in_pitch) | static_cast<std::uintptr_t>(out_pitch) : 0);
  const bool words = all % 4 == 0;
  if (rows > 1 && (bytes < 128 || (bytes < 512 && all % 16 == 0))) {
    if (all % 16 == 0) return start_short_rows<uint4>(from, in_pitch, to, out_pitch, bytes, rows, stream);
    if (all % 8 == 0) return start_short_rows<uint2>(from, in_pitch, to, out_pitch, bytes, rows, stream);
    if (words) return start_short_rows<unsigned int>(from, in_pitch, to, out_pitch, bytes, rows, stream);
    if (all % 2 == 0) return start_short_rows<unsigned short>(from, in_pitch, to, out_pitch, bytes, rows, stream);
    return start_short_rows<unsigned char>(from, in_pitch, to, out_pitch, bytes, rows, stream);
  }
  if (rows > 1 && bytes <= 2048) {
    return words ? start_medium_rows<4>(from, in_pitch, to, out_pitch, bytes, rows, stream)
                 : start_medium_rows<1>(from, in_pitch, to, out_pitch, bytes, rows, stream);
  }
  return start_rows<1, false>(from, in_pitch, to, out_pitch, bytes, rows, stream);
}

}  // namespace coalesce
