// An array of any shape and layout in device memory that is read, not owned: extents and strides, a few words.
//
//   view(p, count)                       one axis
//   view(p, {rows, columns})             row-major
//   view(p, {rows, columns}, {1, rows})  any strides, in elements: negative runs backwards, 0 repeats (broadcast)
//   view(m)                              m: an mdspan, or what has its members
//   from_dlpack(tensor, v)               tensor: a DLTensor, or what has its members
//
// Axes are counted from 0, slowest first in a row-major array; negative ones from the end, as in NumPy.
#pragma once

#include <coalesce/types/status.cuh>
#include <cstdint>
#include <initializer_list>
#include <type_traits>
#include <utility>

struct __half;
struct __nv_bfloat16;

namespace coalesce {

inline constexpr int max_rank = 8;

template <class T>
struct view {
  const T* data = nullptr;
  int rank = 0;  // 0: one element; more than max_rank, or negative: refused by every function that takes the view
  std::int64_t extents[max_rank] = {};
  std::int64_t strides[max_rank] = {};

  view() = default;
  view(const T* p, std::int64_t count) : view(p, {count}) {}
  view(const T* p, std::initializer_list<std::int64_t> shape)
      : view(p, static_cast<int>(shape.size()), shape.begin(), nullptr) {}
  view(const T* p, std::initializer_list<std::int64_t> shape, std::initializer_list<std::int64_t> steps)
      : view(p, shape.size() == steps.size() ? static_cast<int>(shape.size()) : -1, shape.begin(), steps.begin()) {}
  // `steps` null: row-major.
  view(const T* p, int axes, const std::int64_t* shape, const std::int64_t* steps) : data(p), rank(axes) {
    if (rank < 0 || rank > max_rank) return;
    std::int64_t next = 1;
    for (int i = rank - 1; i >= 0; --i) {
      extents[i] = shape[i];
      strides[i] = steps ? steps[i] : next;
      // If this overflows, the extents are refused as a whole.
      if (!detail::multiply(next, shape[i] < 1 ? 1 : shape[i], next)) next = 0;
    }
  }
  template <class M, class = decltype(std::declval<const M&>().data_handle()),
            class = decltype(std::declval<const M&>().extent(0))>
  view(const M& m) : data(m.data_handle()), rank(static_cast<int>(M::rank())) {
    if (!m.is_strided()) rank = -1;
    if (rank < 0 || rank > max_rank) return;
    for (int i = 0; i < rank; ++i) {
      extents[i] = static_cast<std::int64_t>(m.extent(i));
      strides[i] = static_cast<std::int64_t>(m.stride(i));
    }
  }
};

// A set of axes. axes{} reduces none; a wrong or repeated number is refused when the set meets a view.
class axes {
 public:
  axes() = default;  // none; nvcc makes {0} of an empty list otherwise
  axes(std::initializer_list<int> numbers) {
    for (const int number : numbers) {
      if (number < -max_rank || number >= max_rank) {
        wrong_ = true;
      } else {
        const unsigned bit = 1u << (number + max_rank);
        wrong_ |= (set_ & bit) != 0;
        set_ |= bit;
      }
    }
  }
  static axes all() {
    axes every{};
    every.all_ = true;
    return every;
  }

  // Bit i of `mask`: axis i of an array with `rank` axes.
  status resolve(int rank, unsigned& mask) const {
    mask = 0;
    if (all_) {
      mask = (1u << rank) - 1;
      return {};
    }
    if (wrong_)
      return detail::refuse("an axis is out of range or named twice: name each of 0 ... rank - 1 once at most");
    for (int number = -max_rank; number < max_rank; ++number) {
      if (!(set_ >> (number + max_rank) & 1)) continue;
      const int axis = number < 0 ? number + rank : number;
      if (axis < 0 || axis >= rank)
        return detail::refuse("an axis is out of range: axes go from 0 to rank - 1, or from -rank to -1");
      if (mask >> axis & 1) return detail::refuse("an axis is named twice, from the front and from the end");
      mask |= 1u << axis;
    }
    return {};
  }

 private:
  unsigned set_ = 0;
  bool all_ = false, wrong_ = false;
};

// DLPack's name for an element type: its code (DLDataTypeCode) and its bits. Specialise it for types of your own.
template <class T>
struct dlpack_type {
  static_assert(std::is_arithmetic_v<T>,
                "coalesce: DLPack has no name for this element type: specialise coalesce::dlpack_type for it");
  static constexpr int code = std::is_same_v<T, bool>       ? 6
                              : std::is_floating_point_v<T> ? 2
                              : std::is_signed_v<T>         ? 0
                                                            : 1;
  static constexpr int bits = 8 * sizeof(T);
};
template <>
struct dlpack_type<__half> {
  static constexpr int code = 2, bits = 16;
};
template <>
struct dlpack_type<__nv_bfloat16> {
  static constexpr int code = 4, bits = 16;
};
template <>
struct dlpack_type<float2> {  // cuComplex
  static constexpr int code = 5, bits = 64;
};
template <>
struct dlpack_type<double2> {
  static constexpr int code = 5, bits = 128;
};

// A tensor of another library. Refused: another element type, memory that the device cannot read (DLPack's device
// types 2 kDLCUDA, 3 kDLCUDAHost and 13 kDLCUDAManaged can be), more than max_rank axes.
template <class T, class Tensor>
status from_dlpack(const Tensor& tensor, view<T>& out) {
  using type = dlpack_type<std::remove_cv_t<T>>;
  const int device = static_cast<int>(tensor.device.device_type);
  if (device != 2 && device != 3 && device != 13) {
    return detail::refuse("the DLPack tensor is not in memory that a CUDA device reads: move it to the device first");
  }
  if (static_cast<int>(tensor.dtype.code) != type::code || static_cast<int>(tensor.dtype.bits) != type::bits ||
      tensor.dtype.lanes != 1) {
    return detail::refuse("the DLPack tensor's element type is not the view's: convert it, or use a view of its type");
  }
  if (tensor.ndim < 0 || tensor.ndim > max_rank)
    return detail::refuse("the DLPack tensor has more than 8 axes: merge some");
  const char* bytes = static_cast<const char*>(tensor.data) + tensor.byte_offset;
  out = view<T>(reinterpret_cast<const T*>(bytes), tensor.ndim, tensor.shape, tensor.strides);
  return {};
}

}  // namespace coalesce
