// The exact sums of a GPU, or of the machine, against the CPU's: the same bits for every function, type and shape.
// Ordinary CUDA: ELEMENT is one of half_t, bfloat16_t, float, double (-DELEMENT=...); the first
// argument is the number of random arrays that are called for one by one, the second of those of which a launch takes
// many.
#include "tests/library/exact/device_arrays.cuh"
#include "tests/library/exact/device_fixture.cuh"
#include "tests/library/exact/examples.cuh"

namespace {

void whole_arrays(std::uint64_t seed) {
  cases::generator random(seed);
  const std::size_t n = seed % 5 == 0 ? random() % 40000 : cases::size(random);
  const auto x = cases::array<host_element>(random, n), y = cases::array<host_element>(random, n);
  const on_device dx(x, seed % 9), dy(y, seed % 2);
  const results out(5);
  const std::int64_t count = static_cast<std::int64_t>(n);
  require(coalesce::exact_sum(dx.get(), count, out.get()), "exact_sum");
  require(coalesce::exact_mean(dx.get(), count, out.get() + 1), "exact_mean");
  require(coalesce::exact_dot(dx.get(), dy.get(), count, out.get() + 2), "exact_dot");
  require(coalesce::exact_sum_of_squares(dx.get(), count, out.get() + 3), "exact_sum_of_squares");
  require(coalesce::exact_norm2(dx.get(), count, out.get() + 4), "exact_norm2");
  const auto got = out.read();
  expect(got[0], host::exact_sum(x.data(), n, 1), "sum", seed, n);
  expect(got[1], host::exact_mean(x.data(), n, 1), "mean", seed, n);
  expect(got[2], host::exact_dot(x.data(), y.data(), n, 1), "dot", seed, n);
  expect(got[3], host::exact_sum_of_squares(x.data(), n, 1), "sum of squares", seed, n);
  expect(got[4], host::exact_norm2(x.data(), n, 1), "norm2", seed, n);
}

// Rows, columns, and the middle axis of three, of the same elements; also backwards and with gaps.
void axes_of_arrays(std::uint64_t seed) {
  cases::generator random(seed);
  const std::size_t a = 1 + random() % 5, b = 1 + random() % (seed % 3 == 0 ? 700 : 40),
                    c = 1 + random() % (seed % 3 == 1 ? 1500 : 20);
  const std::size_t n = a * b * c;
  const auto x = cases::array<host_element>(random, n), y = cases::array<host_element>(random, n);
  const on_device dx(x, seed % 3), dy(y);
  const auto l = [](std::size_t i) { return static_cast<std::int64_t>(i); };
  const coalesce::view<element> vx(dx.get(), {l(a), l(b), l(c)}), vy(dy.get(), {l(a), l(b), l(c)});
  const auto along = [&](int axis) {  // over `axis`: sums and dots, and where the elements of result (i, j) lie
    const std::size_t extent[3] = {a, b, c}, stride[3] = {b * c, c, 1};
    const int first = axis == 0 ? 1 : 0, second = axis == 2 ? 1 : 2;
    const std::size_t count = extent[first] * extent[second];
    const results sums(count), dots(count);
    require(coalesce::exact_sum(vx, coalesce::axes{axis}, sums.get()), "exact_sum of a view");
    require(coalesce::exact_dot(vx, vy, coalesce::axes{axis}, dots.get()), "exact_dot of views");
    const auto sum = sums.read(), dot = dots.read();
    std::vector<host_element> p(extent[axis]), q(extent[axis]);
    for (std::size_t r = 0; r < count; r += 1 + count / 40) {
      for (std::size_t k = 0; k < extent[axis]; ++k) {
        const std::size_t at =
            r / extent[second] * stride[first] + r % extent[second] * stride[second] + k * stride[axis];
        p[k] = x[at];
        q[k] = y[at];
      }
      expect(sum[r], host::exact_sum(p.data(), p.size(), 1), "sum over an axis",
             seed * 10 + static_cast<unsigned>(axis), p.size());
      expect(dot[r], host::exact_dot(p.data(), q.data(), p.size(), 1), "dot over an axis",
             seed * 10 + static_cast<unsigned>(axis), p.size());
    }
  };
  for (int axis = 0; axis < 3; ++axis) along(axis);
  // Every second element of the rows, last row first: axes 0 and 2 reduced.
  const coalesce::view<element> odd(dx.get() + (a - 1) * b * c, {l(a), l(b), l((c + 1) / 2)}, {-l(b * c), l(c), 2});
  const results out(b);
  require(coalesce::exact_mean(odd, coalesce::axes{0, 2}, out.get()), "exact_mean of two axes");
  const auto got = out.read();
  for (std::size_t j = 0; j < b; j += 1 + b / 20) {
    std::vector<host_element> p;
    for (std::size_t i = 0; i < a; ++i) {
      for (std::size_t k = 0; k < c; k += 2) p.push_back(x[i * b * c + j * c + k]);
    }
    expect(got[j], host::exact_mean(p.data(), p.size(), 1), "mean over two axes", seed, p.size());
  }
}

// Element i of a sum that lies above the middle of two numbers by the smallest there is: rounded up, unless that is
// lost.
host_element above_a_tie(std::size_t i) {
  constexpr int precision = exact::format<element>::precision;
  constexpr bits one = (exact::infinity<element> >> 1) & exact::infinity<element>;
  const bits terms[] = {one, static_cast<bits>(one - (bits(precision) << (precision - 1))), bits(1)};
  return exact::from_bits<host_element>(i < 3 ? terms[i] : bits(0));
}

// Large enough for the windows' kernels: most columns fit windows, some have all exponents, zeros, or an infinity.
void many_columns(std::size_t columns, std::size_t rows) {
  const std::size_t period = columns < 1000 ? 50 : columns / 40;
  cases::generator random(5);
  std::vector<host_element> x(rows * columns);
  const unsigned top = static_cast<unsigned>(exact::infinity<element> >> (exact::format<element>::precision - 1)) - 1;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t c = i % columns;
    if (c % period == 7)
      x[i] = cases::finite<host_element>(random, 0, top);
    else if (c % period == 10)
      x[i] = above_a_tie(i / columns);
    else if (c % period == 8)
      x[i] = exact::from_bits<host_element>(c == 8 ? exact::sign_bit<element> : bits(0));
    else
      x[i] = cases::finite<host_element>(random, top / 2, top / 2 + 6);
  }
  x[3 * columns + 9] = exact::from_bits<host_element>(exact::infinity<element>);
  const on_device dx(x);
  const results sums(columns), norms(columns);
  const coalesce::view<element> v(dx.get(), {static_cast<std::int64_t>(rows), static_cast<std::int64_t>(columns)});
  // The later calls find the list as those before have left it: empty.
  require(coalesce::exact_sum(v, coalesce::axes{0}, sums.get()), "exact_sum of columns");
  require(coalesce::exact_norm2(v, coalesce::axes{0}, norms.get()), "exact_norm2 of columns");
  require(coalesce::exact_sum(v, coalesce::axes{0}, sums.get()), "exact_sum of columns, again");
  const auto sum = sums.read(), norm = norms.read();
  std::vector<host_element> column(rows);
  for (std::size_t c = 0; c < columns; c += c < 12 ? 1 : columns < 1000 ? 5 : 23) {
    for (std::size_t r = 0; r < rows; ++r) column[r] = x[r * columns + c];
    expect(sum[c], host::exact_sum(column.data(), rows, 1), "column's sum", c, rows);
    expect(norm[c], host::exact_norm2(column.data(), rows, 1), "column's norm2", c, rows);
  }
}

