// How one thread takes numbers, vectors and rounds of vectors, for each input. An engine is the thread's state; its
// bins are in shared memory.
//
//   place(shared, thread, limb)  once. limb: shared by the threads that are folded together, for what does not go to
//                                bins; null if each thread has a result of its own
//   begin()                      before each result: all is 0
//   start()                      in a block of its own, after the first requests to memory
//   one(number)                  adding a number
//   round(flying, next, again)   adding the vectors in flight; next(u) requests vector u of the next round, again(u)
//                                that of this one once more
//   close()                      after the last number: all is in the bins. Or, for the engines of a block:
//   parts()                      what is not in the bins, of all the warp's lanes together
//   met_special()                whether there was an infinity or NaN: then what is in the bins is worthless
#pragma once

#include <coalesce/exact/input.cuh>
#include <coalesce/exact/window_sum.cuh>

namespace coalesce::exact {

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
  // The larger one's part comes back exactly, so the other's must; which is the larger one is not asked. Comparisons,
  // too, are as PTX has them: under -ftz the operator would take subnormals for 0.
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

// Keeps a request where it was written: to save registers the compiler would move it behind what is to go on meanwhile.
// For which engines that pays was measured.
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

// Each vector in turn, by a loop that is not unrolled, because it is rarely gone: body sees vectors[0]. In the end all
// are where they were.
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

// A window is a double in a register that stands before the bins: a = 1.5 * 2^k + what was added, so large that the
// last bits of the numbers are multiples of its last bit. While t = a + x keeps a's sign and exponent and t - a == x,
// nothing is lost. Both are looked at once a round, for a whole warp: where a lane failed, the warp puts its windows
// back as they were, requests the round's vectors again and adds them to the bins, and the window is placed anew by
// the round's largest number. Data that fails twice running goes straight to the bins for a while.
//
// Bins are zeroed when they are needed: data that fits windows never touches them. Nor does data of which now and then
// a number does not fit: a few of a round go to the limbs directly.
inline constexpr int few_of_round = 8;
struct trials {
  int aside = 0, failures = 0, lost = 0;  // rounds still to go to the bins; failures running; how often given up
  bool used_bins = false;                 // whether this thread's bins are in use
  bool used_limbs = false;                // whether this warp has put numbers to the limbs

  __device__ __forceinline__ void failed() {
    if (++failures > 1) {
      aside = 64 << 2 * lost;
      lost = ::min(lost + 1, 3);
    }
  }
  __device__ __forceinline__ void held() { failures = lost = 0; }
};

// Of what changes in a window's high word: sign and exponent.
inline constexpr unsigned place_bits = 0xfff00000u;
__device__ __forceinline__ unsigned high(double d) { return static_cast<unsigned>(__double2hiint(d)); }
__device__ __forceinline__ unsigned low(double d) { return static_cast<unsigned>(__double2loint(d)); }
__device__ __forceinline__ double window_at(unsigned place) { return __hiloint2double(static_cast<int>(place), 0); }
// What was added to the window that was placed at `place`, in units of its last bit.
__device__ __forceinline__ long long content(double window, unsigned place) {
  return __double_as_longlong(window) - (static_cast<long long>(place) << 32);
}

// A finite number to the limbs, whose bit 0 is worth 2^unit. Rarely gone.
__device__ __noinline__ void deposit_number(long long* limb, double x, int unit) {
  const unsigned long long bits = to_bits(x);
  const int field = static_cast<int>(bits >> 52 & 0x7ff);
  long long digits = static_cast<long long>((bits & ((1ull << 52) - 1)) | (field != 0 ? 1ull << 52 : 0));
  int position = ::max(field, 1) - 1075 - unit;
  if (position < 0) {  // of a type whose numbers have fewer bits: zeros
    digits >>= -position;
    position = 0;
  }
  if (x < 0) digits = -digits;
  deposit(limb, digits & 0xffffffffll, digits >> 32, position);
}

__device__ __forceinline__ double as_double(float x) { return widened(x); }
__device__ __forceinline__ double as_double(double x) { return x; }
__device__ __forceinline__ unsigned exponent_bits(float x) { return __float_as_uint(x) & 0x7f800000u; }
__device__ __forceinline__ unsigned exponent_bits(double x) { return high(x) & 0x7ff00000u; }

// Two windows: the second takes what the first leaves, t = a + x; x - (t - a). What does not fit goes to Columns.
template <class Input, class Columns, int Loads>
struct windows_engine : Columns, settling<Columns::most>, trials {
  static constexpr int loads = Loads;
  static constexpr bool lazy = true, fixed_shares = false;
  static constexpr bool requests_early = true;
  __device__ __forceinline__ void start() {}
  double first, second;
  unsigned place_first, place_second;  // the same in all lanes of a warp; 0: nowhere
  unsigned largest;                    // of the exponents of all that went to bins
  long long* limb;
  // A window's last bit is 2^(its exponent field - 1075): in the range's units, bit field - lowest_bit.
  static constexpr int lowest_bit = 1075 + layout<Columns::values>::unit;

