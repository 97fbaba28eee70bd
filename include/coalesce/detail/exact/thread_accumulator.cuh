// One thread's engine for numbers, vectors and rounds of vectors, for each input. An engine is the thread's state; its
// bins are in shared memory.
//
//   place(shared, thread, limb)  once. limb: shared by the threads that are folded together, for what does not go to
//                                bins; null if each thread has a result of its own
//   begin()                      before each result: all is 0
//   start()                      in a block of its own, after the first requests to memory
//   one(number)                  adds a number
//   round(flying, next, again)   adds the vectors in flight; next(u) requests vector u of the next round, again(u)
//                                that of this one once more
//   close()                      after the last number: all is in the bins. Or, for the engines of a block:
//   parts()                      what is not in the bins, of all the warp's lanes together
//   met_special()                true after an infinity or NaN: then the bins are worthless
#pragma once

#include <coalesce/detail/exact/input.cuh>
#include <coalesce/detail/exact/window_sum.cuh>

namespace coalesce::detail::exact {

template <class Input>
struct engine;

// Adds 0 * x: NaN, for good, from the first infinity or NaN on.
__device__ __forceinline__ void watch(float& special, float x) {
  asm("fma.rn.f32 %0, %1, 0f00000000, %0;" : "+f"(special) : "f"(x));
}

// x + y in float, and whether that is not exact. bfloat16 are added in float before they go to a window: exact where
// they lie within 14 powers of two.
__device__ __forceinline__ float exact_pair(float x, float y, bool& inexact) {
  float sum;
  unsigned differs;
  // The larger number's part is exact, so the sum is exact if the other's is, whichever is larger. Comparisons are
  // PTX's, too: under -ftz the operator would take subnormals for 0.
  asm("{\n\t"
      ".reg .f32 back, other;\n\t"
      ".reg .pred p;\n\t"
      "add.rn.f32 %0, %2, %3;\n\t"
      "sub.rn.f32 back, %0, %2;\n\t"
      "sub.rn.f32 other, %0, %3;\n\t"
      "setp.neu.f32 p, back, %3;\n\t"
      "setp.neu.or.f32 p, other, %2, p;\n\t"
      "selp.u32 %1, 1, 0, p;\n\t"
      "}"
      : "=&f"(sum), "=r"(differs)
      : "f"(x), "f"(y));
  inexact = inexact || differs != 0;
  return sum;
}

__device__ __forceinline__ double exact_pair(double x, double y, bool& inexact) {
  const double sum = __dadd_rn(x, y);
  inexact = inexact || __dsub_rn(sum, x) != y || __dsub_rn(sum, y) != x;
  return sum;
}

// Keeps a request in its place: the compiler would move it later to save registers. Measured for each engine.
template <class Engine>
__device__ __forceinline__ void request_now() {
  if (Engine::requests_early) __syncwarp();
}

// A round: every vector in flight is replaced by the next one, as soon as it is taken or, to save registers, as soon as
// it is added.
template <class Engine, class Vector, int Loads, class Next>
__device__ __forceinline__ void simple_round(Engine& engine, Vector (&flying)[Loads], Next next) {
#pragma unroll
  for (int u = 0; u < Loads; ++u) {
    const Vector v = flying[u];
    if (!Engine::requests_early) engine.vector(v);
    flying[u] = next(u);
    request_now<Engine>();
    if (Engine::requests_early) engine.vector(v);
  }
}

// Each vector in turn, by a loop that is not unrolled, because it is rarely gone, or once: body sees vectors[0]. In the
// end all are where they were.
template <class Vector, int Loads, class Body>
__device__ __forceinline__ void in_turn(Vector (&vectors)[Loads], Body body) {
#pragma unroll 1
  for (int i = 0; i < Loads; ++i) {
    const Vector v = vectors[0];
    body(v);
#pragma unroll
    for (int u = 0; u + 1 < Loads; ++u) vectors[u] = vectors[u + 1];
    vectors[Loads - 1] = v;
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

// A window is a double in a register: a = 1.5 * 2^k + what was added, so large that the last bits of the numbers are
// multiples of its last bit. While t = a + x keeps a's sign and exponent and t - a == x, nothing is lost. (windows.cuh)
inline constexpr unsigned place_bits = 0xfff00000u;  // of what changes in a window's high word: sign and exponent
__device__ __forceinline__ unsigned high(double d) { return static_cast<unsigned>(__double2hiint(d)); }
__device__ __forceinline__ unsigned low(double d) { return static_cast<unsigned>(__double2loint(d)); }
__device__ __forceinline__ double window_at(unsigned place) { return __hiloint2double(static_cast<int>(place), 0); }
// The sum in the window that was placed at `place`, in units of its last bit.
__device__ __forceinline__ long long content(double window, unsigned place) {
  return __double_as_longlong(window) - (static_cast<long long>(place) << 32);
}

__device__ __forceinline__ double as_double(float x) { return widened(x); }
__device__ __forceinline__ double as_double(double x) { return x; }
__device__ __forceinline__ unsigned exponent_bits(double x) { return high(x) & 0x7ff00000u; }

}  // namespace coalesce::detail::exact
