// Axes of views: shapes of every class around the kernels' boundaries, then random ones with random axes and strides,
// each result against a loop over the elements that belong to it.
//
// The tests in CI compile it for few functions; with -DTYPE=double that type is tried, and more (./dev gpu-test).
#include <algorithm>
#include <coalesce/reduce.cuh>

#include "reference.h"

namespace {

using coalesce::axes;
using coalesce::view;

struct Shape {
  std::vector<i64> extents, strides;  // strides in elements; empty: row-major
  std::vector<int> reduced;
  int shift = 0;
};

std::string text(const Shape& s, const char* type) {
  std::string line = std::string(type) + " [";
  for (std::size_t i = 0; i < s.extents.size(); ++i) {
    line += (i ? " x " : "") + std::to_string(s.extents[i]);
    if (!s.strides.empty()) line += ":" + std::to_string(s.strides[i]);
  }
  line += "] over axes";
  for (const int axis : s.reduced) line += " " + std::to_string(axis);
  return line + ", shifted by " + std::to_string(s.shift);
}

Shape with_strides(Shape s) {
  if (!s.strides.empty()) return s;
  i64 next = 1;
  s.strides.resize(s.extents.size());
  for (std::size_t i = s.extents.size(); i-- > 0; next *= std::max<i64>(s.extents[i], 1)) s.strides[i] = next;
  return s;
}

axes axes_of(const Shape& s) {
  const std::vector<int>& r = s.reduced;
  switch (r.size()) {
    case 0:
      return {};
    case 1:
      return {r[0]};
    case 2:
      return {r[0], r[1]};
    case 3:
      return {r[0], r[1], r[2]};
    case 4:
      return {r[0], r[1], r[2], r[3]};
    default:
      return axes::all();
  }
}

// An array on the device for a shape, and where its element (0, 0, ...) is.
template <class T>
struct Data {
  std::vector<T> host;
  Array<T> device;
  i64 start;

