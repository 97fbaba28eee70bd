// What a thread does with the 16 bytes it has loaded, for each element type: sums and sums of products. An engine is a
// thread's state; its bins are in shared memory.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <coalesce/exact/columns.cuh>

namespace coalesce::exact {

template <>
struct format<__half> : format<half_bits> {};
template <>
struct format<__nv_bfloat16> : format<bfloat16_bits> {};

// What a number that is added says beside its value.
template <class Number>
__device__ __forceinline__ unsigned flags_of(Number x) {
  const auto b = to_bits(x);
  const auto magnitude = static_cast<typename format<Number>::bits>(b & ~sign_bit<Number>);
  if (magnitude > infinity<Number>) return nan_seen;
  if (magnitude == infinity<Number>) return b == magnitude ? plus_infinity : minus_infinity;
  return b == sign_bit<Number> ? negative_zero : something;
}

__device__ __forceinline__ float low_bfloat16(unsigned two) { return __uint_as_float(two << 16); }
__device__ __forceinline__ float high_bfloat16(unsigned two) { return __uint_as_float(two & 0xffff0000u); }
__device__ __forceinline__ float2 both_halves(unsigned two) {
  __half2 h;
  memcpy(&h, &two, sizeof(h));
  return __half22float2(h);
}

// Adds 0 * x: NaN, for good, from the first infinity or NaN on.
__device__ __forceinline__ void watch(float& special, float x) {
  asm("fma.rn.f32 %0, %1, 0f00000000, %0;" : "+f"(special) : "f"(x));
}

// A round: every vector in flight is replaced by the next one as soon as it is taken. `pending` counts numbers up to
// settle().
template <class Engine, class Next>
__device__ __forceinline__ void simple_round(Engine& engine, uint4 (&flying)[Engine::loads], Next next) {
#pragma unroll
  for (int u = 0; u < Engine::loads; ++u) {
    const uint4 v = flying[u];
    flying[u] = next(u);
    engine.vector(v);
  }
  engine.settle_for(Engine::loads * Engine::width);
}

template <class T, int Threads, int Loads>
struct sum_engine;

template <int Threads, int Loads>
struct sum_engine<float, Threads, Loads> : float_columns<Threads> {
  static constexpr int width = 4;
  int pending = 0;
  static constexpr int loads = Loads, blocks = 1;
  float special = 0;
  __device__ __forceinline__ void settle_for(int numbers) {
    if constexpr (sum_engine::most < 1 << 20) {
      if ((pending += numbers) > sum_engine::most - 2 * Loads * width) {
        pending = 0;
        this->settle();
      }
    }
  }
  __device__ __forceinline__ void begin(char* shared, int thread) { this->zero(shared, thread); }
  __device__ __forceinline__ void one(float x) {
    watch(special, x);
    this->add(x);
  }
  __device__ __forceinline__ void vector(const uint4& v) {
    one(__uint_as_float(v.x));
    one(__uint_as_float(v.y));
    one(__uint_as_float(v.z));
    one(__uint_as_float(v.w));
  }
  __device__ __forceinline__ bool met_special() const { return special != 0; }
  template <class Next>
  __device__ __forceinline__ void round(uint4 (&flying)[Loads], Next next) {
    simple_round(*this, flying, next);
  }
  __device__ __forceinline__ void close() {}
};

template <int Threads, int Loads>
struct sum_engine<__nv_bfloat16, Threads, Loads> : bfloat16_columns<Threads> {
  using columns = bfloat16_columns<Threads>;
  static constexpr int width = 8;
  int pending = 0;
  static constexpr int loads = Loads, blocks = 1;
  float special = 0;
  __device__ __forceinline__ void settle_for(int numbers) {
    if constexpr (sum_engine::most < 1 << 20) {
      if ((pending += numbers) > sum_engine::most - 2 * Loads * width) {
        pending = 0;
        this->settle();
      }
    }
  }
  __device__ __forceinline__ void begin(char* shared, int thread) { this->zero(shared, thread); }
  __device__ __forceinline__ void any(float x) {
    watch(special, x);
    if ((__float_as_uint(x) & 0x7fffffffu) < columns::large)
      this->add(x);
    else
      this->add_large(x);
  }
  __device__ __forceinline__ void one(__nv_bfloat16 x) {
    any(__uint_as_float(static_cast<unsigned>(to_bits(x)) << 16));
  }
  __device__ __forceinline__ void pair(unsigned two) {
    this->add(low_bfloat16(two));
    this->add(high_bfloat16(two));
  }
  __device__ __forceinline__ void vector(const uint4& v) {
    const unsigned top =
        __vmaxu2(__vmaxu2(v.x & 0x7fff7fffu, v.y & 0x7fff7fffu), __vmaxu2(v.z & 0x7fff7fffu, v.w & 0x7fff7fffu));
    if (max(top & 0xffffu, top >> 16) >= columns::large >> 16) {
      uint4 left = v;
#pragma unroll 1
      for (int i = 0; i < 4; ++i) {
        any(low_bfloat16(left.x));
        any(high_bfloat16(left.x));
        left = make_uint4(left.y, left.z, left.w, 0);
      }
    } else {
      pair(v.x);
      pair(v.y);
      pair(v.z);
      pair(v.w);
    }
  }
  __device__ __forceinline__ bool met_special() const { return special != 0; }
  template <class Next>
  __device__ __forceinline__ void round(uint4 (&flying)[Loads], Next next) {
    simple_round(*this, flying, next);
  }
  __device__ __forceinline__ void close() {}
};

// half needs no bins: all halves are multiples of 2^-24 under 2^16, so a double holds the sum of 2^13 of them, and an
// integer of 64 bits that of 2^23. An infinity or NaN goes through the double as it would through any sum.
template <int Threads, int Loads>
struct sum_engine<__half, Threads, Loads> : column_of<unsigned long long, 1, Threads> {
  static constexpr range values = range::narrow;
  static constexpr int spacing = 32, origin = -24 - layout<range::narrow>::unit;
  static constexpr int width = 8;
  int pending = 0;
  static constexpr int most = 1 << 12, loads = Loads, blocks = 1;
  double sum[2] = {0, 0};
  long long settled = 0;
  bool special = false;
  __device__ __forceinline__ void settle_for(int numbers) {
    if constexpr (sum_engine::most < 1 << 20) {
      if ((pending += numbers) > sum_engine::most - 2 * Loads * width) {
        pending = 0;
        this->settle();
      }
    }
  }
  __device__ __forceinline__ void begin(char* shared, int thread) { this->zero(shared, thread); }
  __device__ __forceinline__ void one(__half x) { sum[0] += widened(__half2float(x)); }
  __device__ __forceinline__ void pair(unsigned two) {
    const float2 f = both_halves(two);
    sum[0] += widened(f.x);
    sum[1] += widened(f.y);
  }
  __device__ __forceinline__ void vector(const uint4& v) {
    pair(v.x);
    pair(v.y);
    pair(v.z);
    pair(v.w);
  }
  __device__ __forceinline__ void settle() {
    const double both = sum[0] + sum[1];  // less than 2^29, in units of 2^-24: exact
    special = special || !(fabs(both) < 0x1p40);
    settled += special ? 0 : static_cast<long long>(both * 0x1p24);
    sum[0] = sum[1] = 0;
  }
  __device__ __forceinline__ bool met_special() const { return special; }
  template <class Next>
  __device__ __forceinline__ void round(uint4 (&flying)[Loads], Next next) {
    simple_round(*this, flying, next);
  }
  __device__ __forceinline__ void close() {
    settle();
    *this->column = static_cast<unsigned long long>(settled);
  }
};

// Two doubles in registers stand before the bins: windows on the exponents that the data mostly has. t = a + x; t - a
// is what of x the first window took, and the rest goes to the second in the same way. This is exact as long as each t
// keeps its exponent and the second window leaves nothing. Both are looked at once a round: where a lane of the warp
// failed, the warp puts its windows back as they were and adds the round to the bins. Data that fails twice running
// goes straight to the bins for a while.
template <int Threads, int Loads, int FirstLimb, int Bins>
struct wide_engine : double_columns<FirstLimb, Bins, Threads> {
  using columns = double_columns<FirstLimb, Bins, Threads>;
  static constexpr int loads = Loads, blocks = 1;
  double first = 0, second = 0, first_start = 0, second_start = 0;
  unsigned largest = 0;  // of all high words, without sign
  int pending = 0;       // numbers added to the bins since settle()
  int aside = 0, failures = 0,
      lost = 0;  // rounds still to go to the bins; failures running; times given up. Equal in a warp