// Rows of 8, 16 and 32 bytes: a thread takes several. And so many longer ones that each is a thread's, by units of 2,
// 4, 8 and 16 bytes. Most fit one window, some two, some none; and zeros, infinities.
void tiny_rows() {
  const unsigned top = static_cast<unsigned>(exact::infinity<element> >> (exact::format<element>::precision - 1)) - 1;
  for (std::size_t bytes : {8, 16, 32, 34, 44, 72, 96, 128}) {
    if (bytes % sizeof(element) != 0) continue;
    const std::size_t length = bytes / sizeof(element), rows = bytes <= 32 ? 700 : 132 * 128 + 3;
    cases::generator random(length);
    std::vector<host_element> x(rows * length);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::size_t r = i / length, kind = r % 10;
      const unsigned span = kind < 5 || r > 1000 ? 4 : kind < 8 ? top / 6 : top / 2;
      x[i] = cases::finite<host_element>(random, top / 2 - span / 2, top / 2 + span / 2);
      if (r % 50 == 9 && length > 2) x[i] = above_a_tie(i % length);
      if (r % 50 == 8) x[i] = exact::from_bits<host_element>(r == 8 ? exact::sign_bit<element> : bits(0));
    }
    x[19 * length] = exact::from_bits<host_element>(exact::infinity<element>);
    const on_device dx(x);
    const results sums(rows), means(rows);
    const coalesce::view<element> v(dx.get(), {static_cast<std::int64_t>(rows), static_cast<std::int64_t>(length)});
    require(coalesce::exact_sum(v, coalesce::axes{1}, sums.get()), "exact_sum of tiny rows");
    require(coalesce::exact_mean(v, coalesce::axes{1}, means.get()), "exact_mean of tiny rows");
    const auto sum = sums.read(), mean = means.read();
    for (std::size_t r = 0; r < rows; r += r < 20 ? 1 : r < 1000 ? 3 : 41) {
      expect(sum[r], host::exact_sum(x.data() + r * length, length, 1), "tiny row's sum", r, length);
      expect(mean[r], host::exact_mean(x.data() + r * length, length, 1), "tiny row's mean", r, length);
    }
  }
}

