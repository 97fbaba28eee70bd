// cuda::pipeline by libcu++'s own headers: of one thread, of a block, of producers and consumers.
#include <cooperative_groups.h>

#include <cuda/pipeline>

#include "cases.h"

#pragma nv_diag_suppress static_var_with_dynamic_init

namespace cg = cooperative_groups;
constexpr int kRounds = 6, kStages = 2, kTile = 64;
using State = cuda::pipeline_shared_state<cuda::thread_scope_block, kStages>;

// A pipeline of one thread: cp.async and its groups.
KERNEL(thread_does_not_wait) {
  __shared__ int box[kTile];
  auto pipe = cuda::make_pipeline();
  pipe.producer_acquire();
  cuda::memcpy_async(box + threadIdx.x, in + threadIdx.x, sizeof(int), pipe);
  pipe.producer_commit();
  if (Right) pipe.consumer_wait();
  out[threadIdx.x] = box[threadIdx.x];  // HERE: early_use
  pipe.consumer_release();
}
KERNEL(thread_does_not_commit) {
  __shared__ int box[kTile];
  auto pipe = cuda::make_pipeline();
  pipe.producer_acquire();
  cuda::memcpy_async(box + threadIdx.x, in + threadIdx.x, sizeof(int), pipe);
  if (Right) pipe.producer_commit();
  cuda::pipeline_consumer_wait_prior<0>(pipe);
  out[threadIdx.x] = box[threadIdx.x];  // HERE: early_use
  pipe.consumer_release();
}
KERNEL(waits_for_all_but_one) {
  __shared__ int box[2][kTile];
  auto pipe = cuda::make_pipeline();
  for (int k = 0; k < 2; ++k) {
    pipe.producer_acquire();
    cuda::memcpy_async(box[k] + threadIdx.x, in + kTile * k + threadIdx.x, sizeof(int), pipe);
    pipe.producer_commit();
  }
  cuda::pipeline_consumer_wait_prior<Right ? 0 : 1>(pipe);
  out[threadIdx.x] = box[0][threadIdx.x];
  out[kTile + threadIdx.x] = box[1][threadIdx.x];  // HERE: early_use
  pipe.consumer_release();
}
KERNEL(thread_waits_for_its_own_copies) {
  __shared__ int box[kTile];
  auto pipe = cuda::make_pipeline();
  pipe.producer_acquire();
  cuda::memcpy_async(box + threadIdx.x, in + threadIdx.x, sizeof(int), pipe);
  pipe.producer_commit();
  pipe.consumer_wait();
  if (Right) __syncthreads();
  out[threadIdx.x] = box[kTile - 1 - threadIdx.x];  // HERE: race_shared
  pipe.consumer_release();
}
KERNEL(two_buffers_without_a_barrier) {
  __shared__ int box[2][kTile];
  auto pipe = cuda::make_pipeline();
  int sum = 0;
  for (int round = 0; round < kRounds; ++round) {
    pipe.producer_acquire();
    cuda::memcpy_async(box[round % 2] + threadIdx.x, in + kTile * round + threadIdx.x, sizeof(int), pipe);
    pipe.producer_commit();
    pipe.consumer_wait();
    if (Right) __syncthreads();
    sum += box[round % 2][kTile - 1 - threadIdx.x];  // HERE: race_shared
    pipe.consumer_release();
  }
  out[threadIdx.x] = sum;
}

