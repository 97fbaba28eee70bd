// cuda::barrier, cuda::latch and cuda::counting_semaphore by libcu++'s own headers.
#include <cooperative_groups.h>

#include <cuda/barrier>
#include <cuda/latch>
#include <cuda/semaphore>

#include "cases.h"

#pragma nv_diag_suppress static_var_with_dynamic_init

namespace cg = cooperative_groups;
using Barrier = cuda::barrier<cuda::thread_scope_block>;

// A box, and a barrier of so many arrivals.
#define ROOM(count)                            \
  __shared__ int box[64];                      \
  __shared__ Barrier barrier;                  \
  box[threadIdx.x] = 0;                        \
  if (threadIdx.x == 0) init(&barrier, count); \
  __syncthreads()

KERNEL(token_is_dropped) {
  ROOM(64);
  box[threadIdx.x] = in[threadIdx.x];  // HERE: race_shared
  auto token = barrier.arrive();
  if (Right) barrier.wait(std::move(token));
  out[threadIdx.x] = box[63 - threadIdx.x];
}
KERNEL(arrives_before_it_has_stored) {
  ROOM(64);
  if (Right) box[threadIdx.x] = in[threadIdx.x];
  auto token = barrier.arrive();
  if (!Right) box[threadIdx.x] = in[threadIdx.x];
  barrier.wait(std::move(token));
  out[threadIdx.x] = box[63 - threadIdx.x];  // HERE: race_shared
}
// The first warp goes past the phase before, the second waits for the one behind.
KERNEL(waits_for_the_wrong_phase) {
  ROOM(64);
  box[threadIdx.x] = in[threadIdx.x];  // HERE: race_shared
  (void)barrier.arrive();
  barrier.wait_parity(Right ? 0 : 1);  // HERE: deadlock
  out[threadIdx.x] = box[63 - threadIdx.x];
}
KERNEL(phase_is_not_flipped) {
  ROOM(64);
  for (int round = 0; round < 4; ++round) {
    box[threadIdx.x] = in[64 * round + threadIdx.x];  // HERE: race_shared
    (void)barrier.arrive();
    barrier.wait_parity(0);  // HERE: deadlock
    out[64 * round + threadIdx.x] = box[63 - threadIdx.x];
    if (Right) {
      (void)barrier.arrive();
      barrier.wait_parity(1);
    }
  }
}
KERNEL(no_barrier_behind_the_reads) {
  ROOM(64);
  for (int round = 0; round < 4; ++round) {
    box[threadIdx.x] = in[64 * round + threadIdx.x];
    barrier.arrive_and_wait();
    out[64 * round + threadIdx.x] = box[63 - threadIdx.x];  // HERE: race_shared
    if (Right) barrier.arrive_and_wait();
  }
}
KERNEL(half_of_the_arrivals) {
  ROOM(Right ? 64 : 32);
  box[threadIdx.x] = in[threadIdx.x];  // HERE: race_shared
  barrier.arrive_and_wait();
  out[threadIdx.x] = box[63 - threadIdx.x];
}
KERNEL(one_arrival_too_few) {
  ROOM(Right ? 64 : 65);
  box[threadIdx.x] = in[threadIdx.x];
  barrier.arrive_and_wait();  // HERE: deadlock
  out[threadIdx.x] = box[63 - threadIdx.x];
}
KERNEL(leaves_without_a_drop) {
  ROOM(64);
  box[threadIdx.x] = in[threadIdx.x];
  barrier.arrive_and_wait();
  if (threadIdx.x < 32) {
    out[threadIdx.x] = box[63 - threadIdx.x];
    if (Right) barrier.arrive_and_drop();
    return;
  }
  barrier.arrive_and_wait();  // HERE: deadlock
  out[threadIdx.x] = box[threadIdx.x];
}
KERNEL(drops_before_it_reads) {
  ROOM(64);
  box[threadIdx.x] = in[threadIdx.x];
  barrier.arrive_and_wait();
  if (threadIdx.x < 32) {
    if (!Right) barrier.arrive_and_drop();
    out[threadIdx.x] = box[63 - threadIdx.x];
    if (Right) barrier.arrive_and_drop();
    return;
  }
  barrier.arrive_and_wait();
  box[threadIdx.x] = 5;  // HERE: race_shared
  out[threadIdx.x] = box[threadIdx.x];
}
KERNEL(initialised_without_syncthreads) {
  __shared__ int box[32];
  __shared__ Barrier barrier;
  if (threadIdx.x == 0) init(&barrier, 32);
  if (Right) __syncthreads();
  box[threadIdx.x] = in[threadIdx.x];
  barrier.arrive_and_wait();  // HERE: race_shared
  out[threadIdx.x] = box[31 - threadIdx.x];
}
KERNEL(one_warp_does_not_wait) {
  ROOM(64);
  box[threadIdx.x] = in[threadIdx.x];
  auto token = barrier.arrive();
  if (Right || threadIdx.x < 32) barrier.wait(std::move(token));
  out[threadIdx.x] = box[63 - threadIdx.x];  // HERE: race_shared
}
// A warp fills the box, another empties it.
KERNEL(says_empty_before_it_has_read) {
  __shared__ int box[32];
  __shared__ Barrier full, empty;
  if (threadIdx.x == 0) init(&full, 64), init(&empty, 64);
  __syncthreads();
  const int lane = threadIdx.x % 32;
  if (threadIdx.x < 32) {
    for (int round = 0; round < 4; ++round) {
      empty.arrive_and_wait();
      box[lane] = in[32 * round + lane];  // HERE: race_shared
      (void)full.arrive();
    }
  } else {
    (void)empty.arrive();
    for (int round = 0; round < 4; ++round) {
      full.arrive_and_wait();
      if (!Right && round < 3) (void)empty.arrive();
      out[32 * round + lane] = box[31 - lane];
      if (Right && round < 3) (void)empty.arrive();
    }
  }
}
KERNEL(copy_is_not_waited_for) {
  ROOM(64);
  cuda::memcpy_async(box + threadIdx.x, in + threadIdx.x, sizeof(int), barrier);
  auto token = barrier.arrive();
  if (Right) barrier.wait(std::move(token));
  out[threadIdx.x] = box[threadIdx.x];  // HERE: early_use
}
KERNEL(copy_behind_the_arrival) {
  ROOM(64);
  if (Right) cuda::memcpy_async(box + threadIdx.x, in + threadIdx.x, sizeof(int), barrier);
  auto token = barrier.arrive();
  if (!Right) cuda::memcpy_async(box + threadIdx.x, in + threadIdx.x, sizeof(int), barrier);
  barrier.wait(std::move(token));
  out[threadIdx.x] = box[threadIdx.x];  // HERE: early_use
}
KERNEL(copies_of_a_group_are_not_waited_for) {
  alignas(16) __shared__ int box[64];
  __shared__ Barrier barrier;
  const auto block = cg::this_thread_block();
  if (threadIdx.x == 0) init(&barrier, 64);
  block.sync();
  cuda::memcpy_async(block, box, in, cuda::aligned_size_t<16>(sizeof box), barrier);
  auto token = barrier.arrive();
  if (Right) barrier.wait(std::move(token));
  out[threadIdx.x] = box[63 - threadIdx.x];  // HERE: early_use
}
KERNEL(next_copy_over_what_is_read) {
  alignas(16) __shared__ int box[64];
  __shared__ Barrier barrier;
  const auto block = cg::this_thread_block();
  if (threadIdx.x == 0) init(&barrier, 64);
  block.sync();
  int sum = 0;
  for (int round = 0; round < 3; ++round) {
    const cuda::aligned_size_t<16> size(sizeof box);
    cuda::memcpy_async(block, box, in + 64 * round, size, barrier);  // HERE: race_shared
    barrier.arrive_and_wait();
    sum += box[63 - threadIdx.x];  // HERE: early_use
    if (Right) block.sync();
  }
  out[threadIdx.x] = sum;
}
KERNEL(expects_more_bytes_than_come) {
  alignas(16) __shared__ int box[64];
  __shared__ Barrier barrier;
  if (threadIdx.x == 0) init(&barrier, 64);
  __syncthreads();
  Barrier::arrival_token token;
  if (threadIdx.x == 0) {
    cuda::device::memcpy_async_tx(box, in, cuda::aligned_size_t<16>(sizeof box), barrier);
    token = cuda::device::barrier_arrive_tx(barrier, 1, Right ? sizeof box : sizeof box + 16);
  } else {
    token = barrier.arrive();
  }
  barrier.wait(std::move(token));  // HERE: deadlock
  out[threadIdx.x] = box[63 - threadIdx.x];
}
KERNEL(expects_no_bytes) {
  alignas(16) __shared__ int box[64];
  __shared__ Barrier barrier;
  if (threadIdx.x == 0) init(&barrier, 64);
  __syncthreads();
  if (threadIdx.x == 0) {
    if (Right) cuda::device::barrier_expect_tx(barrier, sizeof box);
    cuda::device::memcpy_async_tx(box, in, cuda::aligned_size_t<16>(sizeof box), barrier);
  }
  barrier.arrive_and_wait();  // HERE: deadlock
  out[threadIdx.x] = box[63 - threadIdx.x];
}
// A barrier in global memory, for two blocks.
using Wide = cuda::barrier<cuda::thread_scope_device>;
template <class B>
__global__ void begin(uint* words, int count) {
  new (words) B(count);
}
KERNEL(barrier_of_block_scope_between_blocks) {
  out[64 * blockIdx.x + threadIdx.x] = in[threadIdx.x];
  if (Right)
    reinterpret_cast<Wide*>(words)->arrive_and_wait();
  else
    reinterpret_cast<Barrier*>(words)->arrive_and_wait();                               // HERE: race_global
  out[256 + 64 * blockIdx.x + threadIdx.x] = out[64 * (1 - blockIdx.x) + threadIdx.x];  // HERE: race_global
}
using Latch = cuda::latch<cuda::thread_scope_block>;
KERNEL(latch_is_not_waited_for) {
  __shared__ int box[64];
  __shared__ uint4 room;
  auto& latch = reinterpret_cast<Latch&>(room);
  box[threadIdx.x] = 0;
  if (threadIdx.x == 0) new (&latch) Latch(64);
  __syncthreads();
  box[threadIdx.x] = in[threadIdx.x];  // HERE: race_shared
  latch.count_down();
  if (Right) latch.wait();
  out[threadIdx.x] = box[63 - threadIdx.x];
}
KERNEL(latch_counts_one_too_many) {
  __shared__ int box[64];
  __shared__ uint4 room;
  auto& latch = reinterpret_cast<Latch&>(room);
  if (threadIdx.x == 0) new (&latch) Latch(Right ? 64 : 65);
  __syncthreads();
  box[threadIdx.x] = in[threadIdx.x];
  latch.arrive_and_wait();  // HERE: deadlock
  out[threadIdx.x] = box[63 - threadIdx.x];
}
using Semaphore = cuda::binary_semaphore<cuda::thread_scope_device>;
KERNEL(semaphore_is_given_back_too_early) {
  auto* semaphore = reinterpret_cast<Semaphore*>(words);
  semaphore->acquire();
  if (!Right) semaphore->release();
  out[0] = out[0] + in[blockIdx.x];  // HERE: race_global
  if (Right) semaphore->release();
}
KERNEL(semaphore_of_two_as_a_lock) {
  auto* semaphore = reinterpret_cast<cuda::counting_semaphore<cuda::thread_scope_device>*>(words);
  if (!Right && blockIdx.x == 0) semaphore->release();
  semaphore->acquire();
  out[0] = out[0] + in[blockIdx.x];  // HERE: race_global
  semaphore->release();
}

