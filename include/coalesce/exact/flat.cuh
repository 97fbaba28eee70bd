// The exact sum of one whole array: one launch. Each block adds its share to its threads' columns, folds the columns to
// limbs, and leaves them in the workspace; the last block adds the blocks' limbs and rounds.
#pragma once

#include <coalesce/exact/engines.cuh>
#include <coalesce/exact/limbs.cuh>

namespace coalesce::exact {

__device__ __forceinline__ uint4 load_once(const uint4* from) {
  uint4 v;
  asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(from));
  return v;
}

// A block's result: what it has seen, and its limbs.
template <range R>
struct partial {
  unsigned long long flags;
  long long limb[limbs_of<R>];
};

// limb += (low + high * 2^32) * 2^position, in pieces of 32 bits but for the last.
__device__ __forceinline__ void deposit(long long* limb, long long low, long long high, int position) {
  const int k = position / 32, shift = position % 32;
  high += low >> 32;
  const unsigned long long a = static_cast<unsigned long long>(low & 0xffffffffll) << shift;
  const unsigned long long b = static_cast<unsigned long long>(high & 0xffffffffll) << shift;
  const auto add = [&](int i, unsigned long long v) { atomicAdd(reinterpret_cast<unsigned long long*>(limb + i), v); };
  add(k, a & 0xffffffffull);
  add(k + 1, (a >> 32) + (b & 0xffffffffull));
  add(k + 2, (b >> 32) + (static_cast<unsigned long long>(high >> 32) << shift));
}

// Adds up all threads' columns into limb[0 ... limbs). Called by all threads of the block, after the last add.
template <class Engine, int Limbs>
__device__ void fold_block(const Engine& engine, const char* shared, long long* limb) {
  using word = typename Engine::word;
  constexpr int threads = Engine::threads, warps = threads / 32;
  const int lane = threadIdx.x & 31, warp = threadIdx.x / 32;
  for (int k = threadIdx.x; k < Limbs; k += threads) limb[k] = 0;
  __syncthreads();
  const word* columns = reinterpret_cast<const word*>(shared);
  for (int i = warp; i < Engine::bins; i += warps) {
    long long low = 0, high = 0;
#pragma unroll 8
    for (int j = lane; j < threads; j += 32) {
      const word v = columns[i * threads + j];
      if constexpr (sizeof(word) == 8) {
        low += static_cast<unsigned>(v);
        high += static_cast<long long>(v) >> 32;
      } else {
        low += static_cast<int>(v);
      }
    }
    low = warp_sum(low);
    if (sizeof(word) == 8) high = warp_sum(high);
    if (lane == 0) {
      deposit(limb, low, high, Engine::origin + Engine::spacing * i);
    }
  }
  __syncthreads();
}

template <class T, class Engine>
__global__ void __launch_bounds__(Engine::threads, Engine::blocks)
    sum_flat(const T* data, std::size_t count, partial<Engine::values>* partials, unsigned* ticket, T* out,
             reading how) {
  constexpr int threads = Engine::threads, loads = Engine::loads, width = 16 / sizeof(T);
  constexpr range values = Engine::values;
  constexpr int limbs = limbs_of<values>;
  extern __shared__ __align__(16) char shared[];
  __shared__ long long limb[limbs];
  __shared__ unsigned word[limbs];
  __shared__ unsigned flags, is_last;
  const int t = threadIdx.x;
  const std::size_t blocks = gridDim.x, block = blockIdx.x;
  Engine engine;
  engine.begin(shared, t);
  if (t == 0) flags = 0;
  std::size_t before = (16 - reinterpret_cast<std::uintptr_t>(data) % 16) % 16 / sizeof(T);
  if (before > count) before = count;
  const uint4* vectors = reinterpret_cast<const uint4*>(data + before);
  const std::size_t whole = (count - before) / width;
  const std::size_t rounds = whole / (blocks * loads * threads);
  if (rounds > 0) {
    const uint4* p = vectors + block * (loads * threads) + t;
    const std::size_t stride = blocks * (loads * threads);
    uint4 flying[loads];
#pragma unroll
    for (int u = 0; u < loads; ++u) flying[u] = load_once(p + u * threads);
    for (std::size_t i = 1; i < rounds; ++i) {
      p += stride;
      engine.round(flying, [&](int u) { return load_once(p + u * threads); });
    }
#pragma unroll
    for (int u = 0; u < loads; ++u) engine.vector(flying[u]);
    engine.settle_for(loads * width);
  }
  for (std::size_t i = rounds * blocks * loads * threads + block * threads + t; i < whole; i += blocks * threads) {
    engine.vector(load_once(vectors + i));
    engine.settle_for(width);
  }
  const std::size_t single = before + (count - before) % width;
  if (block == blocks - 1) {
    for (std::size_t i = t; i < single; i += threads) engine.one(data[i < before ? i : i + whole * width]);
  }
  engine.close();
  const bool special = __syncthreads_or(engine.met_special());
  fold_block<Engine, limbs>(engine, shared, limb);
  if (special && t == 0) flags = nan_seen;
  if (blocks > 1) {
    partial<values>& mine = partials[block];
    for (int k = t; k < limbs; k += threads) __stcg(mine.limb + k, limb[k]);
    if (t == 0) __stcg(&mine.flags, static_cast<unsigned long long>(flags));
    __threadfence();
    __syncthreads();
    if (t == 0) is_last = atomicInc(ticket, gridDim.x - 1) == gridDim.x - 1;
    __syncthreads();
    if (!is_last) return;
    __threadfence();
    for (int k = t; k <= limbs; k += threads) {
      if (k < limbs) limb[k] = 0;
    }
    __syncthreads();
    // Threads take blocks' limbs in a row; low and high halves are added apart, so that nothing overflows.
    for (unsigned i = t; i < gridDim.x * limbs; i += threads) {
      const int k = static_cast<int>(i % limbs);
      const long long v = __ldcg(partials[i / limbs].limb + k);
      atomicAdd(reinterpret_cast<unsigned long long*>(limb + k), static_cast<unsigned long long>(v & 0xffffffffll));
      if (k + 1 < limbs)
        atomicAdd(reinterpret_cast<unsigned long long*>(limb + k + 1), static_cast<unsigned long long>(v >> 32));
    }
    for (unsigned i = t; i < gridDim.x; i += threads)
      atomicOr(&flags, static_cast<unsigned>(__ldcg(&partials[i].flags)));
    __syncthreads();
  }
  if (t < 32) {
    const carried sum = carry_limbs<limbs>(limb, word);
    typename format<T>::bits answer;
    head number = sum.number;
    number.exponent += layout<values>::unit;
    if (!read_special<T>(flags, sum.zero, how, count, answer)) answer = read_head<T>(number, how, count);
    if (t == 0) *out = from_bits<T>(answer);
  }
}

}  // namespace coalesce::exact