// A number that comes late and is as large as a window, of either sign: row r ends, and its column has in its last row,
// -3 * 2^r.
void late_giants() {
  constexpr std::size_t rows = 40, length = 500;
  const int most = std::is_same_v<element, half_t> ? 13 : 39;
  cases::generator random(7);
  const unsigned middle = static_cast<unsigned>(exact::infinity<element> >> exact::format<element>::precision);
  std::vector<host_element> by_row(rows * length), by_column(rows * length);
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t i = 0; i < length; ++i) {
      host_element x = cases::finite<host_element>(random, middle, middle);
      if (i == length - 1) {
        const unsigned field = middle + 1 + std::min<unsigned>(static_cast<unsigned>(r), static_cast<unsigned>(most));
        x = exact::from_bits<host_element>(
            static_cast<bits>(exact::sign_bit<element> |
                              static_cast<bits>(bits(2 * field + 1) << (exact::format<element>::precision - 2))));
      }
      by_row[r * length + i] = by_column[i * rows + r] = x;
    }
  }
  const on_device dr(by_row), dc(by_column);
  const results first(rows), second(rows);
  require(coalesce::exact_sum(coalesce::view<element>(dr.get(), {rows, length}), coalesce::axes{1}, first.get()),
          "rows");
  require(coalesce::exact_sum(coalesce::view<element>(dc.get(), {length, rows}), coalesce::axes{0}, second.get()),
          "columns");
  const auto a = first.read(), b = second.read();
  for (std::size_t r = 0; r < rows; ++r) {
    const host_element sum = host::exact_sum(by_row.data() + r * length, length, 1);
    expect(a[r], sum, "row with a late giant", r, length);
    expect(b[r], sum, "column with a late giant", r, length);
  }
}

