// The exact sum in its other form: an accumulator for the library's plain kernels. Part "forms" of exact.cu measures it
// beside the kernels of detail/exact and compares the bits.
#pragma once

#include "bench/exact/common.cuh"

namespace {

// A state is the windows of the thread's latest numbers and, for what leaves them, the whole superaccumulator.
// Infinities, NaN and -0 are left out, which only makes it faster.
template <class T, class R>
struct whole_sum {
  static constexpr exact::range values = exact::format<T>::sum;
  static constexpr int words = exact::layout<values>::words, unit = exact::layout<values>::unit;
  static constexpr int count = coalesce::detail::exact::windows_for<T>;
  using places = coalesce::detail::exact::window_places<count>;
  using losses = coalesce::detail::exact::window_losses;
  using windows = coalesce::detail::exact::windows<count>;

  using element = T;
  using result = R;
  static constexpr bool indexed = false;
  struct state {
    std::uint64_t word[words];
    windows sum;
    places at;
  };

  __device__ state identity() const { return {}; }

  template <int N, class At>
  __device__ __forceinline__ void add(state& s, const T (&tile)[N], At) const {
    if (put(s, tile)) return;
    unsigned most = 0;
#pragma unroll
    for (int i = 0; i < N; ++i) most = ::max(most, coalesce::detail::exact::high(wide(tile[i])) & 0x7fffffffu);
    close(s);
    // Room for 2^12 numbers of one size. Places are multiples of 8, so that most states have the same.
    s.at.set((static_cast<int>(most >> 20) + 14 + 7) & ~7, 0);
    s.sum.begin(s.at);
    if (put(s, tile)) return;
#pragma unroll
    for (int i = 0; i < N; ++i) add_bits(s, exact::to_bits<T>(tile[i]));
  }

  __device__ __forceinline__ void merge(state& into, const state& from) const {
    using coalesce::detail::exact::high;
    using coalesce::detail::exact::window_at;
    unsigned moved = into.at.place[0] ^ from.at.place[0];
    windows sum = into.sum;
#pragma unroll
    for (int i = 0; i < count; ++i) {
      sum.at[i] += from.sum.at[i] - window_at(from.at.place[i]);
      moved |= high(sum.at[i]) ^ into.at.place[i];
    }
    if ((moved & coalesce::detail::exact::place_bits) == 0) {
      into.sum = sum;
    } else {
      close_to(into, from);
    }
    std::uint64_t some = 0;
#pragma unroll
    for (int i = 0; i < words; ++i) some |= from.word[i];
    if (some == 0) return;
    std::uint64_t carry = 0;
#pragma unroll
    for (int i = 0; i < words; ++i) add_word(into.word[i], from.word[i], carry);
  }

  __device__ R finish(const state& s, std::int64_t) const {
    state closed = s;
    close(closed);
    exact::total<values> all;
    exact::clear(all);
#pragma unroll
    for (int i = 0; i < words; ++i) all.word[i] = closed.word[i];
    return exact::from_bits<R>(exact::read<R>(all));
  }

 private:
  static __device__ __forceinline__ double wide(T x) { return coalesce::detail::exact::as_double(x); }

