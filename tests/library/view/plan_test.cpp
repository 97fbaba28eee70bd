// Which kernel reduces which shape: the choice, without kernels. What is expected is the table of
// docs/internals/library-kernels.md.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <coalesce/detail/plan.cuh>
#include <string>
#include <vector>

namespace coalesce::detail {
namespace {

constexpr std::uintptr_t kAligned = 4096;

// The needs of sums of floats and of doubles, of positions and variances of floats, and of the products of two floats.
constexpr kind kSum = {4, 4, 1, 4, 4, 2, false, 4, 4}, kBytes = {1, 1, 1, 16, 1, 2, false, 8, 16};
constexpr kind kPosition = {4, 4, 1, 4, 4, 2, true, 4, 4}, kVariance = {4, 4, 1, 4, 4, 6, false, 2, 4};
constexpr kind kProducts = {8, 4, 2, 4, 8, 2, false, 4, 4};

device_facts h200() { return {0, 132, true}; }

reduction_layout layout_of(const std::vector<std::int64_t>& extents, unsigned reduced, bool indexed,
                           std::vector<std::int64_t> strides = {}) {
  const int rank = static_cast<int>(extents.size());
  if (strides.empty()) {
    strides.resize(extents.size());
    std::int64_t next = 1;
    for (std::size_t i = extents.size(); i-- > 0; next *= extents[i]) strides[i] = next;
  }
  reduction_layout l;
  EXPECT_TRUE(canonical(rank, extents.data(), strides.data(), strides.data(), reduced,
                        indexed ? order::indexed : order::free, l));
  return l;
}
plan plan_of(const kind& k, const std::vector<std::int64_t>& extents, unsigned reduced,
             const std::vector<std::int64_t>& strides = {}, std::uintptr_t address = kAligned) {
  return choose(k, layout_of(extents, reduced, k.indexed, strides), address, h200());
}
// Axes by their numbers.
constexpr unsigned axis_0 = 1, axis_1 = 2, axis_2 = 4, axis_3 = 8;

TEST(Plan, Rows) {
  EXPECT_EQ(plan_of(kSum, {1 << 20}, axis_0).kernel, shape_kernel::array);
  EXPECT_EQ(plan_of(kSum, {1000, 1000}, axis_0 | axis_1).kernel, shape_kernel::array);
  // Up to 768 bytes a row is a lane's; with positions longer ones are several lanes'.
  EXPECT_EQ(plan_of(kSum, {100000, 192}, axis_1).kernel, shape_kernel::shared_rows);
  EXPECT_EQ(plan_of(kSum, {100000, 193}, axis_1).kernel, shape_kernel::rows);
  EXPECT_EQ(plan_of(kSum, {100000, 192}, axis_1).form.log2_lanes, 0);
  EXPECT_EQ(plan_of(kPosition, {100000, 400}, axis_1).kernel, shape_kernel::shared_rows);
  EXPECT_EQ(plan_of(kPosition, {100000, 400}, axis_1).form.log2_lanes, 3);
  EXPECT_EQ(plan_of(kSum, {100000, 128}, axis_1).kernel, shape_kernel::rows);  // 32 vectors: a lane has one
  // With gaps: not through shared memory.
  EXPECT_EQ(plan_of(kSum, {100000, 100}, axis_1, {104, 1}).kernel, shape_kernel::rows);
  // Long, or few.
  EXPECT_EQ(plan_of(kSum, {100000, 8193}, axis_1).kernel, shape_kernel::long_rows);
  EXPECT_EQ(plan_of(kSum, {100000, 8192}, axis_1).kernel, shape_kernel::rows);
  EXPECT_EQ(plan_of(kSum, {255, 1000}, axis_1).kernel, shape_kernel::long_rows);
  EXPECT_EQ(plan_of(kSum, {256, 1000}, axis_1).kernel, shape_kernel::rows);
  EXPECT_EQ(plan_of(kSum, {10, 0}, axis_1).kernel, shape_kernel::nothing);
}

TEST(Plan, Columns) {
  EXPECT_EQ(plan_of(kSum, {16, 1000}, axis_0).kernel, shape_kernel::few_rows);
  EXPECT_EQ(plan_of(kSum, {1 << 20, 13}, axis_0).kernel, shape_kernel::dense_columns);
  EXPECT_EQ(plan_of(kSum, {1 << 20, 13}, axis_0).threads, 256);
  EXPECT_EQ(plan_of(kSum, {1 << 22, 100}, axis_0).threads, 512);
  EXPECT_EQ(plan_of(kSum, {1 << 19, 1000}, axis_0).threads, 1024);
  EXPECT_EQ(plan_of(kSum, {1 << 19, 1000}, axis_0, {1001, 1}).kernel, shape_kernel::columns);  // gaps
  EXPECT_EQ(plan_of(kSum, {16384, 16384}, axis_0).kernel, shape_kernel::wide_columns);
  EXPECT_EQ(plan_of(kSum, {16384, 16384}, axis_0).wide, wide_form::lines);
  EXPECT_EQ(plan_of(kSum, {16384, 16384}, axis_0, {}, kAligned + 4).kernel, shape_kernel::columns);
  EXPECT_EQ(plan_of(kSum, {16383, 16385}, axis_0).kernel, shape_kernel::columns);
  EXPECT_EQ(plan_of(kSum, {100, 2684354}, axis_0).wide, wide_form::pairs);
  EXPECT_EQ(plan_of(kSum, {31, 1000001}, axis_0).wide, wide_form::several);
  EXPECT_EQ(plan_of(kSum, {32, 1000001}, axis_0).wide, wide_form::single);
  EXPECT_EQ(plan_of(kBytes, {100, 2684352}, axis_0).wide, wide_form::packed);
  EXPECT_EQ(plan_of(kSum, {100000, 5, 3}, axis_1).kernel, shape_kernel::shared_middle);
  EXPECT_EQ(plan_of(kVariance, {1 << 20, 133}, axis_0).kernel, shape_kernel::columns);  // large states: no whole rows
}

TEST(Plan, MoreAxes) {
  // Aligned: vectors along the contiguous axis, whichever it is.
  EXPECT_EQ(plan_of(kSum, {64, 64, 256, 256}, axis_0 | axis_2).along, vector_axis::kept);
  EXPECT_EQ(plan_of(kSum, {64, 64, 256, 256}, axis_1 | axis_3).along, vector_axis::reduced);
  EXPECT_EQ(plan_of(kSum, {64, 64, 256, 256}, axis_1 | axis_3).kernel, shape_kernel::strided);
  // Not: rows and columns of two reduced axes.
  const plan columns = plan_of(kSum, {17, 61, 301, 811}, axis_0 | axis_2);
  EXPECT_EQ(columns.kernel, shape_kernel::columns);
  EXPECT_EQ(columns.outers, 17);
  EXPECT_EQ(columns.outer_stride, 61 * 301 * 811);
  EXPECT_EQ(columns.planes, 61);
  EXPECT_EQ(columns.rows, 301);
  EXPECT_TRUE(columns.dense);
  const plan rows = plan_of(kPosition, {1000, 37, 7001}, axis_0 | axis_2);
  EXPECT_EQ(rows.kernel, shape_kernel::nested_rows);
  EXPECT_EQ(rows.outers, 1000);
  EXPECT_EQ(rows.count, 7001);
  // Short rows of many groups are runs of columns, of which a tile has whole ones, in whole vectors.
  const plan runs = plan_of(kPosition, {18, 1807, 526, 11}, axis_0 | axis_1 | axis_3);
  EXPECT_EQ(runs.kernel, shape_kernel::columns);
  EXPECT_EQ(runs.run, 11);
  EXPECT_EQ(runs.rows, 18 * 1807);
  EXPECT_EQ(runs.columns, 526 * 11);
  EXPECT_EQ(plan_of(kSum, {1000, 37, 31}, axis_0 | axis_2).run, 31);
  EXPECT_EQ(plan_of(kSum, {1000, 37, 32}, axis_0 | axis_2).kernel, shape_kernel::nested_rows);
  EXPECT_EQ(plan_of(kSum, {1000, 37, 64}, axis_0 | axis_2).kernel, shape_kernel::nested_rows);
  EXPECT_EQ(plan_of(kSum, {1000, 37, 68}, axis_0 | axis_2).kernel, shape_kernel::strided);
  EXPECT_EQ(plan_of(kBytes, {1000, 37, 15}, axis_0 | axis_2).run, 15);
  EXPECT_EQ(plan_of(kBytes, {1000, 37, 17}, axis_0 | axis_2).run, 1);
  // Results enough for a lane each.
  const plan lanes = plan_of(kPosition, {3, 765 * 1544, 60}, axis_0 | axis_2);
  EXPECT_EQ(lanes.kernel, shape_kernel::shared_nested_rows);
  EXPECT_EQ(lanes.form.unit, 16);
  EXPECT_EQ(lanes.outers, 3);
  EXPECT_EQ(plan_of(kSum, {8, 1500000, 10}, axis_0 | axis_2).form.unit, 8);
  EXPECT_EQ(plan_of(kSum, {8, 1 << 17, 65}, axis_0 | axis_2).kernel, shape_kernel::nested_rows);
  EXPECT_EQ(plan_of(kBytes, {8, 1 << 17, 6}, axis_0 | axis_2).kernel, shape_kernel::strided);
  EXPECT_EQ(plan_of(kSum, {8, (1 << 17) - 1, 10}, axis_0 | axis_2).kernel, shape_kernel::strided);
  EXPECT_EQ(plan_of(kSum, {1 << 30, 1 << 17, 2}, axis_0 | axis_2).kernel, shape_kernel::columns);
  // Too short, too few, or three reduced axes apart.
  EXPECT_EQ(plan_of(kSum, {31, 37, 31}, axis_0 | axis_2).kernel, shape_kernel::strided);
  EXPECT_EQ(plan_of(kSum, {1000, 5, 3, 811}, axis_0 | axis_2).kernel, shape_kernel::strided);
  EXPECT_EQ(plan_of(kSum, {9, 5, 9, 5, 9, 811}, axis_0 | axis_2 | 1u << 4).kernel, shape_kernel::strided);
  // Positions that do not count up in memory's order: only where each is known.
  EXPECT_EQ(plan_of(kPosition, {37, 1000, 7001}, axis_1 | axis_2, {7001, 7001 * 37, 1}).kernel,
            shape_kernel::nested_rows);
  EXPECT_EQ(plan_of(kPosition, {1000, 37, 7001}, axis_0 | axis_2, {1, 7001 * 1000, 1000}).kernel,
            shape_kernel::strided);
}

TEST(Plan, TwoInputsThatDoNotLieAlike) {
  reduction_layout l = layout_of({300, 500}, axis_1, false);
  EXPECT_EQ(choose(kProducts, l, kAligned, h200()).kernel, shape_kernel::rows);
  l.reduced[0].other = 2;
  EXPECT_EQ(choose(kProducts, l, kAligned, h200()).kernel, shape_kernel::strided);
}

TEST(Plan, MoreElementsThanPositionsOf32Bits) {
  EXPECT_TRUE(plan_of(kSum, {1, 0xfffffffe}, axis_1).few);
  EXPECT_FALSE(plan_of(kSum, {1, 0xffffffff}, axis_1).few);
  EXPECT_EQ(plan_of(kSum, {0xffffffff, 2}, axis_0).kernel, shape_kernel::strided);
}

// The assumptions of a kernel hold for every shape that it is chosen for.
RC_GTEST_PROP(Plan, KeepsWhatKernelsRelyOn, ()) {
  const int rank = *rc::gen::inRange(1, 6);
  std::vector<std::int64_t> extents, strides(rank);
  for (int i = 0; i < rank; ++i) extents.push_back(*rc::gen::inRange<std::int64_t>(1, *rc::gen::element(3, 40, 5000)));
  std::int64_t next = 1;
  for (int i = rank - 1; i >= 0; --i) {
    strides[i] = next;
    next *= extents[i];
    if (*rc::gen::inRange(0, 4) == 0) next += *rc::gen::inRange(0, 8);
  }
  const kind k = **rc::gen::element(&kSum, &kBytes, &kPosition, &kVariance, &kProducts);
  const std::uintptr_t address = kAligned + k.first_bytes * *rc::gen::inRange(0, 64);
  const unsigned mask = *rc::gen::inRange(0u, 1u << rank);
  const reduction_layout l = layout_of(extents, mask, k.indexed, strides);
  const plan p = choose(k, l, address, h200());
  const auto aligned = [&](int width) { return address % (static_cast<std::uintptr_t>(width) * k.first_bytes) == 0; };
  switch (p.kernel) {
    case shape_kernel::nothing:
      RC_FAIL("there are elements");
    case shape_kernel::shared_rows:
      RC_ASSERT(k.inputs == 1 && p.count * k.bytes <= 6144 && p.count * k.bytes % p.form.unit == 0);
      RC_ASSERT(p.form.log2_lanes == 0 || (p.form.unit == 16 && aligned(16 / k.bytes)));
      [[fallthrough]];
    case shape_kernel::rows:
    case shape_kernel::long_rows:
    case shape_kernel::nested_rows:
      RC_ASSERT(p.count * p.outers == l.reduced_count);
      RC_ASSERT(l.reduced[l.reduced_rank - 1].stride == 1);
      break;
    case shape_kernel::shared_nested_rows:
      RC_ASSERT(p.count * p.outers == l.reduced_count && l.reduced_count <= INT32_MAX);
      RC_ASSERT(p.form.unit >= 4 && p.count * k.bytes % p.form.unit == 0 && p.count * k.bytes <= 256);
      RC_ASSERT(l.kept_rank == 1 && l.kept[0].stride == p.count && l.reduced[1].stride == 1);
      break;
    case shape_kernel::array:
      RC_ASSERT(l.kept_count == 1);
      break;
    case shape_kernel::dense_columns:
    case shape_kernel::shared_middle:
      RC_ASSERT(p.stride == p.columns);
      [[fallthrough]];
    case shape_kernel::few_rows:
    case shape_kernel::wide_columns:
    case shape_kernel::columns:
      RC_ASSERT(p.planes * p.columns == l.kept_count * p.run && p.outers * p.rows * p.run == l.reduced_count);
      RC_ASSERT(p.columns % p.run == 0 && (p.run == 1 || (p.kernel == shape_kernel::columns && p.outers == 1)));
      RC_ASSERT(p.outers == 1 || (p.kernel == shape_kernel::columns && p.outer_stride % p.stride == 0));
      break;
    case shape_kernel::strided:
      RC_ASSERT(p.along == vector_axis::none || aligned(p.along == vector_axis::kept ? k.kept_width : k.width));
      break;
  }
  if (p.kernel == shape_kernel::few_rows) RC_ASSERT(p.rows <= 16 && aligned(p.width) && p.stride % p.width == 0);
  if (p.kernel == shape_kernel::wide_columns && (p.wide == wide_form::pairs || p.wide == wide_form::lines)) {
    RC_ASSERT(aligned(2) && p.stride % 2 == 0 && p.columns % 2 == 0 && (p.planes == 1 || p.plane % 2 == 0));
  }
  // Only where the first element lies within a line counts.
  const plan again = choose(k, l, address + 1024, h200());
  RC_ASSERT(again.kernel == p.kernel && again.wide == p.wide && again.along == p.along && again.width == p.width);
}

}  // namespace
}  // namespace coalesce::detail
