// How one thread takes numbers, vectors and rounds of vectors, for each input. An engine is the thread's state; its bins are in shared
// memory.
//
//   place(shared, thread, rare)   once. rare: limbs for what fits no bin (products of doubles), shared by the threads that are
//                                 folded together
//   begin()                       before each result: all is 0
//   one(number), round(...)       adding
//   close()                       after the last number: all is in the bins
//   met_special()                 whether an infinity or NaN may have been among the numbers: then what is in the bins is worthless
#pragma once

#include <coalesce/exact/carry.cuh>
#include <coalesce/exact/input.cuh>

namespace coalesce::exact {

// Adds 0 * x: NaN, for good, from the first infinity or NaN on.
__device__ __forceinline__ void watch(float& special, float x) {
  asm("fma.rn.f32 %0, %1, 0f00000000, %0;" : "+f"(special) : "f"(x));
}

// A round: every vector in flight is replaced by the next one as soon as it is taken.
template <class Engine, class Vector, int Loads, class Next>
__device__ __forceinline__ void simple_round(Engine& engine, Vector (&flying)[Loads], Next next) {
#pragma unroll
  for (int u = 0; u < Loads; ++u) {
    const Vector v = flying[u];
    flying[u] = next(u);
    engine.vector(v);
  }
}

// Counts numbers up to the time when bins have to hand on their carries. `Most` beyond 2^20 is never reached.
template <int Most>
struct settling {
  int pending = 0;
  template <class Bins>
  __device__ __forceinline__ void settle_after(int numbers, Bins& bins) {
    if constexpr (Most < 1 << 20) {
      if ((pending += numbers) > Most - 256) {
        pending = 0;
        bins.settle();
      }
    }
  }
};

// A window is a double in a register that stands before the bins: a = 1.5 * 2^k + what was added, so large that the last bits of the
// numbers are multiples of its last bit. While t = a + x keeps a's exponent and t - a == x, nothing is lost. Both are looked at once
// a round, for a whole warp: where a lane failed, the warp puts its windows back as they were and adds the round to the bins, and the
// window is placed anew by the round's largest number. Data that fails twice running goes straight to the bins for a while.
struct window {
  double first = 0, first_start = 0;      // starts are the same in all lanes of a warp, and so is what follows
  int aside = 0, failures = 0, lost = 0;  // rounds still to go to the bins; failures running; how often given up