// `count` random arrays, one behind the other, as segments: many in one launch.
void segments(std::uint64_t seed, std::size_t count) {
  std::vector<host_element> x;
  std::vector<int> offsets = {0};
  for (std::size_t s = 0; s < count; ++s) {
    cases::generator random(seed * 1000003 + s);
    // A warp leaves one of them to the blocks.
    const auto part = cases::array<host_element>(random, seed == 1 && s == 77 ? 140000 : cases::size(random));
    x.insert(x.end(), part.begin(), part.end());
    offsets.push_back(static_cast<int>(x.size()));
  }
  arrays_seen += count;
  const on_device dx(x);
  int* at = nullptr;
  require(cudaMalloc(&at, offsets.size() * sizeof(int)), "cudaMalloc");
  require(cudaMemcpy(at, offsets.data(), offsets.size() * sizeof(int), cudaMemcpyHostToDevice), "cudaMemcpy");
  const results sums(count), norms(count);
  const std::int64_t segments = static_cast<std::int64_t>(count);
  require(coalesce::exact_sum(dx.get(), at, segments, sums.get()), "exact_sum of segments");
  require(coalesce::exact_norm2(dx.get(), at, segments, norms.get()), "exact_norm2 of segments");
  const auto sum = sums.read(), norm = norms.read();
  for (std::size_t s = 0; s < count; ++s) {
    const std::size_t n = static_cast<std::size_t>(offsets[s + 1] - offsets[s]);
    expect(sum[s], host::exact_sum(x.data() + offsets[s], n, 1), "segment's sum", seed * 1000003 + s, n);
    expect(norm[s], host::exact_norm2(x.data() + offsets[s], n, 1), "segment's norm2", seed * 1000003 + s, n);
  }
  cudaFree(at);
}

// `count` random arrays of one length, as the rows of a matrix and as the columns of another: sums and dot products of
// all.
void matrices(std::uint64_t seed, std::size_t count) {
  cases::generator shape(seed);
  const std::size_t lengths[] = {8 / sizeof(element), 16 / sizeof(element), 32 / sizeof(element), 1 + shape() % 40,
                                 shape() % 200};
  const std::size_t n = lengths[shape() % 5];
  std::vector<host_element> x(count * n), y(count * n), across(count * n), other(count * n);
  for (std::size_t r = 0; r < count; ++r) {
    cases::generator random(seed * 1000003 + r);
    const auto a = cases::array<host_element>(random, n), b = cases::array<host_element>(random, n);
    for (std::size_t k = 0; k < n; ++k) {
      x[r * n + k] = across[k * count + r] = a[k];
      y[r * n + k] = other[k * count + r] = b[k];
    }
  }
  arrays_seen += 2 * count;
  const on_device dx(x, seed % 4), dy(y), da(across, seed % 3), db(other);
  const results out(4 * count);
  const std::int64_t rows = static_cast<std::int64_t>(count), length = static_cast<std::int64_t>(n);
  const coalesce::view<element> vx(dx.get(), {rows, length}), vy(dy.get(), {rows, length});
  const coalesce::view<element> va(da.get(), {length, rows}), vb(db.get(), {length, rows});
  require(coalesce::exact_sum(vx, coalesce::axes{1}, out.get()), "exact_sum of rows");
  require(coalesce::exact_dot(vx, vy, coalesce::axes{1}, out.get() + count), "exact_dot of rows");
  require(coalesce::exact_sum(va, coalesce::axes{0}, out.get() + 2 * count), "exact_sum of columns");
  require(coalesce::exact_dot(va, vb, coalesce::axes{0}, out.get() + 3 * count), "exact_dot of columns");
  const auto got = out.read();
  for (std::size_t r = 0; r < count; ++r) {
    const host_element sum = host::exact_sum(x.data() + r * n, n, 1);
    const host_element dot = host::exact_dot(x.data() + r * n, y.data() + r * n, n, 1);
    expect(got[r], sum, "row's sum", seed * 1000003 + r, n);
    expect(got[count + r], dot, "rows' dot product", seed * 1000003 + r, n);
    expect(got[2 * count + r], sum, "column's sum", seed * 1000003 + r, n);
    expect(got[3 * count + r], dot, "columns' dot product", seed * 1000003 + r, n);
  }
}