// A pipeline of a block: all threads copy, wait and release.
KERNEL(block_does_not_wait) {
  __shared__ int box[kStages][kTile];
  __shared__ State state;
  for (int k = 0; k < kStages; ++k) box[k][threadIdx.x] = 0;
  const auto block = cg::this_thread_block();
  auto pipe = cuda::make_pipeline(block, &state);
  for (int round = 0; round < kStages; ++round) {
    pipe.producer_acquire();
    cuda::memcpy_async(block, box[round % kStages], in + kTile * round, sizeof box[0], pipe);  // HERE: race_shared
    pipe.producer_commit();
    if (Right) pipe.consumer_wait();
    out[kTile * round + threadIdx.x] = box[round % kStages][kTile - 1 - threadIdx.x];  // HERE: early_use
    pipe.consumer_release();
  }
}
KERNEL(never_released) {
  __shared__ int box[kStages][kTile];
  __shared__ State state;
  const auto block = cg::this_thread_block();
  auto pipe = cuda::make_pipeline(block, &state);
  for (int round = 0; round < kRounds; ++round) {
    pipe.producer_acquire();  // HERE: deadlock
    cuda::memcpy_async(block, box[round % kStages], in + kTile * round, sizeof box[0], pipe);
    pipe.producer_commit();
    if (round % kStages == 0) pipe.consumer_wait();
    if (Right) {
      if (round % kStages != 0) pipe.consumer_wait();
      out[kTile * round + threadIdx.x] = box[round % kStages][kTile - 1 - threadIdx.x];
      pipe.consumer_release();
    }
  }
}
KERNEL(three_rounds_in_two_buffers) {
  constexpr int kDeep = 3;
  __shared__ int box[kDeep][kTile];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, kDeep> state;
  const auto block = cg::this_thread_block();
  auto pipe = cuda::make_pipeline(block, &state);
  constexpr int kBuffers = Right ? kDeep : kDeep - 1;
  for (int round = 0, ahead = 0; round < kRounds; ++round) {
    for (; ahead < kRounds && ahead < round + kDeep; ++ahead) {
      pipe.producer_acquire();
      int* to = box[ahead % kBuffers] + threadIdx.x;
      cuda::memcpy_async(to, in + kTile * ahead + threadIdx.x, sizeof(int), pipe);  // HERE: early_use
      pipe.producer_commit();
    }
    pipe.consumer_wait();
    out[kTile * round + threadIdx.x] = box[round % kBuffers][threadIdx.x];  // HERE: early_use
    pipe.consumer_release();
  }
}
KERNEL(reads_the_stage_ahead) {
  __shared__ int box[kStages][kTile];
  __shared__ State state;
  const auto block = cg::this_thread_block();
  auto pipe = cuda::make_pipeline(block, &state);
  for (int round = 0, ahead = 0; round < kRounds; ++round) {
    for (; ahead < kRounds && ahead < round + kStages; ++ahead) {
      pipe.producer_acquire();
      cuda::memcpy_async(block, box[ahead % kStages], in + kTile * ahead, sizeof box[0], pipe);
      pipe.producer_commit();
    }
    pipe.consumer_wait();
    const int stage = (Right ? round : round + 1) % kStages;
    out[kTile * round + threadIdx.x] = box[stage][kTile - 1 - threadIdx.x];  // HERE: early_use
    pipe.consumer_release();
  }
}