  __device__ __forceinline__ void failed() {
    if (++failures > 1) {
      aside = 16 << 2 * lost;
      lost = min(lost + 1, 3);
    }
  }
  __device__ __forceinline__ void held() { failures = lost = 0; }
  static __device__ __forceinline__ unsigned high(double d) { return static_cast<unsigned>(__double2hiint(d)); }
  static __device__ __forceinline__ unsigned low(double d) { return static_cast<unsigned>(__double2loint(d)); }
  __device__ __forceinline__ void into_window(double x, bool& inexact, unsigned& moved) {
    const double t = __dadd_rn(first, x);
    inexact = inexact || __dsub_rn(t, first) != x;
    first = t;
    moved |= high(t) ^ high(first_start);
  }
  // For numbers up to that with exponent field `field` (of a float): 2^10 of them fit. Not so low that its last bit is below `bit`.
  __device__ __forceinline__ void place_window(unsigned field, int bit) {
    const int exponent = max(static_cast<int>(field) + (1023 - 127 + 10), 1023 + 52 + layout<range::narrow>::unit + bit);
    first = first_start = __hiloint2double(exponent << 20 | 0x80000, 0);
  }
  // What is in the window, in units of 2^(the result): the window is empty after.
  __device__ __forceinline__ long long take_out(int& bit) {
    const long long sum = __double_as_longlong(first) - __double_as_longlong(first_start);
    bit = static_cast<int>(high(first_start) >> 20) - 1023 - 52 - layout<range::narrow>::unit;
    first = first_start;
    return sum;
  }
};

template <class Input>
struct engine;

// Sums of float, products of half.
template <class Input>
struct float_engine : float_columns<1024> {
  static constexpr int loads = Input::products ? 2 : 4;
  float special;
  __device__ __forceinline__ void place(char* shared, int thread, long long*) { float_columns<1024>::place(shared, thread); }
  __device__ __forceinline__ void begin() { special = 0; }
  __device__ __forceinline__ void one(float x) {
    watch(special, x);
    this->add(x);
  }
  __device__ __forceinline__ void vector(const typename Input::vector& v) {
    Input::numbers(v, [&](float x, float y) {
      one(x);
      one(y);
    });
  }
  template <class Next>
  __device__ __forceinline__ void round(typename Input::vector (&flying)[loads], Next next) {
    simple_round(*this, flying, next);
  }
  __device__ __forceinline__ bool met_special() const { return special != 0; }
  __device__ __forceinline__ void close() {}
};
template <>
struct engine<elements<float>> : float_engine<elements<float>>, window {
  using columns = float_columns<1024>;
  __device__ __forceinline__ void empty_window() {
    int bit;
    const long long sum = take_out(bit);
    if (sum == 0) return;
    // Pieces of 24 bits, as elements are; beyond the last bin they are shifted further.
#pragma unroll
    for (int i = 0; i < 3; ++i) {
      const long long piece = i < 2 ? sum >> 24 * i & 0xffffff : sum >> 48;
      const int at = bit + 24 * i, bin = min(at >> 4, bins - 1);
      column[bin * threads] += static_cast<unsigned long long>(piece) << (at - 16 * bin);
    }
  }
  __device__ __forceinline__ void close() { empty_window(); }
  template <class Next>
  __device__ __forceinline__ void round(uint4 (&flying)[loads], Next next) {
    if (aside > 0) {
      --aside;
      simple_round(*this, flying, next);
      return;
    }
    const double kept = first;
    bool inexact = false;
    unsigned moved = 0;
    uint4 held_back[loads];
#pragma unroll
    for (int u = 0; u < loads; ++u) {
      held_back[u] = flying[u];
      flying[u] = next(u);
      elements<float>::numbers(held_back[u], [&](float x, float y) {
        into_window(widened(x), inexact, moved);
        into_window(widened(y), inexact, moved);
      });
    }
    if (!__any_sync(~0u, inexact || (moved & 0x7ff00000u) != 0)) {
      held();
      return;
    }
    first = kept;
    unsigned largest = 0;
#pragma unroll
    for (int u = 0; u < loads; ++u) {
      vector(held_back[u]);
      const uint4& v = held_back[u];
      largest = max(max(max(largest, v.x & 0x7fffffffu), max(v.y & 0x7fffffffu, v.z & 0x7fffffffu)), v.w & 0x7fffffffu);
    }
    empty_window();
    place_window(__reduce_max_sync(~0u, largest) >> 23, 0);
    failed();
  }
};
template <>
struct engine<products_of<__half>> : float_engine<products_of<__half>> {};

template <>
struct engine<elements<__nv_bfloat16>> : bfloat16_columns<1024>, settling<bfloat16_columns<1024>::most>, window {
  using columns = bfloat16_columns<1024>;
  static constexpr int loads = 4;
  float special;
  __device__ __forceinline__ void place(char* shared, int thread, long long*) { columns::place(shared, thread); }
  __device__ __forceinline__ void begin() {
    special = 0;
    pending = 0;
  }
  __device__ __forceinline__ void any(float x) {
    watch(special, x);
    if ((__float_as_uint(x) & 0x7fffffffu) < large) add(x);
    else add_large(x);
  }
  __device__ __forceinline__ void one(float x) {
    any(x);
    settle_after(1, *this);
  }
  __device__ __forceinline__ void vector(const uint4& v) {
    const unsigned top = __vmaxu2(__vmaxu2(v.x & 0x7fff7fffu, v.y & 0x7fff7fffu), __vmaxu2(v.z & 0x7fff7fffu, v.w & 0x7fff7fffu));
    if (max(top & 0xffffu, top >> 16) >= large >> 16) {
      uint4 left = v;
#pragma unroll 1
      for (int i = 0; i < 4; ++i) {
        const float2 two = both(left.x, __nv_bfloat16());
        any(two.x);
        any(two.y);
        left = make_uint4(left.y, left.z, left.w, 0);
      }
    } else {
      elements<__nv_bfloat16>::numbers(v, [&](float x, float y) {
        add(x);
        add(y);
      });
    }
    settle_after(8, *this);
  }
  __device__ __forceinline__ bool met_special() const { return special != 0; }

