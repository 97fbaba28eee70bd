// Barriers as cuda::barrier makes them: an mbarrier that threads arrive at and wait for.
#include "bulk.h"

#define ARRIVE(how, object) asm volatile("mbarrier.arrive" how " _, [%0];" : : "r"(at(object)) : "memory")
#define arrive(object) ARRIVE(".shared.b64", object)
#define WAIT(object, phase)                                                                                    \
  asm volatile("{\n.reg .pred p;\nAGAIN:\nmbarrier.try_wait.parity.shared.b64 p, [%0], %1;\n@!p bra AGAIN;\n}" \
               :                                                                                               \
               : "r"(at(object)), "r"(phase)                                                                   \
               : "memory")
// A box, and a barrier of so many arrivals.
#define ROOM(count)                                \
  __shared__ int box[64];                          \
  alignas(8) __shared__ unsigned long long object; \
  box[threadIdx.x] = 0;                            \
  if (threadIdx.x == 0) init(&object, count);      \
  __syncthreads()

KERNEL(arrives_and_does_not_wait) {
  ROOM(64);
  box[threadIdx.x] = in[threadIdx.x];  // HERE: race_shared
  arrive(&object);
  if (Right) WAIT(&object, 0);
  out[threadIdx.x] = box[63 - threadIdx.x];
}
KERNEL(arrives_before_it_stores) {
  ROOM(64);
  if (!Right) arrive(&object);
  box[threadIdx.x] = in[threadIdx.x];
  if (Right) arrive(&object);
  WAIT(&object, 0);
  out[threadIdx.x] = box[63 - threadIdx.x];  // HERE: race_shared
}
KERNEL(arrives_relaxed) {
  ROOM(64);
  box[threadIdx.x] = in[threadIdx.x];
  if (Right)
    arrive(&object);
  else
    ARRIVE(".relaxed.cta.shared::cta.b64", &object);
  WAIT(&object, 0);
  out[threadIdx.x] = box[63 - threadIdx.x];  // HERE: race_shared
}
KERNEL(asks_once) {
  ROOM(64);
  box[threadIdx.x] = in[threadIdx.x];  // HERE: race_shared
  arrive(&object);
  if (Right) WAIT(&object, 0);
  asm volatile("{\n.reg .pred p;\nmbarrier.test_wait.parity.shared.b64 p, [%0], 0;\n}" : : "r"(at(&object)) : "memory");
  out[threadIdx.x] = box[63 - threadIdx.x];
}
KERNEL(next_round_overwrites) {
  ROOM(64);
  for (int round = 0; round < 2; ++round) {
    box[threadIdx.x] = in[64 * round + threadIdx.x];
    arrive(&object);
    WAIT(&object, Right ? 0 : round);
    out[64 * round + threadIdx.x] = box[63 - threadIdx.x];  // HERE: race_shared
    if (!Right) continue;
    arrive(&object);
    WAIT(&object, 1);
  }
}
KERNEL(one_thread_waits) {
  ROOM(64);
  box[threadIdx.x] = in[threadIdx.x];
  arrive(&object);
  if (Right || threadIdx.x % 32 == 0) WAIT(&object, 0);
  out[threadIdx.x] = box[63 - threadIdx.x];  // HERE: race_shared
}
// A warp fills the box, another empties it.
KERNEL(said_to_be_empty_before_it_is) {
  __shared__ int box[32];
  alignas(8) __shared__ unsigned long long full, empty;
  if (threadIdx.x == 0) init(&full, 32), init(&empty, 32);
  __syncthreads();
  const int lane = threadIdx.x % 32;
  for (int round = 0; round < 4; ++round) {
    if (threadIdx.x < 32) {
      if (round > 0) WAIT(&empty, (round - 1) % 2);
      box[lane] = in[32 * round + lane];  // HERE: race_shared
      arrive(&full);
    } else {
      WAIT(&full, round % 2);
      if (!Right) arrive(&empty);
      out[32 * round + lane] = box[31 - lane];
      if (Right) arrive(&empty);
    }
  }
}
KERNEL(waits_for_one_more) {
  ROOM(Right ? 64 : 65);
  box[threadIdx.x] = in[threadIdx.x];
  arrive(&object);
  WAIT(&object, 0);  // HERE: deadlock
  out[threadIdx.x] = box[63 - threadIdx.x];
}
// Two rounds behind one barrier, each lane its neighbour's.
KERNEL(rounds_of_two) {
  ROOM(64);
  int mine = in[threadIdx.x];
  for (int round = 0; round < 4; ++round) {
    box[threadIdx.x] = mine;
    arrive(&object);
    WAIT(&object, 0);
    mine += box[threadIdx.x ^ 33];
    arrive(&object);
    WAIT(&object, 1);
  }
  out[threadIdx.x] = mine;
}

const Case kCases[] = {CASE(arrives_and_does_not_wait, 1, 64),
                       CASE(arrives_before_it_stores, 1, 64),
                       CASE(arrives_relaxed, 1, 64),
                       CASE(asks_once, 1, 64),
                       CASE(next_round_overwrites, 1, 64),
                       CASE(one_thread_waits, 1, 64),
                       CASE(said_to_be_empty_before_it_is, 1, 64),
                       ENDS(waits_for_one_more, 1, 64),
                       RIGHT(rounds_of_two, 1, 64)};

int main(int argc, char** argv) { return run_cases(kCases, argc, argv); }