// Calls of a kernel whose words hold an object of a type, made with a count.
#define WITH(name, type, count, blocks, threads)                     \
  {#name,                                                            \
   {[](const Data& d) {                                              \
      begin<type><<<1, 1>>>(d.words, count);                         \
      name<false><<<blocks, threads>>>(d.in, d.out, d.words, d.raw); \
    },                                                               \
    [](const Data& d) {                                              \
      begin<type><<<1, 1>>>(d.words, count);                         \
      name<true><<<blocks, threads>>>(d.in, d.out, d.words, d.raw);  \
    }},                                                              \
   false}

const Case kCases[] = {CASE(token_is_dropped, 1, 64),
                       CASE(arrives_before_it_has_stored, 1, 64),
                       ENDS(waits_for_the_wrong_phase, 1, 64),
                       ENDS(phase_is_not_flipped, 1, 64),
                       CASE(no_barrier_behind_the_reads, 1, 64),
                       CASE(half_of_the_arrivals, 1, 64),
                       ENDS(one_arrival_too_few, 1, 64),
                       ENDS(leaves_without_a_drop, 1, 64),
                       CASE(drops_before_it_reads, 1, 64),
                       CASE(initialised_without_syncthreads, 1, 32),
                       CASE(one_warp_does_not_wait, 1, 64),
                       CASE(says_empty_before_it_has_read, 1, 64),
                       CASE(copy_is_not_waited_for, 1, 64),
                       CASE(copy_behind_the_arrival, 1, 64),
                       CASE(copies_of_a_group_are_not_waited_for, 1, 64),
                       CASE(next_copy_over_what_is_read, 1, 64),
                       ENDS(expects_more_bytes_than_come, 1, 64),
                       ENDS(expects_no_bytes, 1, 64),
                       WITH(barrier_of_block_scope_between_blocks, Wide, 128, 2, 64),
                       CASE(latch_is_not_waited_for, 1, 64),
                       ENDS(latch_counts_one_too_many, 1, 64),
                       WITH(semaphore_is_given_back_too_early, Semaphore, 1, 4, 1),
                       WITH(semaphore_of_two_as_a_lock, cuda::counting_semaphore<cuda::thread_scope_device>, 1, 4, 1)};

int main(int argc, char** argv) { return run_cases(kCases, argc, argv); }
