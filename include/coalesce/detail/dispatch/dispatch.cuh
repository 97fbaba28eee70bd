// Starts the kernel that plan.cuh chooses.
#pragma once

#include <coalesce/detail/accumulators/extremes.cuh>
#include <coalesce/detail/plan.cuh>
#include <coalesce/detail/shapes/columns.cuh>
#include <coalesce/detail/shapes/flat.cuh>
#include <coalesce/detail/shapes/long_rows.cuh>
#include <coalesce/detail/shapes/nested_rows.cuh>
#include <coalesce/detail/shapes/rows.cuh>
#include <coalesce/detail/shapes/shared_middle.cuh>
#include <coalesce/detail/shapes/shared_nested_rows.cuh>
#include <coalesce/detail/shapes/shared_rows.cuh>
#include <coalesce/detail/shapes/strided.cuh>

namespace coalesce::detail {

template <class A, class Source>
constexpr kind kind_of() {
  return {Source::bytes,
          Source::first_bytes,
          Source::inputs,
          Source::width,
          static_cast<int>(sizeof(typename A::element)),
          shape<A>::state_words,
          A::indexed,
          vector_of_states<A, Source>,
          columns_width<A, Source>};
}

// `from`: where a call's view begins; it is told apart from `in`, which has the layout's offsets.
template <class A, class Source>
status start(const plan& p, const A& a, const Source& from, typename A::result* out, const reduction_layout& l,
             cudaStream_t stream, workspace* work) {
  const Source in = from.from_both(l.offset, l.other_offset);
  const std::int64_t results = l.kept_count;
  const row_map map = {p.stride, p.inner, p.plane};
  switch (p.kernel) {
    case shape_kernel::nothing:
    case shape_kernel::rows:
      return launch_rows(a, in, out, results, p.count, map, stream);
    case shape_kernel::shared_rows:
      if constexpr (Source::inputs == 1 && 16 % Source::bytes == 0) {
        return launch_shared_rows(a, in, out, results, static_cast<int>(p.count), p.form, stream);
      }
      break;
    case shape_kernel::array:
      return launch_array(a, in, out, p.count, stream, work);
    case shape_kernel::long_rows:
      return launch_long_rows(a, in, out, p.count, results, map, stream, work);
    case shape_kernel::shared_middle:
      if constexpr (Source::inputs == 1) {
        return launch_shared_middle(a, in, out, p.planes, static_cast<int>(p.rows), static_cast<int>(p.columns),
                                    stream);
      }
      break;
    case shape_kernel::dense_columns:
      return launch_dense_columns(a, in, out, p, stream, work);
    case shape_kernel::few_rows:
    case shape_kernel::wide_columns:
      return launch_wide_columns(a, in, out, p, stream, work);
    case shape_kernel::columns:
      return launch_columns(a, in, out, p, stream, work);
    case shape_kernel::nested_rows:
      return launch_nested_rows(a, in, out, results, map, p, stream, work);
    case shape_kernel::shared_nested_rows:
      if constexpr (Source::inputs == 1 && 16 % Source::bytes == 0) {
        return launch_shared_nested_rows(a, in, out, results, p, stream);
      }
      break;
    case shape_kernel::strided:
      return launch_strided(a, in, out, l, p.along, stream, work);
  }
  return refuse("no kernel has this shape: please report it");
}

template <class A, class Source>
status reduce_layout(const A& a, const Source& in, typename A::result* out, const reduction_layout& l,
                     cudaStream_t stream, workspace* work) {
  device_facts device;
  if (const status s = current_device(device); !s) return s;
  const std::uintptr_t address = in.first_address(l.offset);
  using smaller = typename of_few<A>::type;  // where a reduction cannot have 2^32 elements
  if (l.reduced_count < few) {
    return start(choose(kind_of<smaller, Source>(), l, address, device), of_few<A>::from(a), in, out, l, stream, work);
  }
  return start(choose(kind_of<A, Source>(), l, address, device), a, in, out, l, stream, work);
}

}  // namespace coalesce::detail
