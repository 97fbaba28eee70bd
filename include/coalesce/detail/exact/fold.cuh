// Folds threads' columns to one number: of a block, of a warp, of a few threads of a block.
#pragma once

#include <coalesce/detail/exact/double_pieces.cuh>
#include <coalesce/detail/exact/result.cuh>

namespace coalesce::detail::exact {

// Shared memory of a block beside the columns.
template <class Engine>
struct block_room {
  static constexpr int limbs = limbs_of<Engine::values>;
  static constexpr int sums = Engine::sums > limbs ? Engine::sums : limbs;
  long long limb[limbs];
  long long low[sums], high[sums];
  unsigned word[limbs];
  unsigned flags, next;
  window_sum part[32];  // of each warp
  window_sum sum;       // of all
  bool last;
};

// Piece 0, 1 or 2 of (low + high * 2^32) << shift: 32 bits each but for the last.
__device__ __forceinline__ long long piece_of(long long low, long long high, int shift, int piece) {
  const long long top = high + (low >> 32);
  const unsigned long long a = static_cast<unsigned long long>(low & 0xffffffffll) << shift;
  const unsigned long long b = static_cast<unsigned long long>(top & 0xffffffffll) << shift;
  return piece == 0   ? static_cast<long long>(a & 0xffffffffull)
         : piece == 1 ? static_cast<long long>((a >> 32) + (b & 0xffffffffull))
                      : static_cast<long long>((b >> 32) + (static_cast<unsigned long long>(top >> 32) << shift));
}

// Limb k's part of bins whose sums are low[i] + high[i] * 2^32: each bin gives three pieces.
template <class Engine>
__device__ __forceinline__ long long gathered(const long long* low, const long long* high, int k) {
  constexpr int spacing = Engine::spacing, origin = Engine::origin;
  long long sum = 0;
  const int from = (32 * (k - 2) - origin + spacing - 1) / spacing;
  for (int i = ::max(from, 0); i < Engine::bins; ++i) {
    const int position = origin + spacing * i, piece = k - position / 32;
    if (piece < 0) break;
    if (piece <= 2) sum += piece_of(low[i], high[i], position % 32, piece);
  }
  return sum;
}

// Adds the block's sums of bins to its limbs. Called by all threads of the block, `threads` many.
template <class Engine>
__device__ __forceinline__ void gather_limbs(block_room<Engine>& room, int threads) {
  __syncthreads();
  for (int k = static_cast<int>(threadIdx.x); k < block_room<Engine>::limbs; k += threads)
    room.limb[k] += gathered<Engine>(room.low, room.high, k);
  __syncthreads();
}

// A warp's remarks on its part, in `failed`.
constexpr int not_held = 1, used_bins = 2, met_special = 4;

// Adds up what each warp has in room.part, by the first warp: room.sum. A barrier lies behind, none before.
template <class Room>
__device__ __forceinline__ void fold_parts(Room& room, int warps) {
  if (threadIdx.x < 32) {
    window_sum mine{};
    if (static_cast<int>(threadIdx.x) < warps) mine = room.part[threadIdx.x];
    mine.failed &= not_held;
    const window_sum sum = sum_of_lanes(mine);
    if (threadIdx.x == 0) room.sum = sum;
  }
  __syncthreads();
}

// A block's sum: in room.sum if no thread used its bins, else in room.limb.
struct folded {
  bool held, special;
};

// The same of bins that the block's warps share. A thread adds up a bin: the lanes' words, which lie in a row, and puts
// the sum there. Neighbours begin at different words, so that where rows have 128 bytes no two use the same bank.
template <class Engine>
__device__ __forceinline__ folded fold_shared(const Engine&, char* shared, block_room<Engine>& room, int threads) {
  constexpr int exponents = Engine::bins / 2, limbs = block_room<Engine>::limbs;
  const int t = threadIdx.x, lane = t % 32, warp = t / 32, warps = threads / 32;
  char* const bins = Engine::first(shared);
  constexpr int vectors = Engine::row / 16;
  const auto sum_at = [&](int i) -> long long& {
    return *reinterpret_cast<long long*>(bins + i * Engine::row + i % (2 * vectors) * 8);
  };
  __syncthreads();
  for (int i = t; i < Engine::bins; i += threads) {
    unsigned long long sum[2] = {0, 0};
#pragma unroll
    for (int w = 0; w < Engine::words; ++w) {
      const uint4* const row = reinterpret_cast<const uint4*>(bins + w * Engine::plane) + i * vectors;
#pragma unroll
      for (int j = 0; j < vectors; ++j) {
        const uint4 v = row[(j + lane) % vectors];
        sum[w] += static_cast<unsigned long long>(v.x) + v.y;
        sum[w] += static_cast<unsigned long long>(v.z) + v.w;
      }
    }
    sum_at(i) = static_cast<long long>((sum[0] << 16) + sum[1]);
  }
  __syncthreads();
  // Exponent e's bits begin at bit e of the limbs: a lane takes the exponents that begin at its bit of a limb. Exponent
  // 0 means what 1 does.
  const auto of_exponent = [&](int e) { return sum_at(e) - sum_at(exponents + e); };
  for (int k = warp; k < limbs; k += warps) {
    long long sum = 0;
#pragma unroll
    for (int piece = 0; piece < 3; ++piece) {
      const int e = 32 * (k - piece) + lane;
      if (e >= 1 && e < exponents - 1) sum += piece_of(of_exponent(e) + (e == 1 ? of_exponent(0) : 0), 0, lane, piece);
    }
    sum = warp_sum(sum);
    if (lane == 0) room.limb[k] += sum;
  }
  const bool special = (sum_at(exponents - 1) | sum_at(2 * exponents - 1)) != 0;
  __syncthreads();
  return {false, special};
}

// The same of doubles' pieces.
template <class Input>
__device__ __forceinline__ folded fold_shared(const piece_engine<Input>& engine, char* shared,
                                              block_room<piece_engine<Input>>& room, int threads) {
  using Engine = piece_engine<Input>;
  static_assert(sizeof(room) <= Engine::base / 2, "bins lie above a block's other shared memory");
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = threads / 32;
  const bool special = __syncthreads_or(engine.met_special());
  for (int i = warp; i < Engine::bins; i += warps) {
    const long long sum = warp_sum(Engine::content(Engine::first(shared), lane, i));
    if (lane == 0) {
      room.low[i] = sum;
      room.high[i] = 0;
    }
  }
  gather_limbs<Engine>(room, threads);
  return {false, special};
}

// Adds up all that the threads have. Called by all threads of the block, `threads` many.
template <class Engine>
__device__ __forceinline__ folded fold_block(Engine& engine, const char* shared, block_room<Engine>& room,
                                             int threads) {
  using word = typename Engine::word;
  const int lane = threadIdx.x & 31, warp = threadIdx.x / 32, warps = threads / 32;
  const word* columns = reinterpret_cast<const word*>(shared);
  bool special = false;
  if constexpr (Engine::lazy) {
    window_sum mine = engine.parts();
    if (__any_sync(~0u, engine.used_bins)) mine.failed |= used_bins;
    if (__any_sync(~0u, engine.met_special())) mine.failed |= met_special;
    if (lane == 0) room.part[warp] = mine;
    __syncthreads();
    const int all = __reduce_or_sync(~0u, lane < warps ? room.part[lane].failed : 0);
    special = (all & met_special) != 0;
    fold_parts(room, warps);
    if (all == 0 && !room.sum.failed) return {true, false};
    // All at once where that is possible, because deposits to the same place wait for each other.
    if (room.sum.failed) {
      if (lane == 0) deposit<Engine::values>(room.limb, mine);
    } else {
      if (threadIdx.x == 0) deposit<Engine::values>(room.limb, room.sum);
    }
    if ((all & used_bins) == 0) {
      __syncthreads();
      return {false, special};
    }
    engine.need_bins();
    __syncthreads();
  } else {
    special = __syncthreads_or(engine.met_special());
  }
  for (int i = warp; i < Engine::bins; i += warps) {
    long long low = 0, high = 0;
#pragma unroll 8
    for (int j = lane; j < threads; j += 32) {
      const word v = columns[i * Engine::threads + j];
      if constexpr (sizeof(word) == 8) {
        low += static_cast<unsigned>(v);
        high += static_cast<long long>(v) >> 32;
      } else {
        low += static_cast<int>(v);
      }
    }
    low = warp_sum(low);
    if constexpr (sizeof(word) == 8) high = warp_sum(high);
    if (lane == 0) {
      room.low[i] = low;
      room.high[i] = high;
    }
  }
  gather_limbs<Engine>(room, threads);
  return {false, special};
}

template <class Engine>
struct warp_room {
  static constexpr int limbs = limbs_of<Engine::values>;
  struct sums {
    long long low[Engine::bins], high[Engine::bins];
  };
  long long limb[limbs];
  union {  // the words come when the sums are no longer needed
    sums bin;
    unsigned word[limbs];
  };
};

// The same for one warp: `column` is lane 0's. Leaves the columns 0. Lanes read bins, each its own, and go
// through the columns one apart from each other, so that no two use the same bank.
template <class Engine>
__device__ __forceinline__ void fold_warp(typename Engine::word* column, warp_room<Engine>& room) {
  using word = typename Engine::word;
  constexpr int threads = Engine::threads, bins = Engine::bins;
  const int lane = threadIdx.x & 31;
  __syncwarp();
  // With 16 bins or fewer two lanes share one.
  constexpr int share = bins <= 16 ? 2 : 1, at_once = 32 / share, columns_each = 32 / share;
  const int part = lane / at_once;
#pragma unroll 1
  for (int first = 0; first < bins; first += at_once) {
    const int i = first + lane % at_once;
    long long low = 0, high = 0;
    if (i < bins) {
#pragma unroll 8
      for (int j = 0; j < columns_each; ++j) {
        word* from = column + i * threads + part * columns_each + (j + lane) % columns_each;
        const word v = *from;
        *from = 0;
        if constexpr (sizeof(word) == 8) {
          low += static_cast<unsigned>(v);
          high += static_cast<long long>(v) >> 32;
        } else {
          low += static_cast<int>(v);
        }
      }
    }
    if (share == 2) {
      low += __shfl_xor_sync(~0u, low, 16);
      high += __shfl_xor_sync(~0u, high, 16);
    }
    if (i < bins) {
      room.bin.low[i] = low;
      room.bin.high[i] = high;
    }
  }
  __syncwarp();
  for (int k = lane; k < warp_room<Engine>::limbs; k += 32)
    room.limb[k] += gathered<Engine>(room.bin.low, room.bin.high, k);
  __syncwarp();
}

// One thread's column, carried to digits of `spacing` bits; what is left over at the top, with the number's sign.
template <class Engine>
__device__ __forceinline__ long long carry_column(const Engine& engine) {
  using word = typename Engine::word;
  long long carry = 0;
  constexpr long long mask = (1ll << Engine::spacing) - 1;
#pragma unroll 1
  for (int i = 0; i < Engine::bins; ++i) {
    word& bin = engine.column[i * Engine::threads];
    const long long value =
        sizeof(word) == 8 ? static_cast<long long>(bin) : static_cast<long long>(static_cast<int>(bin));
    const long long low = (value & mask) + (carry & mask);
    carry = (value >> Engine::spacing) + (carry >> Engine::spacing) + (low >> Engine::spacing);
    bin = static_cast<word>(low & mask);
  }
  return carry;
}

// The leading bits of digits and carry. False: the number is 0.
template <class Engine>
__device__ bool head_of_column(const Engine& engine, long long carry, head& number) {
  const bool negative = carry < 0;
  constexpr unsigned long long mask = (1ull << Engine::spacing) - 1;
  // -x is ~x + 1: the 1 gets as far as the lowest digit that is not 0.
  int lowest = 0;
  while (lowest < Engine::bins && engine.column[lowest * Engine::threads] == 0) ++lowest;
  const bool through = lowest == Engine::bins;
  if (through && carry == 0) return false;
  number.negative = negative;
  number.more = false;
  number.high = 0;
  number.low = static_cast<unsigned long long>(negative ? ~carry + (through ? 1 : 0) : carry);
  number.exponent = Engine::origin + Engine::spacing * Engine::bins + layout<Engine::values>::unit;
#pragma unroll 1
  for (int i = Engine::bins - 1; i >= lowest; --i) {
    unsigned long long digit = engine.column[i * Engine::threads];
    if (negative) digit = i == lowest ? mask + 1 - digit : mask - digit;
    const int room = number.high == 0 ? 64 : leading_zeros(number.high);
    const int width = room < Engine::spacing ? room : Engine::spacing, rest = Engine::spacing - width;
    if (width > 0) {
      number.high = number.high << width | number.low >> (64 - width);
      number.low = number.low << width | digit >> rest;
      number.exponent -= width;
    }
    number.more = number.more || (digit & ((1ull << rest) - 1)) != 0;
  }
  number = aligned(number);
  // Digits below the last one read are 0, whatever their number.
  return true;
}

}  // namespace coalesce::detail::exact
