// Uses of what nothing has written: shared, local and global memory, by bits, through what is computed with it.
#include "cases.h"

// ---- where it is used

KERNEL(branch_on_shared) {
  __shared__ int flag;
  if (Right && threadIdx.x == 0) flag = in[0];
  __syncthreads();
  if (flag > 3) out[threadIdx.x] = 1;  // HERE: uninitialised
}
KERNEL(loop_count_from_shared) {
  __shared__ int count;
  if (Right && threadIdx.x == 0) count = in[0];
  __syncthreads();
  for (int k = 0; k < count; ++k) atomicAdd(&out[threadIdx.x], 1);  // HERE: uninitialised
}
KERNEL(index_from_shared) {
  __shared__ int index[32];
  if (Right || threadIdx.x < 16) index[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = in[index[31 - threadIdx.x] & 63];  // HERE: uninitialised
}
KERNEL(stored_from_shared) {
  __shared__ int all[128];
  if (Right || threadIdx.x < 64) all[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = all[127 - threadIdx.x];  // HERE: uninitialised
}
KERNEL(stored_from_raw_memory) {
  if (Right) raw[threadIdx.x] = in[threadIdx.x];
  out[threadIdx.x] = raw[threadIdx.x];  // HERE: uninitialised
}
KERNEL(added_to_a_sum) {
  if (Right) raw[threadIdx.x] = in[threadIdx.x];
  out[threadIdx.x] = in[threadIdx.x] + 3 * raw[threadIdx.x];  // HERE: uninitialised
}
KERNEL(operand_of_an_atomic) {
  if (Right) raw[threadIdx.x] = in[threadIdx.x];
  atomicAdd(&out[0], raw[threadIdx.x]);  // HERE: uninitialised
}
KERNEL(counter_that_nobody_clears) {
  if (Right && threadIdx.x == 0) raw[0] = 0;
  __syncthreads();
  atomicAdd(&raw[0], 1);  // HERE: uninitialised
}
KERNEL(float_arithmetic) {
  float* values = reinterpret_cast<float*>(raw);
  if (Right) values[threadIdx.x] = 1.0f;
  out[threadIdx.x] = static_cast<int>(values[threadIdx.x] * 2.5f + 1.0f);  // HERE: uninitialised
}
KERNEL(double_from_raw) {
  double* values = reinterpret_cast<double*>(raw);
  if (Right) values[threadIdx.x] = 1.0;
  out[threadIdx.x] = values[threadIdx.x] < 2.0 ? 1 : 2;  // HERE: uninitialised
}

// ---- through other threads and memory

KERNEL(another_warps_part) {
  __shared__ int all[128];
  if (Right || threadIdx.x < 96) all[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  if (threadIdx.x < 32 && all[threadIdx.x + 96] > 100) out[threadIdx.x] = 1;  // HERE: uninitialised
}
KERNEL(shuffled) {
  if (Right || threadIdx.x != 7) raw[threadIdx.x] = in[threadIdx.x];
  const int other = __shfl_sync(~0u, raw[threadIdx.x], 7);
  if (other > 5) out[threadIdx.x] = 1;  // HERE: uninitialised
}
KERNEL(voted) {
  if (Right || threadIdx.x != 7) raw[threadIdx.x] = in[threadIdx.x];
  const uint who = __ballot_sync(~0u, raw[threadIdx.x] > 5);
  out[threadIdx.x] = static_cast<int>(who);  // HERE: uninitialised
}
KERNEL(copied_through_shared) {
  __shared__ int all[128];
  if (Right || threadIdx.x < 100) raw[threadIdx.x] = in[threadIdx.x];
  all[threadIdx.x] = raw[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = all[(threadIdx.x + 32) % 128];  // HERE: uninitialised
}
KERNEL(copied_through_local) {
  int mine[8];
  for (int k = 0; k < 8; ++k)
    if (Right || in[k] != 5) mine[k] = in[k];
  int sum = 0;
  for (int k = 0; k < 8; ++k) sum += mine[(k + in[0]) % 8];
  out[threadIdx.x] = sum;  // HERE: uninitialised
}
KERNEL(local_array_end) {
  int mine[16];
  for (int k = 0; k < (Right ? 16 : 15); ++k) mine[k] = in[k];
  if (mine[in[14]] == 3) out[threadIdx.x] = 1;  // HERE: uninitialised
}

// ---- bits and bytes

KERNEL(one_byte) {
  unsigned char* bytes = reinterpret_cast<unsigned char*>(raw);
  if (Right || threadIdx.x != 3) bytes[threadIdx.x] = 1;
  __syncthreads();
  if (bytes[threadIdx.x]) out[threadIdx.x] = 1;  // HERE: uninitialised
}
KERNEL(byte_within_a_word) {
  unsigned char* bytes = reinterpret_cast<unsigned char*>(raw);
  for (int k = 0; k < (Right ? 4 : 3); ++k) bytes[4 * threadIdx.x + k] = 1;
  if (raw[threadIdx.x] == 0x01010101) out[threadIdx.x] = 1;  // HERE: uninitialised
}
KERNEL(masked_to_what_is_written) {
  unsigned char* bytes = reinterpret_cast<unsigned char*>(raw);
  bytes[4 * threadIdx.x] = 0;
  const int word = *static_cast<volatile int*>(raw + threadIdx.x);
  if (word & (Right ? 0xff : 0xffff)) out[threadIdx.x] = 1;  // HERE: uninitialised
}
KERNEL(shifted_to_what_is_written) {
  unsigned char* bytes = reinterpret_cast<unsigned char*>(raw);
  bytes[4 * threadIdx.x + 3] = 1;
  const uint word = *reinterpret_cast<volatile uint*>(raw + threadIdx.x);
  if (word >> (Right ? 24 : 16) == (Right ? 1 : 0x100)) out[threadIdx.x] = 1;  // HERE: uninitialised
}
KERNEL(multiplied_by_nothing) {
  const int word = *static_cast<volatile int*>(raw + threadIdx.x);
  const int factor = in[threadIdx.x] - (Right ? static_cast<int>(threadIdx.x) + 1 : 0);
  if (word * factor == 0) out[threadIdx.x] = 1;  // HERE: uninitialised
}
KERNEL(converted) {
  if (Right) raw[threadIdx.x] = in[threadIdx.x];
  const float value = static_cast<float>(raw[threadIdx.x]);
  if (value > 2.0f) out[threadIdx.x] = 1;  // HERE: uninitialised
}
KERNEL(half_of_a_pair) {
  int2* pairs = reinterpret_cast<int2*>(raw);
  pairs[threadIdx.x].x = in[threadIdx.x];
  const int2 pair = pairs[threadIdx.x];
  if ((Right ? pair.x : pair.y) > 3) out[threadIdx.x] = 1;  // HERE: uninitialised
}
KERNEL(lowest_bit) {
  if (Right) raw[threadIdx.x] = in[threadIdx.x];
  if (raw[threadIdx.x] & 1) out[threadIdx.x] = 1;  // HERE: uninitialised
}

// ---- right: read, and not used

struct Tagged {
  char tag;
  double value;
};
KERNEL(padding_copied_along) {
  Tagged* all = reinterpret_cast<Tagged*>(raw);
  all[threadIdx.x].tag = 'x';
  all[threadIdx.x].value = 2.0;
  reinterpret_cast<Tagged*>(out)[threadIdx.x] = all[threadIdx.x];
}
KERNEL(dropped_by_a_selection) {
  int mine[8];
  for (int k = 0; k < 7; ++k) mine[k] = in[k];
  const volatile int* from = mine;
  const int last = from[7], first = from[in[0]];
  out[threadIdx.x] = in[0] == 1 ? first : last;
}
KERNEL(read_beyond_and_masked_out) {
  __shared__ int all[64];
  if (threadIdx.x < 40) all[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  const int value = *static_cast<volatile int*>(all + threadIdx.x);
  out[threadIdx.x] = threadIdx.x < 40 ? value : 0;
}
KERNEL(cleared_by_xor_with_itself) {
  if (threadIdx.x == 0) raw[0] = 0;
  __syncthreads();
  out[threadIdx.x] = raw[0];
}
KERNEL(bits_of_a_field) {
  uint* fields = reinterpret_cast<uint*>(raw);
  const uint before = *static_cast<volatile uint*>(fields + threadIdx.x);
  const uint set = (before & ~0xffu) | (threadIdx.x & 0xffu);
  if ((set & 0x80u) != 0) out[threadIdx.x] = 1;
}

// ---- numbers that are made of it, by instructions that move bits otherwise

KERNEL(doubled) {
  if (Right) raw[threadIdx.x] = in[threadIdx.x];
  out[threadIdx.x] = raw[threadIdx.x] * 2;  // HERE: uninitialised
}
// All but the last element is written: no padding is doubled.
KERNEL(last_one_doubled) {
  if (Right || threadIdx.x < 30) raw[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  if (threadIdx.x < 31) out[threadIdx.x] = static_cast<volatile int*>(raw)[threadIdx.x] * 2;  // HERE: uninitialised
}
KERNEL(last_byte_doubled) {
  char* bytes = reinterpret_cast<char*>(raw);
  for (uint k = threadIdx.x; k < (Right ? 124 : 123); k += 32) bytes[k] = 0;
  __syncthreads();
  if (threadIdx.x < 31) out[threadIdx.x] = static_cast<volatile int*>(raw)[threadIdx.x] * 2;  // HERE: uninitialised
}
KERNEL(last_one_as_a_real_number) {
  if (Right || threadIdx.x < 30) raw[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  const auto value = static_cast<float>(static_cast<volatile int*>(raw)[threadIdx.x]);
  if (threadIdx.x < 31) out[threadIdx.x] = __float_as_int(value);  // HERE: uninitialised
}

const Case kCases[] = {
    CASE(branch_on_shared, 1, 64),
    CASE(loop_count_from_shared, 1, 64),
    CASE(index_from_shared, 1, 32),
    CASE(stored_from_shared, 1, 128),
    CASE(stored_from_raw_memory, 1, 64),
    CASE(added_to_a_sum, 1, 64),
    CASE(operand_of_an_atomic, 1, 64),
    CASE(counter_that_nobody_clears, 1, 64),
    CASE(float_arithmetic, 1, 64),
    CASE(double_from_raw, 1, 64),
    CASE(another_warps_part, 1, 128),
    CASE(shuffled, 1, 32),
    CASE(voted, 1, 32),
    CASE(copied_through_shared, 1, 128),
    CASE(copied_through_local, 1, 32),
    CASE(local_array_end, 1, 32),
    CASE(one_byte, 1, 32),
    CASE(byte_within_a_word, 1, 32),
    CASE(masked_to_what_is_written, 1, 32),
    CASE(shifted_to_what_is_written, 1, 32),
    CASE(multiplied_by_nothing, 1, 32),
    CASE(converted, 1, 32),
    CASE(half_of_a_pair, 1, 32),
    CASE(lowest_bit, 1, 32),
    CASE(doubled, 1, 64),
    CASE(last_one_doubled, 1, 32),
    CASE(last_byte_doubled, 1, 32),
    CASE(last_one_as_a_real_number, 1, 32),
    RIGHT(padding_copied_along, 1, 32),
    RIGHT(dropped_by_a_selection, 1, 32),
    RIGHT(read_beyond_and_masked_out, 1, 64),
    RIGHT(cleared_by_xor_with_itself, 1, 32),
    RIGHT(bits_of_a_field, 1, 32),
};

int main(int argc, char** argv) { return run_cases(kCases, argc, argv); }