// A pipeline of a warp that produces and a warp that consumes.
KERNEL(consumers_do_not_wait) {
  __shared__ int box[kStages][32];
  __shared__ State state;
  if (threadIdx.x < 32)
    for (int k = 0; k < kStages; ++k) box[k][threadIdx.x] = 0;
  const auto block = cg::this_thread_block();
  auto pipe = cuda::make_pipeline(block, &state,
                                  threadIdx.x < 32 ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer);
  const int lane = threadIdx.x % 32;
  for (int round = 0; round < kStages; ++round) {
    if (threadIdx.x < 32) {
      pipe.producer_acquire();  // HERE: deadlock
      box[round % kStages][lane] = in[32 * round + lane];
      pipe.producer_commit();
    } else {
      if (Right) pipe.consumer_wait();
      out[32 * round + lane] = box[round % kStages][31 - lane];  // HERE: race_shared
      pipe.consumer_release();
    }
  }
}
KERNEL(producers_do_not_acquire) {
  __shared__ int box[kStages][32];
  __shared__ State state;
  const auto block = cg::this_thread_block();
  auto pipe = cuda::make_pipeline(block, &state,
                                  threadIdx.x < 32 ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer);
  const int lane = threadIdx.x % 32;
  for (int round = 0; round < kRounds; ++round) {
    if (threadIdx.x < 32) {
      if (Right) pipe.producer_acquire();
      box[round % kStages][lane] = in[32 * round + lane];  // HERE: race_shared
      pipe.producer_commit();
    } else {
      pipe.consumer_wait();  // HERE: deadlock
      out[32 * round + lane] = box[round % kStages][31 - lane];
      pipe.consumer_release();
    }
  }
}
KERNEL(commits_before_it_stores) {
  __shared__ int box[kStages][32];
  __shared__ State state;
  const auto block = cg::this_thread_block();
  auto pipe = cuda::make_pipeline(block, &state,
                                  threadIdx.x < 32 ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer);
  const int lane = threadIdx.x % 32;
  for (int round = 0; round < kRounds; ++round) {
    if (threadIdx.x < 32) {
      pipe.producer_acquire();
      if (Right) box[round % kStages][lane] = in[32 * round + lane];
      pipe.producer_commit();
      if (!Right) box[round % kStages][lane] = in[32 * round + lane];
    } else {
      pipe.consumer_wait();
      out[32 * round + lane] = box[round % kStages][31 - lane];  // HERE: race_shared
      pipe.consumer_release();
    }
  }
}
KERNEL(released_before_it_is_read) {
  __shared__ int box[kStages][32];
  __shared__ State state;
  const auto block = cg::this_thread_block();
  auto pipe = cuda::make_pipeline(block, &state,
                                  threadIdx.x < 32 ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer);
  const int lane = threadIdx.x % 32;
  for (int round = 0; round < kRounds; ++round) {
    if (threadIdx.x < 32) {
      pipe.producer_acquire();
      box[round % kStages][lane] = in[32 * round + lane];  // HERE: race_shared
      pipe.producer_commit();
    } else {
      pipe.consumer_wait();
      if (!Right) pipe.consumer_release();
      out[32 * round + lane] = box[round % kStages][31 - lane];
      if (Right) pipe.consumer_release();
    }
  }
}
KERNEL(half_of_the_consumers_release) {
  __shared__ int box[kStages][32];
  __shared__ State state;
  const auto block = cg::this_thread_block();
  auto pipe = cuda::make_pipeline(block, &state,
                                  threadIdx.x < 32 ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer);
  const int lane = threadIdx.x % 32;
  for (int round = 0; round < kRounds; ++round) {
    if (threadIdx.x < 32) {
      pipe.producer_acquire();  // HERE: deadlock
      box[round % kStages][lane] = in[32 * round + lane];
      pipe.producer_commit();
    } else {
      pipe.consumer_wait();
      out[32 * round + lane] = box[round % kStages][31 - lane];  // HERE: race_shared
      if (Right || lane < 16) pipe.consumer_release();
    }
  }
}

const Case kCases[] = {CASE(thread_does_not_wait, 1, kTile),
                       CASE(thread_does_not_commit, 1, kTile),
                       CASE(waits_for_all_but_one, 1, kTile),
                       CASE(thread_waits_for_its_own_copies, 1, kTile),
                       CASE(two_buffers_without_a_barrier, 1, kTile),
                       CASE(block_does_not_wait, 1, kTile),
                       CASE(released_before_it_is_read, 1, 64),
                       ENDS(never_released, 1, kTile),
                       CASE(three_rounds_in_two_buffers, 1, kTile),
                       CASE(reads_the_stage_ahead, 1, kTile),
                       ENDS(consumers_do_not_wait, 1, 64),
                       ENDS(producers_do_not_acquire, 1, 64),
                       CASE(commits_before_it_stores, 1, 64),
                       ENDS(half_of_the_consumers_release, 1, 64)};

int main(int argc, char** argv) { return run_cases(kCases, argc, argv); }