  __device__ __forceinline__ void place(char* shared, int thread, long long* limbs) {
    Columns::place(shared, thread);
    limb = limbs;
    first = second = 0;
    place_first = place_second = 0;
  }
  __device__ __forceinline__ void begin() {
    largest = 0;
    this->pending = 0;
  }
  __device__ __forceinline__ void need_bins() {
    if (used_bins) return;
    used_bins = true;
    this->zero();
  }
  using number = typename Input::number;
  __device__ __forceinline__ bool met_special() const { return largest == exponent_bits(number(INFINITY)); }
  __device__ __forceinline__ void direct(number x) {
    largest = ::max(largest, exponent_bits(x));
    this->add(x);
  }
  __device__ __forceinline__ void one(number x) {
    need_bins();
    direct(x);
    this->settle_after(1, *this);
  }
  __device__ __forceinline__ void vector(const typename Input::vector& v) {
    Input::numbers(v, [&](number x, number y) {
      direct(x);
      direct(y);
    });
  }
  // For numbers up to that with high word `most`, 2^14 of them. Not so low that the second window would be below the
  // bins; nowhere if the first would be beyond doubles.
  __device__ __forceinline__ void place_windows(unsigned most) {
    const int exponent = ::max(static_cast<int>(__reduce_max_sync(~0u, most) >> 20) + 14, lowest_bit + 41);
    const bool off = exponent > 2040;
    place_first = off ? 0 : static_cast<unsigned>(exponent) << 20 | 0x80000u;
    place_second = off ? 0 : place_first - (40u << 20);  // 2^12 halves of the first's last bit
    first = window_at(place_first);
    second = window_at(place_second);
  }
  __device__ __forceinline__ window_sum parts() {
    if (place_first == 0) return {0, 0, 0, 0};
    const long long upper = content(first, place_first), lower = content(second, place_second);
    return two_parts(warp_sum(upper), warp_sum(lower), 40, static_cast<int>(place_second >> 20) - 1075);
  }
  // To the limbs.
  __device__ __forceinline__ void empty_windows() {
    const window_sum sum = parts();
    if (threadIdx.x % 32 == 0) deposit<Columns::values>(limb, sum);
    first = window_at(place_first);
    second = window_at(place_second);
  }
  // Whether a number fits the windows; then it is in them.
  __device__ __forceinline__ bool fits(double x) {
    const double t = __dadd_rn(first, x), rest = __dsub_rn(x, __dsub_rn(t, first));
    const double u = __dadd_rn(second, rest), none = __dsub_rn(rest, __dsub_rn(u, second));
    const unsigned moved = (high(t) ^ place_first) | (high(u) ^ place_second);
    const bool holds = ((moved & place_bits) | high(none) | low(none)) == 0;
    first = holds ? t : first;
    second = holds ? u : second;
    return holds;
  }
  __device__ __forceinline__ void outside(number x) {
    largest = ::max(largest, exponent_bits(x));
    if (exponent_bits(x) != exponent_bits(number(INFINITY)))
      deposit_number(limb, as_double(x), layout<Columns::values>::unit);
  }
  // Places the windows, which are empty, for the round in flight. Where many lanes have numbers that lie below them,
  // rounds are put aside at once: an attempt that fails takes as long as several rounds.
  __device__ __forceinline__ void look_ahead(const typename Input::vector (&flying)[loads]) {
    unsigned most = 0, least = ~0u;
#pragma unroll
    for (int u = 0; u < loads; ++u) {
      Input::numbers(flying[u], [&](number x, number y) {
        const unsigned a = high(as_double(x)) & 0x7fffffffu, b = high(as_double(y)) & 0x7fffffffu;
        most = ::max(most, ::max(a, b));
        least = ::min(least, ::min(a - 1, b - 1));  // 0 lies nowhere
      });
    }
    place_windows(most);
    const unsigned lowest = place_second & 0x7ff00000u;  // subnormals lie where exponent 1 does
    const unsigned below = __ballot_sync(~0u, lowest > 0x00100000u && least != ~0u && least + 1 < lowest);
    if (place_first != 0 && __popc(below) <= few_of_round) return;
    need_bins();
    failures = 1;
    failed();
  }
  template <class Next, class Again>
  __device__ __forceinline__ void round(typename Input::vector (&flying)[loads], Next next, Again again) {
    // After two failures running the windows are empty, too.
    if (aside == 0 && (place_first == 0 || failures > 1)) look_ahead(flying);
    if (aside > 0) {
      --aside;
      simple_round(*this, flying, next);
      this->settle_after(Input::width * loads, *this);
      return;
    }
    const double kept = first, kept_second = second;
    unsigned moved = 0, left = 0;
    const auto put = [&](double x) {
      const double t = __dadd_rn(first, x), rest = __dsub_rn(x, __dsub_rn(t, first));
      const double u = __dadd_rn(second, rest), none = __dsub_rn(rest, __dsub_rn(u, second));
      first = t;
      second = u;
      moved |= (high(t) ^ place_first) | (high(u) ^ place_second);
      left |= high(none) | low(none);
    };
#pragma unroll
    for (int u = 0; u < loads; ++u) {
      const typename Input::vector v = flying[u];
      flying[u] = next(u);
      request_now<windows_engine>();
      Input::numbers(v, [&](number x, number y) {
        put(as_double(x));
        put(as_double(y));
      });
    }
    if (!__any_sync(~0u, ((moved & place_bits) | left) != 0)) {
      held();
      return;
    }
    typename Input::vector back[loads];
#pragma unroll
    for (int u = 0; u < loads; ++u) back[u] = again(u);
    if (failures == 0) {
      first = kept;
      second = kept_second;
      unsigned others = 0, bit = 1;
      const auto each = [&](auto body) {
        bit = 1;
        in_turn(back, [&](const typename Input::vector& v) {
          Input::numbers(v, [&](number x, number y) {
            body(x);
            bit <<= 1;
            body(y);
            bit <<= 1;
          });
        });
      };
      each([&](number x) { others |= fits(as_double(x)) ? 0 : bit; });
      if (__reduce_add_sync(~0u, static_cast<unsigned>(__popc(others))) <= few_of_round) {
        each([&](number x) {
          if ((others & bit) != 0) outside(x);
        });
        used_limbs = true;
        ++failures;
        return;
      }
    }
    first = kept;
    second = kept_second;
    need_bins();
    unsigned most = 0;
    in_turn(back, [&](const typename Input::vector& v) {
      look(v, most);
      vector(v);
    });
    empty_windows();
    place_windows(most);
    failed();
    this->settle_after(Input::width * loads, *this);
  }
  static __device__ __forceinline__ void look(const typename Input::vector& v, unsigned& most) {
    Input::numbers(v, [&](number x, number y) {
      most = ::max(most, ::max(high(as_double(x)) & 0x7fffffffu, high(as_double(y)) & 0x7fffffffu));
    });
  }
  __device__ __forceinline__ void close() { empty_windows(); }
};

}  // namespace coalesce::exact