  // False, and nothing added, if a number does not fit.
  template <int N>
  static __device__ __forceinline__ bool put(state& s, const T (&tile)[N]) {
    if (s.at.place[0] == 0) return false;
    losses lost;
    windows sum = s.sum;
#pragma unroll
    for (int i = 0; i < N; ++i) sum.put(wide(tile[i]), s.at, lost);
    if (lost.any()) return false;
    s.sum = sum;
    return true;
  }
  static __device__ __forceinline__ void add_word(std::uint64_t& word, std::uint64_t more, std::uint64_t& carry) {
    const std::uint64_t partial = word + more, next = partial + carry;
    carry = (partial < more) | (next < partial);
    word = next;
  }
  // += value * 2^position units; no word is addressed by a variable, so all may stay in registers.
  static __device__ __forceinline__ void add_at(state& s, std::int64_t value, int position) {
    if (position < 0) {  // zeros only
      value >>= -position;
      position = 0;
    }
    const std::uint64_t sign = value < 0 ? ~std::uint64_t(0) : 0;
    const int first = position / 64, shift = position % 64;
    const std::uint64_t low = static_cast<std::uint64_t>(value) << shift;
    const std::uint64_t high = shift == 0 ? sign : static_cast<std::uint64_t>(value) >> (64 - shift) | sign << shift;
    std::uint64_t carry = 0;
#pragma unroll
    for (int i = 0; i < words; ++i) {
      const std::uint64_t more = i < first ? 0 : i == first ? low : i == first + 1 ? high : sign;
      add_word(s.word[i], more, carry);
    }
  }
  static __device__ __forceinline__ void add_bits(state& s, bits b) {
    constexpr int fraction = exact::format<T>::precision - 1;
    const int field = static_cast<int>(b >> fraction) & static_cast<int>(exact::infinity<T> >> fraction);
    const std::int64_t magnitude =
        static_cast<std::int64_t>(b & ((bits(1) << fraction) - 1)) + (field ? std::int64_t(1) << fraction : 0);
    add_at(s, b & exact::sign_bit<T> ? -magnitude : magnitude, field ? field : 1);
  }
  static __device__ __forceinline__ void close_to(state& into, const state& from) {
    if (from.at.place[0] == 0) return;
#pragma unroll
    for (int i = 0; i < count; ++i) {
      add_at(into, from.sum.part(i, from.at), static_cast<int>(from.at.place[i] >> 20) - 1023 - 52 - unit);
    }
  }
  static __device__ __forceinline__ void close(state& s) {
    close_to(s, s);
    s.at = {};
    s.sum.begin(s.at);
  }
};

struct whole_sum_rule : coalesce::detail::plain_projection {
  static constexpr bool needs_elements = false;
  template <class T, class R>
  static auto accumulator() {
    return whole_sum<T, R>();
  }
};

// A line of JSON for each shape: microseconds of the three, and how many results of the two exact forms differ.
void forms_of(const char* what, std::int64_t rows, std::int64_t columns, int axis) {
  const coalesce::view<element> all(data, {rows, columns});
  const std::int64_t n = rows * columns, count = axis ? rows : columns;
  element *plain = data + n, *exact_sums = plain + count, *other = exact_sums + count;
  const std::vector<contender> three = {
      {"plain", [=] { REQUIRE(coalesce::sum(all, coalesce::axes{axis}, plain)); }},
      {"exact", [=] { REQUIRE(coalesce::exact_sum(all, coalesce::axes{axis}, exact_sums)); }},
      {"as_accumulator", [=] {
         REQUIRE(coalesce::detail::reduction<whole_sum_rule>::view_of({}, all, coalesce::axes{axis}, other, nullptr,
                                                                      nullptr));
       }}};
  const std::vector<double> us = compare(three, 5);
  std::vector<element> results_of[2];
  for (int i = 0; i < 2; ++i) {
    results_of[i].resize(static_cast<std::size_t>(count));
    REQUIRE(cudaMemcpy(results_of[i].data(), i ? other : exact_sums, results_of[i].size() * sizeof(element),
                       cudaMemcpyDeviceToHost));
  }
  long differ = 0;
  for (std::size_t i = 0; i < results_of[0].size(); ++i) {
    differ += std::memcmp(&results_of[0][i], &results_of[1][i], sizeof(element)) != 0;
  }
  std::printf(
      "{\"part\": \"forms\", \"type\": \"%s\", \"case\": \"%s, %lld x %lld\", \"bytes\": %.0f, \"plain\": %.3f, "
      "\"exact\": "
      "%.3f, \"as_accumulator\": %.3f, \"differ\": %ld}\n",
      type_name(), what, static_cast<long long>(rows), static_cast<long long>(columns),
      static_cast<double>(n) * sizeof(element), us[0], us[1], us[2], differ);
  std::fflush(stdout);
}

void forms(int log2_bytes) {
  const std::int64_t n = (std::int64_t(1) << log2_bytes) / sizeof(element);
  fill(data, n, 1);
  for (const std::int64_t length : {16, 256, 4096, 65536}) {
    if (length > n) break;
    forms_of("rows", n / length, length, 1);
    forms_of("columns", length, n / length, 0);
  }
  forms_of("array", 1, n, 1);
}

}  // namespace