  __device__ __forceinline__ void begin(char* shared, int thread) { this->zero(shared, thread); }
  __device__ __forceinline__ bool met_special() const { return largest >= 0x7ff00000u; }
  __device__ __forceinline__ void direct(double x) {
    largest = max(largest, static_cast<unsigned>(__double2hiint(x)) & 0x7fffffffu);
    this->add(x);
  }
  __device__ __forceinline__ void settle_for(int numbers) {
    if ((pending += numbers) > columns::most - 128) {
      pending = 0;
      this->settle();
    }
  }
  __device__ __forceinline__ void empty_windows() {
    this->add(__dsub_rn(first, first_start));
    this->add(__dsub_rn(second, second_start));
    pending += 2;
  }
  // After a failure: windows for numbers up to that with high word `high`, in any lane.
  __device__ __forceinline__ void place_windows(unsigned high) {
    empty_windows();
    // 2^14 above the largest number: so many of them fit. Not so low that the second window would be subnormal.
    const int exponent = max(static_cast<int>(__reduce_max_sync(~0u, high) >> 20) + 14, 41);
    if (++failures > 1 || exponent > 2040) {
      aside = 16 << 2 * lost;
      lost = min(lost + 1, 3);
    }
    const bool off = exponent > 2040;
    first = first_start = __hiloint2double(off ? 0 : exponent << 20 | 0x80000, 0);
    second = second_start =
        __hiloint2double(off ? 0 : (exponent - 40) << 20 | 0x80000, 0);  // 2^12 halves of the first's last bit
  }
  __device__ __forceinline__ void windowed(double x, double y, unsigned& moved, unsigned& left) {
    const auto high = [](double d) { return static_cast<unsigned>(__double2hiint(d)); };
    const auto low = [](double d) { return static_cast<unsigned>(__double2loint(d)); };
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
  // `numbers(v, body)` calls body(x, y) for each two numbers of a vector.
  template <class Vector, class Next, class Numbers>
  __device__ __forceinline__ void wide_round(Vector (&flying)[Loads], Next next, Numbers numbers, int each) {
    const auto take = [&](double x, double y) {
      direct(x);
      direct(y);
    };
    if (aside > 0) {
      --aside;
#pragma unroll
      for (int u = 0; u < Loads; ++u) {
        const Vector v = flying[u];
        flying[u] = next(u);
        numbers(v, take);
      }
      settle_for(each * Loads);
      return;
    }
    const double kept = first, kept_second = second;
    unsigned moved = 0, left = 0;
    Vector held[Loads];
#pragma unroll
    for (int u = 0; u < Loads; ++u) {
      held[u] = flying[u];
      flying[u] = next(u);
      numbers(held[u], [&](double x, double y) { windowed(x, y, moved, left); });
    }
    if (!__any_sync(~0u, ((moved & 0x7ff00000u) | left) != 0)) {
      failures = 0;
      return;
    }
    first = kept;
    second = kept_second;
    unsigned high = 0;
#pragma unroll
    for (int u = 0; u < Loads; ++u) {
      numbers(held[u], [&](double x, double y) {
        high = max(high, max(static_cast<unsigned>(__double2hiint(x)) & 0x7fffffffu,
                             static_cast<unsigned>(__double2hiint(y)) & 0x7fffffffu));
        take(x, y);
      });
    }
    place_windows(high);
    settle_for(each * Loads);
  }
  __device__ __forceinline__ void close() { empty_windows(); }
};

template <int Threads, int Loads>
struct sum_engine<double, Threads, Loads> : wide_engine<Threads, Loads, 0, 66> {
  __device__ __forceinline__ void one(double x) {
    this->direct(x);
    this->settle_for(1);
  }
  template <class Body>
  static __device__ __forceinline__ void numbers(const uint4& v, Body body) {
    body(__hiloint2double(static_cast<int>(v.y), static_cast<int>(v.x)),
         __hiloint2double(static_cast<int>(v.w), static_cast<int>(v.z)));
  }
  __device__ __forceinline__ void vector(const uint4& v) {
    numbers(v, [&](double x, double y) {
      this->direct(x);
      this->direct(y);
    });
    this->settle_for(2);
  }
  template <class Next>
  __device__ __forceinline__ void round(uint4 (&flying)[Loads], Next next) {
    this->wide_round(flying, next, [](const uint4& v, auto body) { numbers(v, body); }, 2);
  }
};

}  // namespace coalesce::exact
