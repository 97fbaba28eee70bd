// How one thread takes numbers, vectors and rounds of vectors, for each input. An engine is the thread's state; its
// bins are in shared memory.
//
//   place(shared, thread, rare)  once. rare: limbs for what fits no bin (products of doubles), shared by the threads
//                                that are folded together
//   begin()                      before each result: all is 0
//   one(number), round(...)      adding; vector(v) too, with settled(numbers) after some of them
//   close()                      after the last number: all is in the bins
//   met_special()                whether there was an infinity or NaN: then what is in the bins is worthless
#pragma once

#include <coalesce/exact/carry.cuh>
#include <coalesce/exact/input.cuh>

namespace coalesce::exact {

template <class Input>
struct engine;

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

// The first `count` vectors, by a loop that is not unrolled: code that runs once has to come from memory first, and
// costs more than its instructions.
template <class Engine, class Vector, int Loads>
__device__ __forceinline__ void drain(Engine& engine, Vector (&vectors)[Loads], int count) {
#pragma unroll 1
  for (int i = 0; i < count; ++i) {
    engine.vector(vectors[0]);
#pragma unroll
    for (int u = 0; u + 1 < Loads; ++u) vectors[u] = vectors[u + 1];
  }
}

// Counts numbers up to the time when bins have to hand on their carries. `Most` beyond 2^20 is never reached.
template <int Most>
struct settling {
  int pending = 0;
  template <class Bins>
  __device__ __forceinline__ void settle_after(int numbers, Bins& bins) {
    if constexpr (Most < 1 << 20) {
      if ((pending += numbers) > Most - 256) {  // so many more may be added at once
        pending = 0;
        bins.settle();
      }
    }
  }
};

// A window is a double in a register that stands before the bins: a = 1.5 * 2^k + what was added, so large that the
// last bits of the numbers are multiples of its last bit. While t = a + x keeps a's exponent and t - a == x, nothing is
// lost. Both are looked at once a round, for a whole warp: where a lane failed, the warp puts its windows back as they
// were and adds the round to the bins, and the window is placed anew by the round's largest number. Data that fails
// twice running goes straight to the bins for a while.
struct window {
  double first = 0, first_start = 0;      // starts are the same in all lanes of a warp, and so is what follows
  int aside = 0, failures = 0, lost = 0;  // rounds still to go to the bins; failures running; how often given up

  __device__ __forceinline__ void failed() {
    if (++failures > 1) {
      aside = 16 << 2 * lost;
      lost = ::min(lost + 1, 3);
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
  // For numbers up to that with exponent field `field` (of a float): 2^10 of them fit. Not so low that its last bit is
  // below `bit`.
  __device__ __forceinline__ void place_window(unsigned field, int bit) {
    const int exponent =
        ::max(static_cast<int>(field) + (1023 - 127 + 10), 1023 + 52 + layout<range::narrow>::unit + bit);
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

}  // namespace coalesce::exact
