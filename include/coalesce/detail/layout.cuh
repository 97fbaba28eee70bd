// A reduction's shape, brought to the simplest form that reads the same elements: what the shape kernels are chosen by.
// Host code; no kernels.
#pragma once

#include <coalesce/types/view.cuh>

namespace coalesce {

// One loop over elements.
struct axis {
  std::int64_t extent;
  std::int64_t stride;  // elements of the input from one to the next; 0: the same again
  std::int64_t other;   // the same of the second input; 0 where there is none
  std::int64_t index;   // kept: elements of `out`; reduced: row-major position among the reduced ones (for arg*)
};

// Element (k..., r...) of the input is data[offset + sum of k * kept.stride + sum of r * reduced.stride]; its result
// goes to out[kept_index + sum of k * kept.index], its position is reduced_index + sum of r * reduced.index.
struct reduction_layout {
  std::int64_t kept_count = 1, reduced_count = 1;  // one of them 0: there are no axes below, and nothing to read
  int kept_rank = 0, reduced_rank = 0;
  axis kept[max_rank] = {}, reduced[max_rank] = {};  // slowest first: the last one has the smallest stride
  std::int64_t offset = 0, other_offset = 0;         // axes with negative strides are turned round
  std::int64_t kept_index = 0, reduced_index = 0;
};

enum class order {
  free,     // the reduced elements may come in any order (sum, min)
  indexed,  // in any order, but `index` must stay right (argmin)
  kept      // as they are, row-major (an operation that does not commute)
};

namespace detail {

constexpr std::int64_t magnitude(std::int64_t stride) { return stride < 0 ? -stride : stride; }

// Starts the axis at its other end, so that its stride is positive.
inline void turn_round(axis& a, std::int64_t& offset, std::int64_t& other_offset, std::int64_t& index) {
  if (a.stride > 0 || (a.stride == 0 && a.other >= 0)) return;
  offset += a.stride * (a.extent - 1);
  other_offset += a.other * (a.extent - 1);
  index += a.index * (a.extent - 1);
  a.stride = -a.stride;
  a.other = -a.other;
  a.index = -a.index;
}

// Slowest first. Insertion, so that equal ones stay in order. An axis that repeats (stride 0) is slowest of all, and
// does not stand between the vector loads and the axis they run along.
inline void sort_axes(axis* list, int rank) {
  const auto slower = [](const axis& a, const axis& b) {
    const std::int64_t x = magnitude(a.stride), y = magnitude(b.stride);
    if (x != y) return x == 0 || (y != 0 && x > y);
    return magnitude(a.other) > magnitude(b.other);
  };
  for (int i = 1; i < rank; ++i) {
    const axis moved = list[i];
    int place = i;
    for (; place > 0 && slower(moved, list[place - 1]); --place) list[place] = list[place - 1];
    list[place] = moved;
  }
}

// Makes one axis of two where the outer one goes on exactly where the inner one ends. Returns how many are left.
inline int merge_axes(axis* list, int rank, bool index_matters) {
  int count = 0;
  for (int i = 0; i < rank; ++i) {
    const axis inner = list[i];
    if (count > 0) {
      axis& outer = list[count - 1];
      if (outer.stride == inner.stride * inner.extent && outer.other == inner.other * inner.extent &&
          (!index_matters || outer.index == inner.index * inner.extent)) {
        outer = {outer.extent * inner.extent, inner.stride, inner.other, inner.index};
        continue;
      }
    }
    list[count++] = inner;
  }
  return count;
}

// The bytes that a view touches, from its lowest to its highest element; false when they cannot be addressed.
inline bool reach(int rank, const std::int64_t* extents, const std::int64_t* strides, std::int64_t size,
                  std::int64_t& lowest, std::int64_t& highest) {
  lowest = highest = 0;
  for (int i = 0; i < rank; ++i) {
    std::int64_t way = 0;
    if (strides[i] == INT64_MIN || !multiply(magnitude(strides[i]), extents[i] - 1, way)) return false;
    std::int64_t& end = strides[i] < 0 ? lowest : highest;
    if (way > INT64_MAX / size / 2 - magnitude(end)) return false;
    end += strides[i] < 0 ? -way : way;
  }
  return true;
}

// `other` null: one input.
inline status canonical(int rank, const std::int64_t* extents, const std::int64_t* strides, const std::int64_t* other,
                        unsigned reduced_mask, order wanted, reduction_layout& out) {
  out = {};
  for (int i = rank - 1; i >= 0; --i) {
    const bool reduced = reduced_mask >> i & 1;
    std::int64_t& count = reduced ? out.reduced_count : out.kept_count;
    if (extents[i] > 1) {
      (reduced ? out.reduced[out.reduced_rank++] : out.kept[out.kept_rank++]) = {extents[i], strides[i],
                                                                                 other ? other[i] : 0, count};
    }
    if (!multiply(count, extents[i], count)) return refuse("the extents multiply to more than 63 bits hold");
  }
  if (out.kept_count == 0 || out.reduced_count == 0) {
    out.kept_rank = out.reduced_rank = 0;
    return {};
  }
  for (int i = 0, j = out.kept_rank - 1; i < j; ++i, --j) std::swap(out.kept[i], out.kept[j]);
  for (int i = 0, j = out.reduced_rank - 1; i < j; ++i, --j) std::swap(out.reduced[i], out.reduced[j]);

  for (int i = 0; i < out.kept_rank; ++i) turn_round(out.kept[i], out.offset, out.other_offset, out.kept_index);
  sort_axes(out.kept, out.kept_rank);
  out.kept_rank = merge_axes(out.kept, out.kept_rank, true);
  if (wanted != order::kept) {
    for (int i = 0; i < out.reduced_rank; ++i) {
      turn_round(out.reduced[i], out.offset, out.other_offset, out.reduced_index);
    }
    sort_axes(out.reduced, out.reduced_rank);
  }
  out.reduced_rank = merge_axes(out.reduced, out.reduced_rank, wanted != order::free);
  return {};
}

// The check of every function that takes a view. `bytes`: the bytes it touches, for check_apart.
template <class T>
status check_view(const view<T>& in, span& bytes) {
  bytes = {};
  if (in.rank < 0) return refuse("a view has as many strides as extents, and a layout that strides describe");
  if (in.rank > max_rank) return refuse("a view has 8 axes at most: merge some");
  for (int i = 0; i < in.rank; ++i) {
    if (in.extents[i] < 0) return refuse("an extent of the view is negative");
  }
  for (int i = 0; i < in.rank; ++i) {
    if (in.extents[i] == 0) return {};
  }
  std::int64_t lowest = 0, highest = 0;
  if (!reach(in.rank, in.extents, in.strides, sizeof(T), lowest, highest)) {
    return refuse("extents and strides of the view reach further than 63 bits of bytes");
  }
  if (!in.data) return refuse("the view's data is null: pass device memory");
  if (!aligned(in.data))
    return refuse("the view's data is not aligned to its element type: offset it by whole elements");
  bytes.begin = reinterpret_cast<std::uintptr_t>(in.data + lowest);
  bytes.end = reinterpret_cast<std::uintptr_t>(in.data + highest + 1);
  return {};
}

}  // namespace detail

// The simplest layout for reducing `in` over `reduced`. `bytes`: the range that `in` touches.
template <class T>
status canonical(const view<T>& in, axes reduced, order wanted, reduction_layout& out, detail::span& bytes) {
  unsigned mask = 0;
  if (status s = detail::check_view(in, bytes); !s) return s;
  if (status s = reduced.resolve(in.rank, mask); !s) return s;
  return detail::canonical(in.rank, in.extents, in.strides, nullptr, mask, wanted, out);
}

// Two inputs of the same shape, read together.
template <class A, class B>
status canonical(const view<A>& a, const view<B>& b, axes reduced, order wanted, reduction_layout& out,
                 detail::span& a_bytes, detail::span& b_bytes) {
  unsigned mask = 0;
  if (status s = detail::check_view(a, a_bytes); !s) return s;
  if (status s = detail::check_view(b, b_bytes); !s) return s;
  bool same = a.rank == b.rank;
  for (int i = 0; same && i < a.rank; ++i) same = a.extents[i] == b.extents[i];
  if (!same) return detail::refuse("the two views differ in shape: broadcast with strides of 0 to make them alike");
  if (status s = reduced.resolve(a.rank, mask); !s) return s;
  return detail::canonical(a.rank, a.extents, a.strides, b.strides, mask, wanted, out);
}

namespace detail {

// Whether results come out in the order in which the kernels of rows and columns write them, and positions count up
// along the reduced axes.
inline bool in_order(const reduction_layout& l) {
  if (l.kept_index != 0 || l.reduced_index != 0) return false;
  const auto row_major = [](const axis* list, int rank) {
    std::int64_t next = 1;
    for (int i = rank - 1; i >= 0; --i) {
      if (list[i].index != next) return false;
      next *= list[i].extent;
    }
    return true;
  };
  return row_major(l.kept, l.kept_rank) && row_major(l.reduced, l.reduced_rank);
}

// Whether there are as many elements as places from the first to the last. (Axes that repeat may have more of them than
// fit in 64 bits: then some number.)
inline bool is_without_gaps(const reduction_layout& l) {
  std::uint64_t last = 0;
  for (int i = 0; i < l.kept_rank; ++i) last += static_cast<std::uint64_t>((l.kept[i].extent - 1) * l.kept[i].stride);
  for (int i = 0; i < l.reduced_rank; ++i) {
    last += static_cast<std::uint64_t>((l.reduced[i].extent - 1) * l.reduced[i].stride);
  }
  return last + 1 == static_cast<std::uint64_t>(l.kept_count) * static_cast<std::uint64_t>(l.reduced_count);
}

// Whether neighbouring threads have elements of one result: a reduced axis has the smallest stride.
inline bool goes_along_reduced(const reduction_layout& l) {
  const auto smallest = [](const axis* list, int rank) {
    return rank == 0 || list[rank - 1].stride == 0 ? INT64_MAX : magnitude(list[rank - 1].stride);
  };
  return smallest(l.reduced, l.reduced_rank) < smallest(l.kept, l.kept_rank);
}

}  // namespace detail
}  // namespace coalesce
