// The library's host side that needs no device: views, sets of axes, and the simplest form of a reduction.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <coalesce/detail/layout.cuh>
#include <complex>
#include <map>
#include <vector>

namespace coalesce {
namespace {

using std::int64_t;

// A reduction as the caller sees it: `reduced` is a mask.
struct Case {
  std::vector<int64_t> extents, strides, others;
  unsigned reduced = 0;
};

// For every result, the elements that belong to it: {position among the reduced ones, offset in the first input, in the
// second}, in the order in which they are met.
struct Element {
  int64_t position, offset, other;
  auto operator<=>(const Element&) const = default;
};
using Elements = std::map<int64_t, std::vector<Element>>;

// The definition, axis by axis in row-major order.
Elements by_definition(const Case& c) {
  Elements result;
  int64_t all = 1;
  for (const int64_t extent : c.extents) all *= extent;
  for (int64_t i = 0; i < all; ++i) {
    int64_t rest = i, kept = 0, kept_size = 1, position = 0, position_size = 1, offset = 0, other = 0;
    for (int axis = static_cast<int>(c.extents.size()) - 1; axis >= 0; --axis) {
      const int64_t at = rest % c.extents[axis];
      rest /= c.extents[axis];
      offset += at * c.strides[axis];
      other += at * c.others[axis];
      int64_t& index = c.reduced >> axis & 1 ? position : kept;
      int64_t& size = c.reduced >> axis & 1 ? position_size : kept_size;
      index += at * size;
      size *= c.extents[axis];
    }
    result[kept].push_back({position, offset, other});
  }
  return result;
}

// Calls f(indices' sums of stride, other, index) for all of some axes, the last one fastest.
template <class F>
void loop(const axis* list, int rank, int64_t stride, int64_t other, int64_t index, const F& f) {
  if (rank == 0) {
    f(stride, other, index);
    return;
  }
  for (int64_t i = 0; i < list->extent; ++i) {
    loop(list + 1, rank - 1, stride + i * list->stride, other + i * list->other, index + i * list->index, f);
  }
}

Elements by_layout(const reduction_layout& layout) {
  Elements result;
  if (layout.kept_count == 0 || layout.reduced_count == 0) return result;
  loop(layout.kept, layout.kept_rank, layout.offset, layout.other_offset, layout.kept_index,
       [&](int64_t offset, int64_t other, int64_t out) {
         loop(layout.reduced, layout.reduced_rank, offset, other, layout.reduced_index,
              [&](int64_t element, int64_t second, int64_t position) {
                result[out].push_back({position, element, second});
              });
       });
  return result;
}

reduction_layout layout_of(const Case& c, order wanted) {
  reduction_layout layout;
  const status s = detail::canonical(static_cast<int>(c.extents.size()), c.extents.data(), c.strides.data(),
                                     c.others.data(), c.reduced, wanted, layout);
  EXPECT_TRUE(s.ok()) << s.message();
  return layout;
}

// Shapes of up to 5 axes of 0 to 4, mostly such as come up: permuted, reversed, sliced, broadcast; now and then any.
Case any_case() {
  Case c;
  const int rank = *rc::gen::inRange(0, 6);
  std::vector<int> places(rank);
  for (int i = 0; i < rank; ++i) places[i] = i;
  for (int i = rank - 1; i > 0; --i) std::swap(places[i], places[*rc::gen::inRange(0, i + 1)]);
  c.extents.resize(rank), c.strides.resize(rank), c.others.resize(rank);
  int64_t step = 1, other = 1;
  for (const int axis : places) {
    c.extents[axis] =
        *rc::gen::weightedOneOf<int64_t>({{1, rc::gen::just<int64_t>(0)}, {20, rc::gen::inRange<int64_t>(1, 5)}});
    c.strides[axis] = step;
    c.others[axis] = other;
    const int kind = *rc::gen::inRange(0, 10);
    if (kind == 0) c.strides[axis] = -step;
    if (kind == 1) c.strides[axis] = 0;
    if (kind == 2) c.others[axis] = 0;
    if (kind == 3) c.others[axis] = -other;
    if (kind == 4) c.strides[axis] = *rc::gen::inRange<int64_t>(-5, 6);
    step *= std::max<int64_t>(c.extents[axis], 1) * (kind == 5 ? 2 : 1);
    other *= std::max<int64_t>(c.extents[axis], 1) * (kind == 6 ? 2 : 1);
  }
  c.reduced = *rc::gen::inRange(0u, 1u << rank);
  return c;
}

// Every property looks at so many cases a run: RapidCheck's hundred runs alone miss rare combinations.
constexpr int kCases = 30;

void reads_the_same(const Case& c);
RC_GTEST_PROP(Layout, ReadsTheSameElementsForTheSameResults, ()) {
  for (int i = 0; i < kCases; ++i) reads_the_same(any_case());
}

void reads_the_same(const Case& c) {
  Elements expected = by_definition(c);
  for (const order wanted : {order::free, order::indexed, order::kept}) {
    Elements found = by_layout(layout_of(c, wanted));
    Elements sorted = expected;
    if (wanted != order::kept) {
      for (Elements* elements : {&found, &sorted}) {
        for (auto& [result, list] : *elements) {
          if (wanted == order::free) {
            for (Element& e : list) e.position = 0;  // no kernel reads it
          }
          std::sort(list.begin(), list.end());
        }
      }
    } else {
      // In row-major order; by_layout need not keep the positions, and no kernel reads them.
      for (Elements* elements : {&found, &sorted}) {
        for (auto& [result, list] : *elements) {
          for (Element& e : list) e.position = 0;
        }
      }
    }
    RC_ASSERT(found == sorted);
  }
}

void has_no_axis_that_could_go(const Case& c);
RC_GTEST_PROP(Layout, HasNoAxisThatCouldGo, ()) {
  for (int i = 0; i < kCases; ++i) has_no_axis_that_could_go(any_case());
}

void has_no_axis_that_could_go(const Case& c) {
  for (const order wanted : {order::free, order::indexed, order::kept}) {
    const reduction_layout layout = layout_of(c, wanted);
    const auto look = [&](const axis* list, int rank, bool index_matters, bool sorted) {
      for (int i = 0; i < rank; ++i) {
        RC_ASSERT(list[i].extent > 1);
        if (sorted) RC_ASSERT(list[i].stride >= 0);
        if (i == 0) continue;
        const axis &outer = list[i - 1], &inner = list[i];
        RC_ASSERT(!(outer.stride == inner.stride * inner.extent && outer.other == inner.other * inner.extent &&
                    (!index_matters || outer.index == inner.index * inner.extent)));
        if (sorted) RC_ASSERT(outer.stride == 0 || (inner.stride != 0 && outer.stride >= inner.stride));
      }
    };
    look(layout.kept, layout.kept_rank, true, true);
    look(layout.reduced, layout.reduced_rank, wanted != order::free, wanted != order::kept);
  }
}

// The properties by which a kernel is chosen, for the shapes that programs have.
struct Form {
  int64_t kept, reduced;
  int kept_rank, reduced_rank;
  int64_t kept_stride, reduced_stride;  // of the fastest axis, 0 where there is none
  bool operator==(const Form&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Form& f) {
  return out << f.kept << " kept (" << f.kept_rank << " axes, stride " << f.kept_stride << "), " << f.reduced
             << " reduced (" << f.reduced_rank << " axes, stride " << f.reduced_stride << ")";
}

Form form(const view<float>& v, axes reduced, order wanted = order::free) {
  reduction_layout l;
  detail::span bytes;
  const status s = canonical(v, reduced, wanted, l, bytes);
  EXPECT_TRUE(s.ok()) << s.message();
  return {l.kept_count,
          l.reduced_count,
          l.kept_rank,
          l.reduced_rank,
          l.kept_rank ? l.kept[l.kept_rank - 1].stride : 0,
          l.reduced_rank ? l.reduced[l.reduced_rank - 1].stride : 0};
}

alignas(16) const float memory[4] = {};

TEST(Layout, ShapesThatPeopleHave) {
  const float* p = memory;
  EXPECT_EQ(form({p, 1000}, {0}), (Form{1, 1000, 0, 1, 0, 1}));
  EXPECT_EQ(form({p, {2, 3, 4, 5}}, axes::all()), (Form{1, 120, 0, 1, 0, 1})) << "all of an array is flat";
  EXPECT_EQ(form({p, {7, 9}}, {1}), (Form{7, 9, 1, 1, 9, 1})) << "rows";
  EXPECT_EQ(form({p, {7, 9}}, {0}), (Form{9, 7, 1, 1, 1, 9})) << "columns";
  EXPECT_EQ(form({p, {2, 3, 4, 5}}, {-1, -2}), (Form{6, 20, 1, 1, 20, 1})) << "rows of several axes";
  EXPECT_EQ(form({p, {2, 3, 4, 5}}, {0, 1}), (Form{20, 6, 1, 1, 1, 20})) << "columns of several axes";
  EXPECT_EQ(form({p, {2, 3, 4}}, {1}), (Form{8, 3, 2, 1, 1, 4})) << "a middle axis";
  EXPECT_EQ(form({p, {2, 3, 4}}, {0, 2}), (Form{3, 8, 1, 2, 4, 1})) << "a middle axis kept";
  EXPECT_EQ(form({p, {7, 9}, {1, 7}}, {1}), (Form{7, 9, 1, 1, 1, 7})) << "column-major: rows are columns";
  EXPECT_EQ(form({p + 3, {4}, {-1}}, {0}), (Form{1, 4, 0, 1, 0, 1})) << "backwards is forwards";
  EXPECT_EQ(form({p, {3, 4}, {-4, 1}}, axes::all()), (Form{1, 12, 0, 1, 0, 1})) << "rows from the last to the first";
  EXPECT_EQ(form({p, {3, 4}, {-4, 1}}, axes::all(), order::kept), (Form{1, 12, 0, 2, 0, 1})) << "unless order counts";
  EXPECT_EQ(form({p, {3, 4}, {-4, 1}}, axes::all(), order::indexed), (Form{1, 12, 0, 2, 0, 1})) << "or the index";
  EXPECT_EQ(form({p, {3, 4}, {1, 3}}, axes::all()), (Form{1, 12, 0, 1, 0, 1})) << "a transposed array is as flat";
  EXPECT_EQ(form({p, {5, 4}, {0, 1}}, {0}), (Form{4, 5, 1, 1, 1, 0})) << "a broadcast axis";
  EXPECT_EQ(form({p, {1, 6, 1}}, {0, 2}), (Form{6, 1, 1, 0, 1, 0})) << "axes of 1 are none";
  EXPECT_EQ(form({p, {}}, {}), (Form{1, 1, 0, 0, 0, 0})) << "one element";
  EXPECT_EQ(form({p, {3, 0, 4}}, {1}), (Form{12, 0, 0, 0, 0, 0})) << "nothing for each of 12 results";
  EXPECT_EQ(form({p, {0, 4}}, {1}), (Form{0, 4, 0, 0, 0, 0})) << "no results";
}

TEST(Layout, TheBytesAViewTouches) {
  const auto touched = [](const view<float>& v) {
    reduction_layout l;
    detail::span s;
    EXPECT_TRUE(canonical(v, axes::all(), order::free, l, s).ok());
    const auto base = reinterpret_cast<std::uintptr_t>(memory);
    return std::pair<int64_t, int64_t>(s.begin - base, s.end - base);
  };
  EXPECT_EQ(touched({memory, {2, 2}}), std::pair(int64_t{0}, int64_t{16}));
  EXPECT_EQ(touched({memory, {2, 3}, {2, 0}}), std::pair(int64_t{0}, int64_t{12}));
  EXPECT_EQ(touched({memory + 3, {2, 2}, {-2, -1}}), std::pair(int64_t{0}, int64_t{16}));
}

std::string refusal(const view<float>& v, axes reduced) {
  reduction_layout l;
  detail::span s;
  const status result = canonical(v, reduced, order::free, l, s);
  EXPECT_FALSE(result.ok());
  EXPECT_EQ(result.error(), cudaErrorInvalidValue);
  return result.message();
}

TEST(Layout, RefusesWhatIsNoView) {
  using testing::HasSubstr;
  const int64_t huge = int64_t{1} << 40;
  EXPECT_THAT(refusal({memory, {2, 3}}, {2}), HasSubstr("out of range"));
  EXPECT_THAT(refusal({memory, {2, 3}}, {-3}), HasSubstr("out of range"));
  EXPECT_THAT(refusal({memory, {2, 3}}, {99}), HasSubstr("out of range"));
  EXPECT_THAT(refusal({memory, {2, 3}}, {1, 1}), HasSubstr("twice"));
  EXPECT_THAT(refusal({memory, {2, 3}}, {1, -1}), HasSubstr("twice"));
  EXPECT_THAT(refusal({memory, {2, -3}}, {1}), HasSubstr("negative"));
  EXPECT_THAT(refusal({memory, {2, 3}, {1}}, {1}), HasSubstr("as many strides as extents"));
  EXPECT_THAT(refusal({memory, {1, 1, 1, 1, 1, 1, 1, 1, 1}}, {1}), HasSubstr("8 axes"));
  EXPECT_THAT(refusal({nullptr, {2, 3}}, {1}), HasSubstr("null"));
  EXPECT_THAT(refusal({memory, {huge, huge}}, {1}), HasSubstr("63 bits"));
  EXPECT_THAT(refusal({memory, {huge, huge}, {0, 0}}, {0, 1}), HasSubstr("63 bits"));
  EXPECT_THAT(refusal({memory, {4, 2}, {INT64_MIN, 1}}, {0}), HasSubstr("63 bits"));
  const auto* odd = reinterpret_cast<const float*>(reinterpret_cast<const char*>(memory) + 1);
  EXPECT_THAT(refusal({odd, {2, 1}}, {1}), HasSubstr("aligned"));
  EXPECT_EQ(form({nullptr, {0, 3}}, {1}), (Form{0, 3, 0, 0, 0, 0})) << "no elements need no memory";
}

// The members of std::mdspan (C++23) that a view is made from.
struct Mdspan {
  const float* p;
  int64_t extents[2], strides[2];
  bool strided = true;
  static constexpr std::size_t rank() { return 2; }
  const float* data_handle() const { return p; }
  int64_t extent(std::size_t i) const { return extents[i]; }
  int64_t stride(std::size_t i) const { return strides[i]; }
  bool is_strided() const { return strided; }
};

TEST(View, IsMadeOfWhatLooksLikeAnMdspan) {
  const view<float> v = Mdspan{memory, {2, 3}, {1, 2}};
  EXPECT_EQ(v.data, memory);
  EXPECT_EQ(form(v, {1}), (Form{2, 3, 1, 1, 1, 2}));
  EXPECT_THAT(refusal(Mdspan{memory, {2, 3}, {1, 2}, false}, {1}), testing::HasSubstr("strides"));
}

// DLPack's DLTensor, by its fields.
struct Tensor {
  void* data;
  struct {
    int device_type, device_id;
  } device;
  int ndim;
  struct {
    std::uint8_t code, bits;
    std::uint16_t lanes;
  } dtype;
  int64_t* shape;
  int64_t* strides;
  std::uint64_t byte_offset;
};

TEST(View, IsMadeOfDlpacksFields) {
  using testing::HasSubstr;
  float values[8] = {};
  int64_t shape[] = {2, 3}, strides[] = {1, 2};
  Tensor tensor{values, {2, 0}, 2, {2, 32, 1}, shape, nullptr, 8};
  view<float> v;
  ASSERT_TRUE(from_dlpack(tensor, v).ok());
  EXPECT_EQ(v.data, values + 2) << "byte_offset";
  EXPECT_EQ(form(v, {1}), (Form{2, 3, 1, 1, 3, 1})) << "no strides: row-major";
  tensor.strides = strides;
  ASSERT_TRUE(from_dlpack(tensor, v).ok());
  EXPECT_EQ(form(v, {1}), (Form{2, 3, 1, 1, 1, 2}));

  Tensor bad = tensor;
  bad.device.device_type = 1;
  EXPECT_THAT(from_dlpack(bad, v).message(), HasSubstr("device"));
  bad = tensor;
  bad.dtype.bits = 64;
  EXPECT_THAT(from_dlpack(bad, v).message(), HasSubstr("element type"));
  bad = tensor;
  bad.dtype.lanes = 4;
  EXPECT_THAT(from_dlpack(bad, v).message(), HasSubstr("element type"));
  bad = tensor;
  bad.ndim = 9;
  EXPECT_THAT(from_dlpack(bad, v).message(), HasSubstr("axes"));
}

TEST(View, DlpackNamesOfTypes) {
  const auto name = [](auto type) { return std::pair(decltype(type)::code, decltype(type)::bits); };
  EXPECT_EQ(name(dlpack_type<std::int8_t>()), std::pair(0, 8));
  EXPECT_EQ(name(dlpack_type<std::uint64_t>()), std::pair(1, 64));
  EXPECT_EQ(name(dlpack_type<double>()), std::pair(2, 64));
  EXPECT_EQ(name(dlpack_type<__half>()), std::pair(2, 16));
  EXPECT_EQ(name(dlpack_type<__nv_bfloat16>()), std::pair(4, 16));
  EXPECT_EQ(name(dlpack_type<float2>()), std::pair(5, 64));
  EXPECT_EQ(name(dlpack_type<bool>()), std::pair(6, 8));
}

}  // namespace
}  // namespace coalesce