// Small numbers only: their windows reach below the smallest.
void accumulator_of_subnormals() {
  cases::generator random(6);
  for (const std::size_t n : {std::size_t(1), std::size_t(700), (std::size_t(1) << 18) / sizeof(element)}) {
    std::vector<host_element> x(n);
    for (host_element& one : x) one = cases::finite<host_element>(random, 0, 0);
    const on_device dx(x);
    coalesce::exact_accumulator<element> sum;
    require(sum.add(dx.get(), static_cast<std::int64_t>(n)), "add");
    coalesce::exact_accumulator<element>::total stored;
    require(sum.store(stored), "store");
    host::exact_accumulator<host_element> mine;
    mine.add(x.data(), n, 1);
    ++checks;
    if (std::memcmp(&stored, &mine.total(), sizeof(stored)) != 0 && ++wrong <= 20)
      std::printf("wrong: stored form of %zu subnormals\n", n);
  }
}

// Ranges added in pieces to two accumulators that are merged have the stored bytes of the CPU's accumulator.
void accumulators(std::uint64_t seed) {
  cases::generator random(seed);
  const std::size_t n = random() % 9000, cut = n == 0 ? 0 : random() % n;
  const auto x = cases::array<host_element>(random, n);
  const on_device dx(x);
  const results out(1);
  coalesce::exact_accumulator<element> first, second;
  require(first.add(dx.get() + cut, static_cast<std::int64_t>(n - cut)), "add");
  require(second.add(dx.get(), static_cast<std::int64_t>(cut)), "add");
  require(second.merge(first), "merge");
  require(second.sum(out.get()), "sum");
  expect(out.read()[0], host::exact_sum(x.data(), n, 1), "accumulator", seed, n);
  coalesce::exact_accumulator<element>::total stored;
  require(second.store(stored), "store");
  host::exact_accumulator<host_element> mine;
  mine.add(x.data(), n, 1);
  ++checks;
  if (std::memcmp(&stored, &mine.total(), sizeof(stored)) != 0 && ++wrong <= 20)
    std::printf("wrong: stored form, seed %llu\n", static_cast<unsigned long long>(seed));
  require(first.load(stored), "load");
  stored.header ^= 1;
  if (first.load(stored).ok()) ++wrong;
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t arrays = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 20;
  const std::size_t at_once = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 3000;
  for (std::uint64_t seed = 0; seed < arrays; ++seed) whole_arrays(seed);
  for (std::uint64_t seed : {90, 170, 195}) whole_arrays(seed);  // infinities and NaN in what several blocks add
  for (std::uint64_t seed = 0; seed < arrays / 4 + 1; ++seed) axes_of_arrays(seed);
  for (std::uint64_t seed = 0; seed < arrays / 4 + 1; ++seed) accumulators(seed);
  // These columns are added by blocks; by a thread each, few rows and more, by vectors and one by one.
  constexpr std::size_t width = 16 / sizeof(element), elements = width << 16;
  many_columns(208, elements / 208 + 7);
  many_columns(width << 14, 4);
  many_columns(width * 8500, 17);
  many_columns(elements / 5 + 1, 5);
  many_columns(8501, elements / 8501 + 5);
  tiny_rows();
  late_giants();
  one_small_in_a_lane<element>();
  full_windows<element>();
  blocks_far_apart<element>();
  limbs_of_an_earlier_call();
  large_arrays();
  accumulator_of_subnormals();
  if constexpr (std::is_same_v<element, float>) wrong += examples::run<element>();
  for (std::uint64_t seed = 0; arrays_seen < at_once; ++seed) {
    segments(seed, 200);
    matrices(seed, 100);
  }
  std::printf("%zu arrays, many in a launch; %ld results compared, %ld wrong\n", arrays_seen, checks, wrong);
  return wrong > 0 ? 1 : 0;
}
