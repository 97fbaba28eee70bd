// Short stretches that follow each other without gaps: the short middle axis of a row-major array.
//
// A stretch is `length` x `inner` elements, and has `inner` results: result c of elements c, c + inner, ... A block
// copies as many whole stretches as fit into shared memory, 16 bytes a load wherever a stretch begins; then `parts`
// threads reduce each result from there.
#pragma once

#include <coalesce/detail/block/async_copy.cuh>
#include <coalesce/detail/block/launch.cuh>

namespace coalesce::detail {

inline constexpr int shared_middle_threads = 256;
inline constexpr int shared_middle_bytes = 16 * 1024;  // of one of two buffers

template <class A, class Source>
struct shared_middle {
  A accumulator;
  Source in;
  typename A::result* out;
  std::int64_t stretches;
  int length, inner;
  int log2_parts;   // 2^that threads for a result: 1, 2, 4 ... 32
  int part_length;  // elements for each of them
  int in_block;     // stretches that a block stages at once
};

// Elements from[first * inner], from[(first + 1) * inner] ... up to `end`; their positions begin with `position`.
template <class A, class Source>
__device__ __forceinline__ void add_from_shared(const A& a, typename A::state& state, const Source& in,
                                                const typename Source::memory* from, int inner, int first, int end,
                                                int position) {
  using element = typename A::element;
  int j = first;
  for (; j + 3 < end; j += 4) {
    element tile[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) tile[k] = in.project(from[(j + k) * inner]);
    a.add(state, tile, positions<1>{position + j, 1});
  }
#pragma unroll
  for (int k = 0; k < 3; ++k) {
    if (j + k < end) {
      const element one[1] = {in.project(from[(j + k) * inner])};
      a.add(state, one, positions<1>{position + j + k, 0});
    }
  }
}

template <class A, class Source>
__global__ void __launch_bounds__(shared_middle_threads, shape<A>::state_words <= 4 ? 6 : 4)
    reduce_shared_middle(const shared_middle<A, Source> problem) {
  using memory = typename Source::memory;
  constexpr int capacity = shared_middle_bytes / static_cast<int>(sizeof(memory)) + elements_in_vector<memory>;
  __shared__ room<memory, (capacity * sizeof(memory) + 15) / 16 * 16 / sizeof(memory)> buffers[2];
  wait_for_stream();
  const A& a = problem.accumulator;
  const int inner = problem.inner, stretch = problem.length * inner;
  const int log2_parts = problem.log2_parts, parts = 1 << log2_parts, part = threadIdx.x & (parts - 1);
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * problem.in_block;
  const auto stage = [&](std::int64_t first, int buffer) {
    const std::int64_t left = problem.stretches - first;
    const memory* from = problem.in.data + first * stretch;
    if (left > 0) {
      start_staging<shared_middle_threads>(
          shared_at(&buffers[buffer][0], from), from,
          (left < problem.in_block ? static_cast<int>(left) : problem.in_block) * stretch);
    }
    end_group();
  };

  std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * problem.in_block;
  stage(first, 0);
  for (int buffer = 0; first < problem.stretches; first += step, buffer ^= 1) {
    stage(first + step, buffer ^ 1);
    wait_for_groups<1>();
    __syncthreads();
    const std::int64_t left = problem.stretches - first;
    const int results = (left < problem.in_block ? static_cast<int>(left) : problem.in_block) * inner;
    const memory* base = shared_at(&buffers[buffer][0], problem.in.data + first * stretch);
    // Whole warps go round together: the parts of a result combine in shuffles.
    for (int t = threadIdx.x; t < (((results << log2_parts) + 31) & ~31); t += shared_middle_threads) {
      const int result = t >> log2_parts;
      typename A::state state = a.identity();
      if (result < results) {
        const int stretch_of = result / inner, begin = part * problem.part_length;
        int length = problem.length - begin;
        length = length < 0 ? 0 : length < problem.part_length ? length : problem.part_length;
        const memory* from = base + stretch_of * stretch + (result - stretch_of * inner) + begin * inner;
        add_from_shared(a, state, problem.in, from, inner, 0, length, begin);
      }
      state = merge_lanes(a, state, parts);
      if (part == 0 && result < results) problem.out[first * inner + result] = a.finish(state, problem.length);
    }
    __syncthreads();
  }
}

template <class A, class Source>
status launch_shared_middle(const A& a, const Source& in, typename A::result* out, std::int64_t stretches, int length,
                            int inner, cudaStream_t stream) {
  device_facts device;
  if (const status s = current_device(device); !s) return s;
  const int stretch = length * inner;
  constexpr int size = static_cast<int>(sizeof(typename Source::memory));
  int in_block = shared_middle_bytes / size / stretch;
  // Whole sectors, where that can be.
  const int even = 32 / common_divisor(stretch * size, 32);
  if (in_block >= even) in_block -= in_block % even;
  // A result gets as many threads as there are.
  int log2_parts = 0;
  while (log2_parts < 5 && (in_block * inner << log2_parts) < shared_middle_threads && 1 << log2_parts < length)
    ++log2_parts;
  const int part_length = static_cast<int>(ceil_div(length, 1 << log2_parts));
  const shared_middle<A, Source> problem = {a, in, out, stretches, length, inner, log2_parts, part_length, in_block};
  const std::int64_t resident = static_cast<std::int64_t>(device.processors) * (shape<A>::state_words <= 4 ? 6 : 4);
  std::int64_t blocks = ceil_div(stretches, in_block);
  if (blocks > resident * waves_of_blocks) blocks = resident * waves_of_blocks;
  return launch_early(reduce_shared_middle<A, Source>, problem, blocks, shared_middle_threads, 0, stream, device);
}

}  // namespace coalesce::detail
