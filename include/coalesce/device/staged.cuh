// Short stretches that follow each other without gaps, and are too short or too crooked to be read as rows: 7-long
// rows, rows of one vector or less, the short middle axis of a row-major array.
//
// A stretch is `length` x `inner` elements, and has `inner` results: result c of elements c, c + inner, ... A block
// copies as many whole stretches as fit into shared memory, 16 bytes a load wherever a stretch begins; then `parts`
// threads reduce each result from there.
//
// Banks: thread t reads elements t * L + j (inner = 1, one part). With L odd, 32 lanes are in 32 banks; with L a
// multiple of 2^b 2^b lanes would share one, so lanes start at different j: rotation (t * 2^b / 32), and go around.
#pragma once

#include "../block/visit.cuh"
#include "launch.cuh"

namespace coalesce::detail {

inline constexpr int staged_threads = 256;
inline constexpr int staged_bytes = 24 * 1024;

template <class A, class Source>
struct staged {
  A accumulator;
  Source in;
  typename A::result* out;
  std::int64_t stretches;
  int length, inner;
  int parts;        // threads for a result: 1, 2, 4 ... 32
  int part_length;  // elements for each of them
  int in_block;     // stretches that a block stages at once
};

template <class A, class Source>
__global__ void __launch_bounds__(staged_threads, 4) reduce_staged(const staged<A, Source> problem) {
  using element = typename A::element;
  constexpr int width = Source::width;
  constexpr int capacity = staged_bytes / static_cast<int>(sizeof(element)) + 2 * width;
  __shared__ room<element, capacity> store;
  element* elements = &store[0];
  const A& a = problem.accumulator;
  const int inner = problem.inner, stretch = problem.length * inner;
  const int parts = problem.parts, part = threadIdx.x & (parts - 1);

  for (std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * problem.in_block; first < problem.stretches;
       first += static_cast<std::int64_t>(gridDim.x) * problem.in_block) {
    const std::int64_t left = problem.stretches - first;
    const int here = left < problem.in_block ? static_cast<int>(left) : problem.in_block;
    const int count = here * stretch;
    const Source in = problem.in.from(first * stretch);
    // Kept so that the first whole vector is aligned in shared memory too.
    const int head = in.head() < count ? in.head() : count;
    element* base = elements + (width - head) % width;
    const int vectors = (count - head) / width;
    constexpr int loads = 4;
    for (int i = threadIdx.x; i < vectors; i += loads * staged_threads) {
      element tile[loads][width];
#pragma unroll
      for (int k = 0; k < loads; ++k) {
        if (i + k * staged_threads < vectors) in.vector(head + (i + k * staged_threads) * width, tile[k]);
      }
#pragma unroll
      for (int k = 0; k < loads; ++k) {
        if (i + k * staged_threads < vectors) {
          store_elements<width>(base + head + (i + k * staged_threads) * width, tile[k]);
        }
      }
    }
    const int inside = vectors * width;
    for (int i = threadIdx.x; i < count - inside; i += staged_threads) {
      const int at = i < head ? i : i + inside;
      base[at] = in.at(at);
    }
    __syncthreads();

    const int results = here * inner;
    // Whole warps go round together: the parts of a result meet in shuffles.
    for (int t = threadIdx.x; t < ((results * parts + 31) & ~31); t += staged_threads) {
      const int result = t / parts;
      typename A::state state = a.identity();
      if (result < results) {
        const int row = inner == 1 ? result : result / inner;
        const int begin = part * problem.part_length;
        int length = problem.length - begin;
        length = length < 0 ? 0 : length < problem.part_length ? length : problem.part_length;
        const element* from = base + row * stretch + (inner == 1 ? 0 : result - row * inner) + begin * inner;
        // 2^b lanes would meet in a bank without rotation.
        constexpr int banks = sizeof(element) <= 4 ? 32 : 16;
        const int together = inner == 1 ? (problem.part_length & -problem.part_length) : 1;
        int j = together > 1 && together < banks ? (t % banks) * together / banks : together > 1 ? t % banks : 0;
        if (j >= length) j = 0;
        for (int i = 0; i < length; ++i) {
          const element one[1] = {from[j * inner]};
          a.add(state, one, positions<1>{begin + j, 0});
          if (++j == length) j = 0;
        }
      }
      state = merge_lanes(a, state, parts);
      if (part == 0 && result < results) problem.out[first * inner + result] = a.finish(state, problem.length);
    }
    __syncthreads();
  }
}

// What fits: a stretch of at most this many elements of type T.
template <class T>
inline constexpr int longest_staged = 4096 / static_cast<int>(sizeof(T));

template <class A, class Source>
status launch_staged(const A& a, const Source& in, typename A::result* out, std::int64_t stretches, int length,
                     int inner, cudaStream_t stream) {
  device_facts device;
  if (const status s = current_device(device); !s) return s;
  const int stretch = length * inner;
  int in_block = staged_bytes / static_cast<int>(sizeof(typename A::element)) / stretch;
  // Threads for a result, so that all of a block have something to do.
  int parts = 1;
  while (parts < 32 && parts * in_block * inner < staged_threads && parts < length) parts *= 2;
  const staged<A, Source> problem = {
      a, in, out, stretches, length, inner, parts, static_cast<int>(ceil_div(length, parts)), in_block};
  const std::int64_t waves = static_cast<std::int64_t>(device.processors) * 6 * 4;
  std::int64_t blocks = ceil_div(stretches, in_block);
  if (blocks > waves) blocks = waves;
  return launch(reduce_staged<A, Source>, problem, blocks, staged_threads, 0, stream);
}

}  // namespace coalesce::detail