  static i64 lowest(const Shape& s) {
    i64 low = 0;
    for (std::size_t i = 0; i < s.extents.size(); ++i) low += std::min<i64>(0, s.strides[i] * (s.extents[i] - 1));
    return low;
  }
  static i64 size(const Shape& s) {
    i64 high = 1;
    for (std::size_t i = 0; i < s.extents.size(); ++i) {
      if (s.extents[i] == 0) return 0;
      high += std::max<i64>(0, s.strides[i] * (s.extents[i] - 1));
    }
    return high - lowest(s);
  }
  Data(const Shape& s, Random& random)
      : host(values<T>(size(s), random)), device(host, s.shift), start(host.empty() ? 0 : -lowest(s)) {}
  view<T> of(const Shape& s) const {
    return view<T>(device.get() + start, static_cast<int>(s.extents.size()), s.extents.data(), s.strides.data());
  }
};

i64 results_of(const Shape& s) {
  i64 results = 1;
  for (std::size_t i = 0; i < s.extents.size(); ++i) {
    if (std::find(s.reduced.begin(), s.reduced.end(), static_cast<int>(i)) == s.reduced.end()) results *= s.extents[i];
  }
  return results;
}

// Calls f(result, offset from the element (0, 0, ...)) for every element, row-major.
template <class F>
void for_each(const Shape& s, const F& f) {
  i64 all = 1;
  for (const i64 extent : s.extents) all *= extent;
  const int rank = static_cast<int>(s.extents.size());
  for (i64 i = 0; i < all; ++i) {
    i64 rest = i, offset = 0, result = 0, step = 1;
    for (int axis = rank - 1; axis >= 0; --axis) {
      const i64 at = rest % s.extents[axis];
      rest /= s.extents[axis];
      offset += at * s.strides[axis];
      if (std::find(s.reduced.begin(), s.reduced.end(), axis) == s.reduced.end()) {
        result += at * step;
        step *= s.extents[axis];
      }
    }
    f(result, offset);
  }
}

template <class T>
std::vector<Facts<T>> facts_of(const Shape& s, const Data<T>& data) {
  std::vector<Facts<T>> all(results_of(s));
  for_each(s, [&](i64 result, i64 offset) { all[result].add(data.host[data.start + offset]); });
  return all;
}

// The default result type of a sum of T.
template <class T>
using wide_of = std::conditional_t<floating<T>, T, std::conditional_t<std::is_unsigned_v<T>, std::uint64_t, i64>>;

template <class T>
void check_sum(const Shape& s, Random& random) {
  const Data<T> data(s, random);
  const auto facts = facts_of(s, data);
  using wide = wide_of<T>;
  Array<wide> out(static_cast<i64>(facts.size()));
  CALL(coalesce::sum(data.of(s), axes_of(s), out.get()));
  const std::vector<wide> results = out.download();
  const What what{text(s, type_name<T>())};
  for (std::size_t i = 0; i < results.size(); ++i) {
    if constexpr (floating<T>) {
      expect_near(results[i], facts[i].sum, sum_bound(facts[i]), "sum", what);
    } else {
      expect_same(results[i], static_cast<wide>(facts[i].wrapped), "sum", what);
    }
  }
}

template <class T>
void check_argmin(const Shape& s, Random& random) {
  const Data<T> data(s, random);
  const auto facts = facts_of(s, data);
  if (!facts.empty() && facts[0].count == 0) return;  // refused; see edges.cu
  Array<i64> out(static_cast<i64>(facts.size()));
  CALL(coalesce::argmin(data.of(s), axes_of(s), out.get()));
  const std::vector<i64> results = out.download();
  for (std::size_t i = 0; i < results.size(); ++i) {
    EXPECT(results[i] == facts[i].lowest_at, "argmin of %s: result %zu is %lld, not %lld",
           text(s, type_name<T>()).c_str(), i, static_cast<long long>(results[i]),
           static_cast<long long>(facts[i].lowest_at));
  }
}

template <class T>
void check_stats(const Shape& s, Random& random) {
  const Data<T> data(s, random);
  const auto facts = facts_of(s, data);
  if (!facts.empty() && facts[0].count == 0) return;
  Array<coalesce::statistics<T>> out(static_cast<i64>(facts.size()));
  CALL(coalesce::stats(data.of(s), axes_of(s), out.get()));
  const auto results = out.download();
  const What what{text(s, type_name<T>())};
  for (std::size_t i = 0; i < results.size(); ++i) {
    const auto& f = facts[i];
    expect_same(results[i].count, f.count, "stats' count", what);
    expect_same(number(results[i].max), f.highest, "stats' max", what);
    expect_same(results[i].argmin, f.lowest_at, "stats' argmin", what);
    expect_same(results[i].argmax, f.highest_at, "stats' argmax", what);
    expect_near(results[i].variance, f.variance(), variance_bound(f), "stats' variance", what);
  }
}

// Two views of one shape, of different strides.
void check_dot(const Shape& s, Random& random) {
  Shape other = s;
  std::reverse(other.extents.begin(), other.extents.end());
  other.strides.clear();
  other = with_strides(other);
  std::reverse(other.extents.begin(), other.extents.end());
  std::reverse(other.strides.begin(), other.strides.end());
  const Shape& form = random.between(0, 1) ? s : other;
  const Data<float> first(s, random), b(form, random);
  std::vector<real> sums(results_of(s)), absolute(results_of(s));
  std::vector<i64> at_first, at_second;
  for_each(s, [&](i64, i64 offset) { at_first.push_back(offset); });
  for_each(form, [&](i64, i64 offset) { at_second.push_back(offset); });
  std::size_t i = 0;
  for_each(s, [&](i64 result, i64) {
    const real product = number(first.host[first.start + at_first[i]]) * number(b.host[b.start + at_second[i]]);
    ++i;
    sums[result] += product, absolute[result] += std::fabs(product);
  });
  Array<float> out(static_cast<i64>(sums.size()));
  CALL(coalesce::dot(first.of(s), b.of(form), axes_of(s), out.get()));
  const std::vector<float> results = out.download();
  const What what{text(s, "two floats")};
  for (std::size_t k = 0; k < results.size(); ++k) {
    expect_near(results[k], sums[k], static_cast<real>(at_first.size() + 8) * 0x1p-53L * absolute[k], "dot", what);
  }
}

void check(Shape s, Random& random) {
  s = with_strides(s);
#ifdef TYPE
  check_sum<TYPE>(s, random);
  check_argmin<TYPE>(s, random);
  check_stats<TYPE>(s, random);
  if constexpr (std::is_same_v<TYPE, float>) check_dot(s, random);
#else
  check_sum<float>(s, random);
  check_argmin<std::int8_t>(s, random);
#endif
}

// An axis of nothing has a result for every index of the others, if it is a sum. What must be refused: a place in
// nothing, an axis that is not there, results upon what is read, two shapes.
template <class Summed, class Placed>
void nothing_and_refusals() {
  using wide = wide_of<Summed>;
  const view<Summed> nothing(nullptr, {3, 0});
  Array<wide> sums(3);
  CALL(coalesce::sum(nothing, {1}, sums.get()));
  for (const wide sum : sums.download()) EXPECT(number(sum) == 0, "sum over an axis of nothing");
  CALL(coalesce::sum(nothing, {0}, static_cast<wide*>(nullptr)));  // no results

  Array<Summed> in(64);
  Array<wide> out(64);
  Array<i64> places(3);
  const Array<Placed> some(3);
  refused(coalesce::argmin(view<Placed>(some.get(), {3, 0}), {1}, places.get()), "argmin over an axis of nothing",
          "nothing");
  refused(coalesce::sum(view<Summed>(in.get(), {2, 3}), {2}, out.get()), "an axis that is not there", "out of range");
  if constexpr (std::is_same_v<Summed, wide>)
    refused(coalesce::sum(view<Summed>(in.get(), {8, 4}), {1}, in.get() + 30), "results upon the view", "overlaps");
  if constexpr (std::is_same_v<Summed, float>)
    refused(coalesce::dot(view<float>(in.get(), {8, 4}), view<float>(in.get(), {4, 8}), {1}, out.get()),
            "dot of two shapes", "shape");
  EXPECT(out.untouched(), "a refused call wrote");
}

void check_known(Random& random) {
  // Rows: short ones (staged, or lanes to a row), long ones, with gaps, crooked.
  for (const i64 length : {1, 2, 3, 4, 7, 8, 16, 31, 33, 64, 127, 129, 511, 1024, 1025, 4100}) {
    check({{37, length}, {}, {1}}, random);
    check({{37, length}, {length + 3, 1}, {1}, 1}, random);
    check({{3, length}, {}, {1}, static_cast<int>(length % 5)}, random);
  }
  for (const i64 length : {1, 2, 3, 5, 6, 7, 11, 14}) check({{1500, length}, {}, {1}}, random);
  check({{300, 16}, {}, {1}}, random);
  check({{300, 100}, {}, {1}}, random);
  check({{260, 1000}, {}, {1}, 1}, random);
  check({{2, 40000}, {}, {1}}, random);
  // Columns: few and many, folded, crooked, sliced.
  for (const i64 columns : {1, 2, 3, 4, 5, 8, 13, 32, 100, 257, 1024, 2051}) {
    check({{40, columns}, {}, {0}}, random);
    check({{9, columns}, {columns + 1, 1}, {0}, 3}, random);
  }
  check({{300, 1003}, {}, {0}}, random);
  check({{3, 70, 999}, {}, {1}, 1}, random);
  check({{20000, 3}, {}, {0}}, random);
  check({{5000, 16}, {}, {0}}, random);
  check({{2100, 13}, {}, {0}}, random);
  check({{1000, 70}, {72, 1}, {0}}, random);
  check({{2, 5000}, {}, {0}}, random);
  // Crooked: few rows, fewer than a sector's phases have, enough for them; narrow; enough to be shared among blocks.
  for (const i64 rows : {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 63, 64, 77}) check({{rows, 521}, {523, 1}, {0}, 1}, random);
  check({{2, 150, 130}, {}, {1}, 2}, random);
  check({{700, 40}, {41, 1}, {0}, 1}, random);
  check({{1100, 261}, {262, 1}, {0}}, random);
  check({{530, 1027}, {}, {0}}, random);
  // Rows read by pairs; long ones that begin at lines and that do not.
  check({{40, 522}, {526, 1}, {0}}, random);
  check({{2050, 128}, {}, {0}}, random);
  check({{1050, 252}, {}, {0}}, random);
  // Axes in the middle and on both sides.
  check({{5, 6, 7}, {}, {1}}, random);
  check({{5, 6, 7}, {}, {0, 2}}, random);
  check({{8, 6, 32}, {}, {0, 2}}, random);
  check({{4, 6, 8, 16}, {}, {1, 3}}, random);
  check({{4, 6, 8, 16}, {}, {0, 2}}, random);
  check({{30, 2, 1000}, {}, {0, 2}}, random);
  check({{8, 2, 40, 72}, {}, {0, 2}}, random);
  check({{70, 3, 5}, {}, {1}}, random);
  check({{3, 100, 40}, {}, {1}}, random);
  check({{3, 4, 5, 6}, {}, {1, 3}}, random);
  check({{3, 4, 5, 6}, {}, {0, 2}}, random);
  check({{3, 4, 5, 6}, {}, {0, 3}}, random);
  check({{3, 4, 5, 6}, {}, {}}, random);
  check({{3, 4, 5, 6, 2}, {}, {0, 1, 2, 3, 4}}, random);
  check({{2, 3, 2, 3, 2, 3, 2, 5}, {}, {0, 2, 4, 6}}, random);
  check({{2, 3, 2, 3, 2, 3, 2, 5}, {}, {1, 3, 5, 7}}, random);
  check({{2, 3, 4, 3, 2, 3, 2, 8}, {}, {1, 3, 5, 7}}, random);
  // Rows and columns of two reduced axes that begin anywhere: fewer rows than begin alike, several blocks for a result,
  // gaps, a warp for a result.
  for (const i64 rows : {4, 9, 40}) check({{7, 3, rows, 203}, {}, {0, 2}}, random);
  check({{40, 2, 11, 203}, {}, {0, 2}, 1}, random);
  check({{300, 5, 301}, {1505, 301, 1}, {0, 1}}, random);
  check({{5, 3, 11, 203}, {3 * 12 * 205, 12 * 205, 205, 1}, {0, 2}}, random);
  check({{2, 130, 5, 2, 131}, {}, {1, 3}}, random);
  for (const i64 length : {130, 333, 2051}) check({{9, 5, length}, {}, {0, 2}, 3}, random);
  check({{3, 4, 5, 333}, {3 * 4 * 5 * 340, 5 * 340, 340, 1}, {1, 3}}, random);
  check({{70, 3, 1003}, {}, {0, 2}}, random);
  check({{3, 4300, 133}, {}, {0, 2}}, random);
  // Runs of columns: of every length class, one tile and several, a result's rows shared by blocks, planes, gaps.
  for (const i64 run : {2, 3, 11, 12, 31, 32, 63}) check({{40, 9, run}, {}, {0, 2}, static_cast<int>(run % 4)}, random);
  check({{33, 150, 7}, {}, {0, 2}, 1}, random);
  check({{2500, 47, 11}, {}, {0, 2}}, random);
  check({{3, 35, 40, 12}, {}, {1, 3}}, random);
  check({{36, 3, 50, 5}, {3 * 251 + 1, 251, 5, 1}, {0, 3}, 2}, random);
  // A lane for each result, by units of 16, 8 and 4 bytes; planes that begin anywhere.
  for (const i64 length : {1, 2, 3, 4, 8})
    check({{3, 131077, length}, {}, {0, 2}, static_cast<int>(length % 3)}, random);
  check({{2, 131077, 12}, {131077 * 12 + 5, 12, 1}, {0, 2}}, random);
  // Turned round, transposed, broadcast, empty, one element.
  check({{30, 20}, {1, 30}, {1}}, random);
  check({{30, 20}, {-20, -1}, {1}}, random);
  check({{30, 20}, {-20, 1}, {0}}, random);
  check({{30, 20}, {-20, -1}, {0, 1}}, random);
  check({{500}, {-3}, {0}}, random);
  check({{30, 20}, {0, 1}, {0}}, random);
  check({{30, 20}, {0, 1}, {1}}, random);
  check({{30, 20}, {1, 0}, {1}}, random);
  check({{9, 0}, {}, {1}}, random);
  check({{0, 9}, {}, {1}}, random);
  check({{}, {}, {}}, random);
}

Shape random_shape(Random& random) {
  Shape s;
  const int rank = static_cast<int>(random.between(1, 5));
  std::vector<int> places(rank);
  for (int i = 0; i < rank; ++i) places[i] = i;
  if (random.between(0, 1)) {
    for (int i = rank - 1; i > 0; --i) std::swap(places[i], places[random.between(0, i)]);
  }
  s.extents.resize(rank), s.strides.resize(rank);
  i64 left = 6000, step = 1;
  for (int i = rank - 1; i >= 0; --i) {
    const int axis = places[i];
    s.extents[axis] = random.between(1, std::min<i64>(left, random.between(0, 2) ? 20 : 700));
    left /= s.extents[axis];
    s.strides[axis] = step * (random.between(0, 7) ? 1 : -1) * (random.between(0, 9) ? 1 : 0);
    step *= s.extents[axis];
    if (!random.between(0, 4)) step += random.between(0, 9);
    if (random.between(0, 1)) s.reduced.push_back(axis);
  }
  if (s.reduced.size() > 3 && static_cast<int>(s.reduced.size()) < rank) s.reduced.resize(3);
  s.shift = static_cast<int>(random.between(0, 5));
  return s;
}

}  // namespace

// shapes [SEED [COUNT]]: other random shapes, and how many.
int main(int argc, char** argv) {
  Random random(argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1);
  check_known(random);
#ifdef TYPE
  nothing_and_refusals<TYPE, TYPE>();
#else
  nothing_and_refusals<float, std::int8_t>();
#endif
  const int count = argc > 2 ? std::atoi(argv[2]) : 60;
  for (int k = 0; k < count; ++k) {
    const Shape s = random_shape(random);
    check(s, random);
#ifndef TYPE
    check_dot(with_strides(s), random);
#endif
  }
  std::puts("axes of views: ok");
}
