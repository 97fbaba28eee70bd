// Which kernel reduces which shape.
#pragma once

#include <coalesce/detail/accumulators/extremes.cuh>
#include <coalesce/detail/shapes/columns.cuh>
#include <coalesce/detail/shapes/flat.cuh>
#include <coalesce/detail/shapes/long_rows.cuh>
#include <coalesce/detail/shapes/rows.cuh>
#include <coalesce/detail/shapes/shared_middle.cuh>
#include <coalesce/detail/shapes/shared_rows.cuh>
#include <coalesce/detail/shapes/strided.cuh>

namespace coalesce::detail {

// Whether results come out in the order in which the kernels of rows and columns write them, and positions count up
// along the reduced axis.
inline bool in_order(const reduction_layout& l) {
  if (l.kept_index != 0 || l.reduced_index != 0) return false;
  std::int64_t next = 1;
  for (int i = l.kept_rank - 1; i >= 0; --i) {
    if (l.kept[i].index != next) return false;
    next *= l.kept[i].extent;
  }
  return l.reduced_rank == 0 || l.reduced[l.reduced_rank - 1].index == 1;
}

template <class A, class Source>
status reduce_layout(const A& a, const Source& view_in, typename A::result* out, const reduction_layout& l,
                     cudaStream_t stream, workspace* work) {
  const Source in = view_in.from_both(l.offset, l.other_offset);
  const std::int64_t results = l.kept_count, count = l.reduced_count;
  constexpr std::int64_t size = Source::bytes;
  constexpr int longest = longest_shared_middle<typename A::element>;
  const typename of_few<A>::type b = of_few<A>::from(a);  // where a reduction cannot have 2^32 elements
  // Nothing to read: every result is that of nothing.
  if (count == 0) return launch_rows(b, in, out, results, 0, row_map(), stream);
  // Both inputs of a pair lie alike, or one by one it is.
  bool alike = true;
  for (int i = 0; i < l.kept_rank; ++i) alike = alike && (Source::inputs == 1 || l.kept[i].stride == l.kept[i].other);
  for (int i = 0; i < l.reduced_rank; ++i) {
    alike = alike && (Source::inputs == 1 || l.reduced[i].stride == l.reduced[i].other);
  }
  if (alike && (in_order(l) || (!A::indexed && l.kept_rank == 0)) && l.kept_rank <= 2 && l.reduced_rank <= 1) {
    const axis* inner = l.kept_rank > 0 ? &l.kept[l.kept_rank - 1] : nullptr;
    const axis* outer = l.kept_rank > 1 ? &l.kept[0] : nullptr;
    const axis* reduced = l.reduced_rank > 0 ? &l.reduced[0] : nullptr;
    const std::int64_t row_stride = inner ? inner->stride : 0;
    if (reduced && reduced->stride == 1) {
      row_map map;
      map.stride = row_stride;
      if (outer) {
        map.inner = inner->extent;
        map.plane = outer->stride;
      }
      const bool dense = !outer && (!inner || row_stride == count);
      if constexpr (Source::inputs == 1 && 16 % size == 0) {
        const row_form form =
            dense && results > 1 ? form_of_shared_rows<typename of_few<A>::type>(in, count) : row_form{0, 0};
        if (form.unit != 0) return launch_shared_rows(b, in, out, results, static_cast<int>(count), form, stream);
      }
      // A warp for a row while rows are short and many.
      if (count * size <= 32768 && results >= (count * size <= 4096 ? 256 : 16384)) {
        return launch_rows(b, in, out, results, count, map, stream);
      }
      const auto launch_long = [&](const auto& which) {
        return results == 1 ? launch_array(which, in, out, count, stream, work)
                            : launch_long_rows(which, in, out, count, results, map, stream, work);
      };
      return count < few ? launch_long(b) : launch_long(a);
    }
    if (inner && inner->stride == 1 && count < few) {
      const std::int64_t planes = outer ? outer->extent : 1, rows = reduced ? reduced->extent : 1;
      const std::int64_t stride = reduced ? reduced->stride : inner->extent;
      const std::int64_t stretch = rows * inner->extent;
      if constexpr (Source::inputs == 1) {
        if (outer && stretch <= longest && stride == inner->extent && outer->stride == stretch)
          return launch_shared_middle(b, in, out, planes, static_cast<int>(rows), static_cast<int>(inner->extent),
                                      stream);
      }
      return launch_columns(b, in, out, planes, outer ? outer->stride : 0, rows, stride, inner->extent, stream, work);
    }
  }
  if (count < few) return launch_strided(b, in, out, l, stream, work);
  return launch_strided(a, in, out, l, stream, work);
}

}  // namespace coalesce::detail
