// Ragged segments: lengths around every boundary, empty ones, one giant, offsets of 32 and 64 bits, any beginning.
//
// The tests in CI compile it for two types and functions; with -DTYPE=double that type is tried, and more functions.
#include <algorithm>
#include <coalesce/reduce.cuh>
#include <string>

#include "reference.h"

namespace {

std::vector<i64> offsets_of(const std::vector<i64>& lengths, i64 first) {
  std::vector<i64> offsets = {first};
  for (const i64 length : lengths) offsets.push_back(offsets.back() + length);
  return offsets;
}

struct last_of {
  template <class T>
  __host__ __device__ T operator()(T, T b) const {
    return b;
  }
};

struct is_large {
  template <class T>
  __host__ __device__ bool operator()(T x) const {
    return x > T(1);
  }
};

template <class T, class O>
void check(const std::vector<i64>& lengths, i64 first, const char* what, Random& random, bool more = true) {
  const std::vector<i64> offsets = offsets_of(lengths, first);
  const i64 segments = static_cast<i64>(lengths.size());
  const std::vector<T> host = values<T>(offsets.back() + 3, random);
  const Array<T> in(host, 1);
  const Array<O> device(std::vector<O>(offsets.begin(), offsets.end()), 1);
  using wide = std::conditional_t<floating<T>, T, std::conditional_t<std::is_unsigned_v<T>, std::uint64_t, i64>>;
  Array<wide> sums(segments);
  Array<T> least(segments);
  CALL(coalesce::sum(in.get(), device.get(), segments, sums.get()));
  CALL(coalesce::min(in.get(), device.get(), segments, least.get()));
  const std::vector<wide> sum = sums.download();
  const std::vector<T> min = least.download();
  constexpr bool small = sizeof(T) < 4 || floating<T>;  // squares fit
  std::vector<i64> count;
  std::vector<double> dot;
  if (more) {
    Array<i64> large(segments);
    CALL(coalesce::count_if(in.get(), device.get(), segments, is_large(), large.get()));
    count = large.download();
    Array<double> dots(segments);
    if constexpr (small) CALL(coalesce::dot(in.get(), in.get(), device.get(), segments, dots.get()));
    dot = dots.download();
  }
#ifdef TYPE
  // An operation that does not commute: the last element.
  Array<T> ends(segments);
  CALL(coalesce::ordered_reduce(in.get(), device.get(), segments, ends.get(), last_of{}, T(1)));
  const std::vector<T> last = ends.download();
  // Results smaller than their elements: neighbours share a word.
  Array<unsigned char> some(segments);
  CALL(coalesce::any(in.get(), device.get(), segments, reinterpret_cast<bool*>(some.get())));
  Array<double> means(segments);
  CALL(coalesce::mean(in.get(), device.get(), segments, means.get()));
  const std::vector<double> mean = means.download();
  const std::vector<unsigned char> any = some.download();
  Array<i64> places(segments);
  Array<coalesce::statistics<T>> statistics(segments);
  CALL(coalesce::argmax(in.get(), device.get(), segments, places.get()));
  CALL(coalesce::stats(in.get(), device.get(), segments, statistics.get()));
  const std::vector<i64> argmax = places.download();
  const auto stats = statistics.download();
#endif
  for (i64 s = 0; s < segments; ++s) {
    const Facts<T> f = facts(std::vector<T>(host.begin() + offsets[s], host.begin() + offsets[s + 1]));
    const What which{"segment " + std::to_string(s) + " of " + std::to_string(segments) + " of " + type_name<T>() +
                     ", " + what + ": elements " + std::to_string(offsets[s]) + " to " +
                     std::to_string(offsets[s + 1])};
    if constexpr (floating<T>) {
      // Threads take a segment's elements in pieces of their own: at worst one by one.
      expect_near(sum[s], f.sum, sum_bound(f), "sum", which);
    } else {
      expect_same(sum[s], static_cast<wide>(f.wrapped), "sum", which);
    }
    if (more) {
      expect_same(count[s],
                  static_cast<i64>(std::count_if(host.begin() + offsets[s], host.begin() + offsets[s + 1],
                                                 [](T x) { return number(x) > 1; })),
                  "count_if", which);
      if (small) expect_near(dot[s], f.squares, squares_bound(f), "dot", which);
    }
    if (f.count) {
      expect_same(number(min[s]), f.lowest, "min", which);
    } else {
      const real last = floating<T> ? std::numeric_limits<real>::infinity()
                                    : static_cast<real>(number(std::numeric_limits<T>::max()));
      expect_same(number(min[s]), last, "min", which);
    }
#ifdef TYPE
    expect_same(number(last[s]), number(f.count ? host[offsets[s + 1] - 1] : T(1)), "the last one", which);
    expect_same(any[s] != 0, f.nonzero > 0, "any", which);
    // An integer's mean is of its wrapped total: exact until a sum of 64-bit ones overflows.
    if (f.count && (sizeof(T) < 8 || floating<T>))
      expect_near(mean[s], f.sum / f.count, sum_bound(f) / f.count, "mean", which);
    expect_same(argmax[s], f.highest_at, "argmax", which);
    expect_same(stats[s].count, f.count, "stats' count", which);
    if (f.count) expect_near(stats[s].variance, f.variance(), variance_bound(f), "stats' variance", which);
#endif
  }
}

// The same call again, as if all places where portions begin had been found already: as they have, by the first call.
// (A computer that runs one block after the other has them all taken before the last block has looked.)
void check_found(const std::vector<i64>& lengths, Random& random) {
  const std::vector<i64> offsets = offsets_of(lengths, 0);
  const i64 segments = static_cast<i64>(lengths.size());
  const Array<float> in(values<float>(offsets.back(), random));
  const Array<std::int32_t> device(std::vector<std::int32_t>(offsets.begin(), offsets.end()));
  Array<float> out(segments), again(segments);
  coalesce::workspace work;
  CALL(coalesce::sum(in.get(), device.get(), segments, out.get(), nullptr, &work));
  const unsigned int many = 1 << 16;
  EXPECT(cudaMemcpy(work.tickets() + 1, &many, sizeof(many), cudaMemcpyHostToDevice) == cudaSuccess, "no copy");
  CALL(coalesce::sum(in.get(), device.get(), segments, again.get(), nullptr, &work));
  const std::vector<float> first = out.download(), second = again.download();
  for (i64 s = 0; s < segments; ++s) {
    expect_same(second[s], first[s], "sum", What{"segment " + std::to_string(s) + " once more"});
  }
}

template <class T, class O>
void check_all(Random& random) {
  const auto many = [&](i64 count, i64 low, i64 high) {
    std::vector<i64> lengths(count);
    for (i64& length : lengths) length = random.between(low, high);
    return lengths;
  };
  check<T, O>({}, 0, "no segments", random);
  check<T, O>({0}, 0, "one, empty", random);
  check<T, O>({1}, 2, "one of one", random);
  check<T, O>({5000}, 0, "one", random);
  check<T, O>(std::vector<i64>(3000, 0), 1, "all empty", random);
  check<T, O>(std::vector<i64>(3000, 1), 0, "all of one", random);
  check<T, O>(many(1000, 1, 64), 0, "1 to 64", random);
  check<T, O>(many(800, 0, 3), 5, "0 to 3", random);
  std::vector<i64> giant = many(900, 0, 9);
  giant[450] = 30000;
  check<T, O>(giant, 3, "a giant", random);
  giant = many(10, 3000, 5000);
  giant[3] = giant[9] = 0;
  check<T, O>(giant, 0, "long ones", random);
  // About a tile of a warp (bytes, and sums of 2: 80 bytes a lane; others: 32 elements, 128 bytes at most): just under,
  // at, over.
  const i64 size = sizeof(T), tile = size == 1 ? 2560 : 32 * std::min<i64>(32, 128 / size);
  for (const i64 about : {tile, i64{size == 2 ? 1280 : 0}}) {
    for (const i64 length : {about - 1, about, about + 1, 2 * about}) {
      if (length > 1) check<T, O>({length, 1, length, 0, length}, 0, "a tile each", random);
    }
  }
  // A warp's share begins within a segment that ends in the same word.
  if (size == 1) check<T, O>(many(6000, 3, 6), 0, "3 to 6", random);
  // The last element of all is the last one of a tile. (The first lies behind a line's beginning.)
  for (const i64 length : {tile - 1, i64{1279}}) check<T, O>({length - 5, 5, 0}, 0, "to the end of a tile", random);
  // Ends just before, at and behind the borders of tiles, and in all places of a word beside each other.
  std::vector<i64> borders;
  for (const i64 length : {tile - 4, tile - 33, 2 * tile - 2}) {
    borders.push_back(length);
    for (i64 k = 0; k < 40; ++k) borders.push_back(k % 4);
  }
  for (const i64 first : {i64{0}, i64{1}, i64{2}, i64{3}}) check<T, O>(borders, first, "borders", random);
  // More ends at one place than a warp keeps, in the midst of a tile and at its end.
  std::vector<i64> masses;
  for (const i64 length : {i64{5}, i64{0}, tile - 5, i64{1}, 3 * tile / 2}) {
    masses.push_back(length);
    masses.insert(masses.end(), 700, 0);
  }
  check<T, O>(masses, 2, "masses of empty ones", random);
  // The same where a warp alone has them: more rounds than one, each beginning in the midst of a vector.
  if (size == 4) {
    masses.clear();
    for (i64 k = 0; k < 3; ++k) {
      masses.push_back(tile + 1 + k);
      masses.insert(masses.end(), 1400, 0);
      masses.insert(masses.end(), 40, 1);
    }
    check<T, O>(masses, 0, "rounds", random);
  }
  std::vector<i64> power;
  while (power.size() < 400) power.push_back(std::min<i64>(20000, static_cast<i64>(1 / (1 - random.unit()))));
  check<T, O>(power, 1, "a power law", random);
}

// So many segments that blocks look for their beginnings with all threads, each time among others than the time before:
// short ones, a mass of empty ones, a giant.
void check_many(Random& random) {
  std::vector<i64> lengths(300000);
  for (i64& length : lengths) length = random.between(0, 3);
  check<std::int8_t, std::int64_t>(lengths, 3, "many", random);
  std::fill(lengths.begin(), lengths.begin() + 90000, 0);
  std::fill(lengths.begin() + 150000, lengths.begin() + 190000, 0);
  lengths[200000] = 300000;
  check<float, std::int32_t>(lengths, 0, "many empty ones", random);
  lengths.assign(1500000, 0);  // more than a turn can tell apart, in the portions of one block of few
  lengths[700000] = lengths.back() = 5;
  check<std::int8_t, std::int32_t>(lengths, 2, "very many empty ones", random);
}

}  // namespace

// segments [SEED]: other random lengths and numbers. segments portions [COUNT]: as many as a device of 8
// multiprocessors deals out in several waves (60000), or COUNT: an H200 deals out 1000000 so. segments found [COUNT]:
// and once more. segments many: see check_many.
int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "portions" || what == "found") {
    Random random(22);
    std::vector<i64> lengths(argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 60000);
    for (i64& length : lengths) length = random.between(0, 64);
    lengths[20000] = 200000;
    check<float, std::int32_t>(lengths, 0, "portions", random, false);
    if (what == "found") check_found(lengths, random);
    std::puts("portions: ok");
    return 0;
  }
  if (what == "many") {
    Random random(23);
    check_many(random);
    std::puts("many: ok");
    return 0;
  }
  Random random(argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 21);
#ifdef TYPE
  check_all<TYPE, std::int32_t>(random);
  check_all<TYPE, std::int64_t>(random);
#else
  check_all<float, std::int32_t>(random);
  check_all<std::int8_t, std::int64_t>(random);
#endif
  std::puts("segments: ok");
}