  // Before the window two and two numbers are added in float, and these two again: exact where they lie within 14 powers of two.
  static __device__ __forceinline__ float exact_sum(float x, float y, bool& inexact) {
    float sum, back;
    asm("add.rn.f32 %0, %1, %2;" : "=f"(sum) : "f"(x), "f"(y));
    // Of |x| >= |y| or not: the larger one's part comes back exactly, so the other's must.
    asm("sub.rn.f32 %0, %1, %2;" : "=f"(back) : "f"(sum), "f"(x));
    float other;
    asm("sub.rn.f32 %0, %1, %2;" : "=f"(other) : "f"(sum), "f"(y));
    inexact = inexact || back != y || other != x;
    return sum;
  }
  __device__ __forceinline__ void empty_window() {
    int bit;
    const long long sum = take_out(bit);
    if (sum == 0) return;
#pragma unroll
    for (int i = 0; i < 7; ++i) {  // pieces of 8 bits, as elements are
      const long long piece = i < 6 ? sum >> 8 * i & 0xff : sum >> 48;
      const int at = bit - origin + 8 * i;
      column[(at >> 3) * threads] += static_cast<unsigned>(piece) << (at & 7);
    }
    pending += 2;
  }
  __device__ __forceinline__ void close() { empty_window(); }
  template <class Next>
  __device__ __forceinline__ void round(uint4 (&flying)[loads], Next next) {
    if (aside > 0) {
      --aside;
      simple_round(*this, flying, next);
      return;
    }
    const double kept = first;
    bool inexact = false;
    unsigned moved = 0;
    uint4 held_back[loads];
#pragma unroll
    for (int u = 0; u < loads; ++u) {
      held_back[u] = flying[u];
      flying[u] = next(u);
      const uint4& v = held_back[u];
      const auto two = [&](unsigned w) {
        const float2 p = both(w, __nv_bfloat16());
        return exact_sum(p.x, p.y, inexact);
      };
      into_window(widened(exact_sum(two(v.x), two(v.y), inexact)), inexact, moved);
      into_window(widened(exact_sum(two(v.z), two(v.w), inexact)), inexact, moved);
    }
    if (!__any_sync(~0u, inexact || (moved & 0x7ff00000u) != 0)) {
      held();
      return;
    }
    first = kept;
    unsigned largest = 0;
#pragma unroll
    for (int u = 0; u < loads; ++u) {
      const uint4& v = held_back[u];
      vector(v);
      largest = __vmaxu2(largest, __vmaxu2(__vmaxu2(v.x & 0x7fff7fffu, v.y & 0x7fff7fffu), __vmaxu2(v.z & 0x7fff7fffu, v.w & 0x7fff7fffu)));
    }
    empty_window();
    place_window(__reduce_max_sync(~0u, max(largest & 0xffffu, largest >> 16)) >> 7, origin);
    failed();
  }
};

// half needs no bins while it adds: all halves are multiples of 2^-24 under 2^16, so a double holds the sum of 2^13 of them, and an
// integer of 64 bits that of 2^23. An infinity or NaN goes through the double as it would through any sum.
template <>
struct engine<elements<__half>> : column_of<unsigned long long, 1, 1024>, settling<1 << 12> {
  static constexpr range values = range::narrow;
  static constexpr int spacing = 32, origin = -24 - layout<range::narrow>::unit;
  static constexpr int loads = 4;
  double first, second;
  long long settled;
  bool special;
  __device__ __forceinline__ void place(char* shared, int thread, long long*) { column_of::place(shared, thread); }
  __device__ __forceinline__ void begin() {
    first = second = 0;
    settled = 0;
    special = false;
    pending = 0;
  }
  __device__ __forceinline__ void one(float x) {
    first += widened(x);
    settle_after(1, *this);
  }
  __device__ __forceinline__ void vector(const uint4& v) {
    elements<__half>::numbers(v, [&](float x, float y) {
      first += widened(x);
      second += widened(y);
    });
    settle_after(8, *this);
  }
  template <class Next>
  __device__ __forceinline__ void round(uint4 (&flying)[loads], Next next) {
    simple_round(*this, flying, next);
  }
  __device__ __forceinline__ void settle() {
    const double sum = first + second;  // less than 2^29, in units of 2^-24: exact
    special = special || !(fabs(sum) < 0x1p40);
    settled += special ? 0 : static_cast<long long>(sum * 0x1p24);
    first = second = 0;
  }
  __device__ __forceinline__ bool met_special() const { return special; }
  __device__ __forceinline__ void close() {
    settle();
    *column += static_cast<unsigned long long>(settled);
    settled = 0;
  }
};

// Numbers that are doubles go straight to the bins: products of float and bfloat16.
template <class Input>
struct product_engine : double_columns<22, 20, 768>, settling<double_columns<22, 20, 768>::most> {
  using columns = double_columns<22, 20, 768>;
  static constexpr int loads = 2;
  unsigned largest;  // of all high words, without sign
  __device__ __forceinline__ void place(char* shared, int thread, long long*) { columns::place(shared, thread); }
  __device__ __forceinline__ void begin() {
    largest = 0;
    pending = 0;
  }
  __device__ __forceinline__ void take(double x) {
    largest = max(largest, static_cast<unsigned>(__double2hiint(x)) & 0x7fffffffu);
    if (largest < 0x7ff00000u) add(x);  // an infinity's bin does not exist here
  }
  __device__ __forceinline__ void one(double x) {
    take(x);
    settle_after(1, *this);
  }
  __device__ __forceinline__ void vector(const typename Input::vector& v) {
    Input::numbers(v, [&](double x, double y) {
      take(x);
      take(y);
    });
    settle_after(Input::width, *this);
  }
  template <class Next>
  __device__ __forceinline__ void round(typename Input::vector (&flying)[loads], Next next) {
    simple_round(*this, flying, next);
  }
  __device__ __forceinline__ bool met_special() const { return largest >= 0x7ff00000u; }
  __device__ __forceinline__ void close() {}
};
template <>
struct engine<products_of<float>> : product_engine<products_of<float>> {};
template <>
struct engine<products_of<__nv_bfloat16>> : product_engine<products_of<__nv_bfloat16>> {};

// Products of doubles. Away from the ends of the range a product is the sum of two doubles, a*b rounded and its error, and both go to
// the bins. Near the ends it is an integer of 106 bits, which goes to limbs that the threads share.
template <>
struct engine<products_of<double>> : double_columns<0, 66, 384>, settling<double_columns<0, 66, 384>::most> {
  using columns = double_columns<0, 66, 384>;
  static constexpr range values = range::product;
  static constexpr int origin = layout<range::wide>::unit - layout<range::product>::unit;
  static constexpr int loads = 3;
  long long* rare;
  bool special;
  __device__ __forceinline__ void place(char* shared, int thread, long long* limbs) {
    columns::place(shared, thread);
    rare = limbs;
  }
  __device__ __forceinline__ void begin() {
    special = false;
    pending = 0;
  }
  __device__ __noinline__ static bool take_rare(double a, double b, long long* limb) {  // true: an infinity or NaN
    const unsigned long long x = to_bits(a), y = to_bits(b);
    const int ex = static_cast<int>(x >> 52 & 0x7ff), ey = static_cast<int>(y >> 52 & 0x7ff);
    if (ex == 0x7ff || ey == 0x7ff) return true;
    constexpr unsigned long long fraction = (1ull << 52) - 1;
    const unsigned long long mx = (x & fraction) | (ex != 0 ? 1ull << 52 : 0), my = (y & fraction) | (ey != 0 ? 1ull << 52 : 0);
    const unsigned long long low = mx * my, high = __umul64hi(mx, my);
    const bool negative = (x ^ y) >> 63;
    const int position = max(ex, 1) + max(ey, 1) + 2 * layout<range::wide>::unit - layout<range::product>::unit;
    const unsigned part[4] = {static_cast<unsigned>(low), static_cast<unsigned>(low >> 32), static_cast<unsigned>(high),
                              static_cast<unsigned>(high >> 32)};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const long long digit = negative ? -static_cast<long long>(part[i]) : static_cast<long long>(part[i]);
      if (digit != 0) deposit(limb, digit, 0, position + 32 * i);
    }
    return false;
  }
  __device__ __forceinline__ void take(const two_doubles& x) {
    const double p = __dmul_rn(x.a, x.b);
    const unsigned field = static_cast<unsigned>(__double2hiint(p)) & 0x7ff00000u;
    if (field - (64u << 20) < (1959u << 20)) {
      add(p);
      add(__fma_rn(x.a, x.b, -p));
    } else if (x.a != 0 && x.b != 0) {
      special = take_rare(x.a, x.b, rare) || special;
    } else {
      special = special || p != 0;  // 0 * infinity
    }
  }
  __device__ __forceinline__ void one(const two_doubles& x) {
    take(x);
    settle_after(2, *this);
  }
  __device__ __forceinline__ void vector(const two_vectors& v) {
    products_of<double>::numbers(v, [&](const two_doubles& x, const two_doubles& y) {
      take(x);
      take(y);
    });
    settle_after(4, *this);
  }
  template <class Next>
  __device__ __forceinline__ void round(two_vectors (&flying)[loads], Next next) {
    simple_round(*this, flying, next);
  }
  __device__ __forceinline__ bool met_special() const { return special; }
  __device__ __forceinline__ void close() {}
};

