// Arrays that take the kernels of whole arrays to their limits: full windows, sums that no register holds, limbs.
#pragma once

#include "tests/library/exact/device_fixture.cuh"

namespace {

// Floats whose large ones cancel, but not within a lane, so that of a small one in each other lane every bit counts:
// from near to so far below the large ones that no double holds a lane's sum. A block has 4096 of them.
template <class T>
void one_small_in_a_lane() {
  if constexpr (std::is_same_v<T, float>) {
    constexpr std::size_t count = 4096, first_vectors = 256;
    for (int below = 16; below <= 48; ++below) {
      std::vector<T> x(count);
      for (std::size_t i = 0; i < count; ++i) {
        const std::size_t vector = i / 4;
        const T large = vector % 2 == 0 ? 0x1.fffffep0f : -0x1.fffffep0f;
        const bool small = vector % 2 == 0 && vector < first_vectors;
        x[i] = i % 4 != 3 ? large : small ? std::ldexp(0x1.000002p0f, -below) : 0;
      }
      const on_device dx(x);
      const results out(1);
      require(coalesce::exact_sum(dx.get(), static_cast<std::int64_t>(count), out.get()), "exact_sum");
      expect(out.read()[0], host::exact_sum(x.data(), count, 1), "one small in a lane", below, count);
    }
  }
}

// Doubles, twice as many for each block as are looked at before windows are placed, the later ones so much larger that
// the windows of whole warps are full: together they have more bits than there are for them.
template <class T>
void full_windows() {
  if constexpr (std::is_same_v<T, double>) {
    int blocks = 0;
    require(cudaDeviceGetAttribute(&blocks, cudaDevAttrMultiProcessorCount, 0), "cudaDeviceGetAttribute");
    constexpr std::size_t looked_at = 4096;
    const std::size_t count = static_cast<std::size_t>(blocks) * 2 * looked_at;
    std::vector<T> x(count);
    for (std::size_t i = 0; i < count; ++i) x[i] = i / looked_at % 2 == 0 ? 1 : 1021.5;
    const on_device dx(x);
    const results out(1);
    require(coalesce::exact_sum(dx.get(), static_cast<std::int64_t>(count), out.get()), "exact_sum");
    expect(out.read()[0], host::exact_sum(x.data(), count, 1), "full windows", 0, count);
  }
}

// Blocks whose sums are held in 128 bits each, but not together: beside each other, beside blocks of zeros only, and
// beside blocks that leave limbs because their numbers have all exponents.
template <class T>
void blocks_far_apart() {
  if constexpr (std::is_same_v<T, double>) {
    constexpr std::size_t count = 1 << 16, piece = 8192;
    cases::generator random(12);
    for (int kind = 0; kind < 3; ++kind) {
      std::vector<T> x(count);
      for (std::size_t i = 0; i < count; ++i) {
        const std::size_t block = i / piece;
        const T fraction = static_cast<T>(random() >> 11) * 0x1p-53;
        if (kind == 0) x[i] = std::ldexp(fraction, block % 3 == 0 ? 1000 : block % 3 == 1 ? -1000 : 3);
        if (kind == 1) x[i] = block % 2 == 0 ? 0 : std::ldexp(fraction, -static_cast<int>(60 * block));
        if (kind == 2) x[i] = std::ldexp(fraction, i < count / 2 ? 0 : static_cast<int>(random() % 2000) - 1000);
      }
      const on_device dx(x);
      const results out(1);
      require(coalesce::exact_sum(dx.get(), static_cast<std::int64_t>(count), out.get()), "exact_sum");
      expect(out.read()[0], host::exact_sum(x.data(), count, 1), "blocks far apart", kind, count);
    }
  }
}

// Blocks that do not hold their part of a sum in registers leave it in the workspace as limbs; what the same blocks
// left there in an earlier call is no part of a later sum, in which only the last of them does so.
void limbs_of_an_earlier_call() {
  const unsigned top = static_cast<unsigned>(exact::infinity<element> >> (exact::format<element>::precision - 1)) -
                       20;                                         // no sum overflows
  const std::size_t n = (std::size_t(1) << 18) / sizeof(element);  // 16 blocks
  cases::generator random(11);
  std::vector<host_element> wide(n), mild(n);
  for (std::size_t i = 0; i < n; ++i) {
    wide[i] = cases::finite<host_element>(random, 0, top);
    mild[i] = i < n - 100 ? cases::finite<host_element>(random, top / 2, top / 2) : wide[i];
  }
  const on_device first(wide), second(mild);
  const results out(2);
  require(coalesce::exact_sum(first.get(), static_cast<std::int64_t>(n), out.get()), "exact_sum");
  require(coalesce::exact_sum(second.get(), static_cast<std::int64_t>(n), out.get() + 1), "exact_sum");
  const auto got = out.read();
  expect(got[0], host::exact_sum(wide.data(), n, 1), "sum whose blocks leave limbs", 11, n);
  expect(got[1], host::exact_sum(mild.data(), n, 1), "sum after one whose blocks left limbs", 11, n);
}

// More than is added in registers: blocks take tiles as they get to them, and bring their sums together. With an
// infinity the block that has met it looks at its tiles again, whichever they were; and of -0s all do.
void large_arrays() {
  const std::size_t n = (std::size_t(17) << 19) / sizeof(element) + 3;
  cases::generator random(5);
  std::vector<host_element> few(30011), x(n);
  for (host_element& one : few) {
    const unsigned top = static_cast<unsigned>(exact::infinity<element> >> (exact::format<element>::precision - 1));
    one = cases::finite<host_element>(random, 0, top - 25);  // no sum overflows
  }
  for (std::size_t i = 0; i < n; ++i) x[i] = few[i % few.size()];
  const auto compare = [&](const char* what) {
    const on_device dx(x, 1);
    const results out(1);
    require(coalesce::exact_sum(dx.get(), static_cast<std::int64_t>(n), out.get()), what);
    expect(out.read()[0], host::exact_sum(x.data(), n, 1), what, 5, n);
  };
  compare("large array");
  x[n - n / 3] = exact::from_bits<host_element>(
      static_cast<bits>(exact::sign_bit<element> | static_cast<bits>(exact::infinity<element>)));
  compare("large array with an infinity");
  for (host_element& one : x) one = exact::from_bits<host_element>(exact::sign_bit<element>);
  compare("large array of -0s");
}

}  // namespace
