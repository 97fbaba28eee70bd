// Loops that wait for a volatile flag, as compilers make them: their first round before the loop, in loops of rounds.
#include "cases.h"

#define FLAGS [[maybe_unused]] volatile uint* flags = words

KERNEL(sleeps_until_a_flag_without_a_fence) {
  FLAGS;
  if (blockIdx.x == 0) {
    out[0] = 7;
    __threadfence();
    flags[0] = 1;
  } else {
    for (uint pause = 8; flags[0] == 0; pause = pause < 256 ? 2 * pause : pause) __nanosleep(pause);
    if (Right) __threadfence();
    out[1] = out[0];  // HERE: race_global
  }
}
KERNEL(sleeps_for_a_flag_of_its_own_block) {
  FLAGS;
  if (Right && threadIdx.x == 32) flags[0] = 1;
  if (threadIdx.x == 0)
    while (flags[0] == 0) __nanosleep(100);  // HERE: deadlock
  __syncthreads();
  if (!Right && threadIdx.x == 32) flags[0] = 1;
}
// Two blocks hand numbers to and fro, as often as memory says.
#define TO_AND_FRO(pause, fence)                                     \
  FLAGS;                                                             \
  for (uint round = 1; round <= static_cast<uint>(in[3]); ++round) { \
    if (blockIdx.x == 0) {                                           \
      out[round] = static_cast<int>(round);                          \
      __threadfence();                                               \
      flags[0] = round;                                              \
      while (flags[1] < round) pause;                                \
      __threadfence();                                               \
      out[128 + round] = out[64 + round];                            \
    } else {                                                         \
      while (flags[0] < round) pause;                                \
      fence;                                                         \
      out[64 + round] = out[round];                                  \
      __threadfence();                                               \
      flags[1] = round;                                              \
    }                                                                \
  }
KERNEL(rounds_without_a_fence) {
  TO_AND_FRO({}, if (Right) __threadfence());  // HERE: race_global
}
KERNEL(rounds_that_sleep_without_a_fence) {
  TO_AND_FRO(__nanosleep(50), if (Right) __threadfence());  // HERE: race_global
}
// The second flag is looked at once.
KERNEL(waits_for_the_first_of_two_flags) {
  FLAGS;
  if (blockIdx.x < 2) {
    out[blockIdx.x] = 1;
    __threadfence();
    flags[blockIdx.x] = 1;
  } else {
    while (flags[0] == 0) __nanosleep(20);
    if (Right)
      while (flags[1] == 0) __nanosleep(20);
    else if (flags[1] == 0)  // HERE: race_global
      __nanosleep(20);
    __threadfence();
    out[2] = out[0] + out[1];
  }
}
KERNEL(waits_for_all_flags_in_turn) {
  FLAGS;
  if (blockIdx.x < 3) {
    out[blockIdx.x] = 1;
    __threadfence();
    flags[blockIdx.x] = 1;
  } else {
    int sum = 0;
    for (uint k = 0; k < gridDim.x - 1; ++k) {
      while (flags[k] == 0) __nanosleep(20);
      __threadfence();
      sum += out[k];
      out[8 + k] = sum;
    }
  }
}

const Case kCases[] = {
    CASE(sleeps_until_a_flag_without_a_fence, 2, 1),
    ENDS(sleeps_for_a_flag_of_its_own_block, 1, 64),
    CASE(rounds_without_a_fence, 2, 1),
    CASE(rounds_that_sleep_without_a_fence, 2, 1),
    CASE(waits_for_the_first_of_two_flags, 3, 1),
    RIGHT(waits_for_all_flags_in_turn, 4, 1),
};

int main(int argc, char** argv) { return run_cases(kCases, argc, argv); }
