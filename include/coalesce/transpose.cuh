// Turns a matrix over, any element of up to 16 bytes, any alignment, with one launch.
#pragma once

#include <coalesce/detail/move/transpose_bytes.cuh>
#include <coalesce/detail/move/transpose_narrow.cuh>

namespace coalesce {

// out[c * out_stride + r] = in[r * in_stride + c] for `rows` x `columns` elements; strides, in elements, are from one
// row of the input to the next (at least `columns`) and from one row of the output to the next (at least `rows`).
template <class T>
status transpose(const T* in, std::int64_t in_stride, T* out, std::int64_t out_stride, std::int64_t rows,
                 std::int64_t columns, cudaStream_t stream = nullptr) {
  static_assert(detail::is_bytes<T>, "coalesce::transpose moves bytes: the element type must be trivially copyable");
  static_assert(sizeof(T) <= 16,
                "coalesce::transpose moves elements of up to 16 bytes: transpose a matrix of indices instead");
  using namespace detail;
  if (rows < 0 || columns < 0) return refuse("transpose: rows or columns are negative");
  if (rows == 0 || columns == 0) return {};
  if (in_stride < columns || out_stride < rows) {
    return refuse("transpose: in_stride is less than columns or out_stride less than rows: rows would overlap");
  }
  std::int64_t in_count = 0, out_count = 0;
  if (!multiply(in_stride, rows, in_count) || !multiply(out_stride, columns, out_count)) {
    return refuse("transpose: rows times stride do not fit in 63 bits");
  }
  if (status s = check_array(in, in_count, "transpose: in is null: pass device memory"); !s) return s;
  if (status s = check_array(out, out_count, "transpose: out is null: pass device memory"); !s) return s;
  constexpr int size = sizeof(T);
  if (status s = check_apart(bytes_of(in, (in_count - in_stride + columns) * size),
                             bytes_of(out, (out_count - out_stride + rows) * size));
      !s) {
    return s;
  }
  transpose_shape shape{rows, columns, in_stride, out_stride, 0};
  const std::uintptr_t addresses = reinterpret_cast<std::uintptr_t>(in) | reinterpret_cast<std::uintptr_t>(out);
  unsigned int blocks = 0;
  // An element is moved in parts of this size.
  constexpr int part = (size & (size - 1)) == 0 ? size : size == 12 ? 4 : 0;
  if constexpr (part > 0) {
    constexpr int parts = size / part;
    if (addresses % part == 0) {
      if (in_stride == columns && columns * size < 128) return start_tall<part, parts>(in, out, shape, stream);
      if (out_stride == rows && rows * size < 128) {
        if constexpr (size < 4) {
          return start_flat_bytes<size>(in, out, shape, stream);
        } else {
          return start_flat<part, parts>(in, out, shape, stream);
        }
      }
      if (((in_stride | out_stride) * size) % 32 != 0 || addresses % 32 != 0) {
        blocks = crooked_tiles_of<part, parts>(shape);
        if (!blocks) return refuse(too_many_blocks);
        return start(transpose_crooked<part, parts>, blocks, crooked_threads, stream, in, out, shape);
      }
    }
  }
  if constexpr (size <= 2) {
    if (addresses % 4 == 0 && (rows | columns | in_stride | out_stride) % (4 / size) == 0) {
      blocks = tiles_of(shape, packed_words<size> * 4 / size);
      if (!blocks) return refuse(too_many_blocks);
      return start(transpose_packed<size>, blocks, packed_threads<size>, stream, in, out, shape);
    }
  }
  blocks = tiles_of(shape, tile_side<size>);
  if (!blocks) return refuse(too_many_blocks);
  return start(transpose_tile<size, unit_bytes<T>>, blocks, transpose_threads<size>, stream, in, out, shape);
}

// Without gaps between rows.
template <class T>
status transpose(const T* in, T* out, std::int64_t rows, std::int64_t columns, cudaStream_t stream = nullptr) {
  return transpose(in, columns, out, rows, rows, columns, stream);
}

}  // namespace coalesce