// double: a second window takes what the first leaves, t = a + x; x - (t - a).
template <>
struct engine<elements<double>> : double_columns<0, 66, 384>, settling<double_columns<0, 66, 384>::most>, window {
  using columns = double_columns<0, 66, 384>;
  static constexpr int loads = 8;
  double second = 0, second_start = 0;
  unsigned largest;  // of all high words, without sign

  __device__ __forceinline__ void place(char* shared, int thread, long long*) { columns::place(shared, thread); }
  __device__ __forceinline__ void begin() {
    largest = 0;
    pending = 0;
  }
  __device__ __forceinline__ bool met_special() const { return largest >= 0x7ff00000u; }
  __device__ __forceinline__ void direct(double x) {
    largest = max(largest, static_cast<unsigned>(__double2hiint(x)) & 0x7fffffffu);
    add(x);
  }
  __device__ __forceinline__ void one(double x) {
    direct(x);
    settle_after(1, *this);
  }
  __device__ __forceinline__ void vector(const uint4& v) {
    elements<double>::numbers(v, [&](double x, double y) {
      direct(x);
      direct(y);
    });
    settle_after(2, *this);
  }
  __device__ __forceinline__ void empty_windows() {
    add(__dsub_rn(first, first_start));
    add(__dsub_rn(second, second_start));
    pending += 2;
  }
  // After a failure: windows for numbers up to that with high word `largest_high`, in any lane.
  __device__ __forceinline__ void place_windows(unsigned largest_high) {
    empty_windows();
    // 2^14 above the largest number: so many of them fit. Not so low that the second window would be subnormal.
    const int exponent = max(static_cast<int>(__reduce_max_sync(~0u, largest_high) >> 20) + 14, 41);
    failed();
    const bool off = exponent > 2040;
    first = first_start = __hiloint2double(off ? 0 : exponent << 20 | 0x80000, 0);
    second = second_start =
        __hiloint2double(off ? 0 : (exponent - 40) << 20 | 0x80000, 0);  // 2^12 halves of the first's last bit
  }
  __device__ __forceinline__ void windowed(double x, double y, unsigned& moved, unsigned& left) {
    const double t0 = __dadd_rn(first, x), l0 = __dsub_rn(x, __dsub_rn(t0, first));
    const double u0 = __dadd_rn(second, l0), r0 = __dsub_rn(l0, __dsub_rn(u0, second));
    first = __dadd_rn(t0, y);
    const double l1 = __dsub_rn(y, __dsub_rn(first, t0));
    second = __dadd_rn(u0, l1);
    const double r1 = __dsub_rn(l1, __dsub_rn(second, u0));
    moved |= (high(t0) ^ high(first_start)) | (high(first) ^ high(first_start));
    moved |= (high(u0) ^ high(second_start)) | (high(second) ^ high(second_start));
    left |= high(r0) | low(r0);
    left |= high(r1) | low(r1);
  }
  template <class Next>
  __device__ __forceinline__ void round(uint4 (&flying)[loads], Next next) {
    const auto take = [&](double x, double y) {
      direct(x);
      direct(y);
    };
    if (aside > 0) {
      --aside;
#pragma unroll
      for (int u = 0; u < loads; ++u) {
        const uint4 v = flying[u];
        flying[u] = next(u);
        elements<double>::numbers(v, take);
      }
      settle_after(2 * loads, *this);
      return;
    }
    const double kept = first, kept_second = second;
    unsigned moved = 0, left = 0;
    uint4 held_back[loads];
#pragma unroll
    for (int u = 0; u < loads; ++u) {
      held_back[u] = flying[u];
      flying[u] = next(u);
      elements<double>::numbers(held_back[u], [&](double x, double y) { windowed(x, y, moved, left); });
    }
    if (!__any_sync(~0u, ((moved & 0x7ff00000u) | left) != 0)) {
      held();
      return;
    }
    first = kept;
    second = kept_second;
    unsigned most_high = 0;
#pragma unroll
    for (int u = 0; u < loads; ++u) {
      elements<double>::numbers(held_back[u], [&](double x, double y) {
        most_high = max(most_high, max(static_cast<unsigned>(__double2hiint(x)) & 0x7fffffffu, static_cast<unsigned>(__double2hiint(y)) & 0x7fffffffu));
        take(x, y);
      });
    }
    place_windows(most_high);
    settle_after(2 * loads, *this);
  }
  __device__ __forceinline__ void close() {
    empty_windows();
    first = first_start;
    second = second_start;
  }
};

}  // namespace coalesce::exact
