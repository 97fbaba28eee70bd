// Variables that not every path sets. Compilers keep them in registers: on such a path nothing has written the
// register.
#include "cases.h"

KERNEL(set_by_some_threads) {
  int value;
  if (Right || threadIdx.x < 20) value = in[threadIdx.x];
  out[threadIdx.x] = value;  // HERE: uninitialised
}
KERNEL(switch_without_a_default) {
  int value;
  switch (in[threadIdx.x] & 3) {
    case 0:
      value = in[threadIdx.x + 32];
      break;
    case 1:
      value = in[threadIdx.x + 64] * 2;
      break;
    case 2:
      value = in[threadIdx.x + 96] + 5;
      break;
    default:
      if (Right) value = in[threadIdx.x + 128] * 7;
  }
  out[threadIdx.x] = value;  // HERE: uninitialised
}
// Nothing is found: no index is set.
KERNEL(search_that_finds_nothing) {
  int at;
  if (Right) at = 1;
#pragma unroll 1
  for (int k = 0; k < in[31]; ++k)
    if (in[k] == -1 - static_cast<int>(threadIdx.x)) at = k;
  out[threadIdx.x] = in[at & 63];  // HERE: uninitialised
}
KERNEL(flag_that_some_set) {
  bool found;
  if (Right || threadIdx.x < 16) found = in[threadIdx.x] > 3;
  __syncthreads();
  if (found) out[threadIdx.x] = 1;  // HERE: uninitialised
}
KERNEL(first_comparison) {
  int previous, changes = 0;
#pragma unroll 1
  for (int k = 0; k < in[7]; ++k) {
    const int value = in[k + threadIdx.x];
    if ((!Right || k > 0) && value != previous) atomicAdd(&out[threadIdx.x], 1);  // HERE: uninitialised
    previous = value;
    changes += value;
  }
  out[threadIdx.x + 64] = changes;
}
__device__ void look_up(const int* in, int key, int* result) {
  if (in[key] > 40) return;
  *result = in[key + 1];
}
KERNEL(result_that_a_function_leaves) {
  int result;
  if (Right) result = 0;
  look_up(in, threadIdx.x, &result);
  atomicAdd(&out[0], result);  // HERE: uninitialised
}
KERNEL(real_number) {
  float scale;
  if (Right || in[threadIdx.x] % 2 == 0) scale = reinterpret_cast<const float*>(in)[threadIdx.x + 32];
  __syncthreads();
  out[threadIdx.x] = static_cast<int>(scale * 2.5f);  // HERE: uninitialised
}
// A member that nobody sets is copied along.
KERNEL(unset_member) {
  int4 all;
  all.x = in[threadIdx.x];
  all.y = in[threadIdx.x + 1];
  all.z = in[threadIdx.x + 2];
  if (in[threadIdx.x] > 500) all.w = in[threadIdx.x + 3];
  reinterpret_cast<int4*>(out)[threadIdx.x] = all;
}
// Read only where it is set.
KERNEL(best_so_far) {
  int best;
  bool any = false;
#pragma unroll 1
  for (int k = 0; k < in[15]; ++k) {
    const int value = in[k + threadIdx.x];
    if (value % 3 == 0 && (!any || value < best)) best = value, any = true;
  }
  if (any) out[threadIdx.x] = best;
}
KERNEL(used_where_it_is_set) {
  int value;
  if (threadIdx.x < 20) value = in[threadIdx.x];
  __syncthreads();
  const int shifted = value * 4;
  if (threadIdx.x < 20) out[threadIdx.x] = shifted;
}
KERNEL(masked_out) {
  unsigned value;
  if (threadIdx.x < 20) value = static_cast<unsigned>(in[threadIdx.x]);
  __syncthreads();
  out[threadIdx.x] = static_cast<int>(value & (threadIdx.x < 20 ? ~0u : 0u));
}
KERNEL(passed_by_idle_lanes) {
  int value;
  if (threadIdx.x == 0) value = in[0];
  out[threadIdx.x] = __shfl_sync(~0u, value, 0);
}

const Case kCases[] = {
    CASE(set_by_some_threads, 1, 32),
    CASE(switch_without_a_default, 1, 32),
    CASE(search_that_finds_nothing, 1, 32),
    CASE(flag_that_some_set, 1, 32),
    CASE(first_comparison, 1, 32),
    CASE(result_that_a_function_leaves, 1, 64),
    CASE(real_number, 1, 32),
    RIGHT(unset_member, 1, 32),
    RIGHT(best_so_far, 1, 32),
    RIGHT(used_where_it_is_set, 1, 32),
    RIGHT(masked_out, 1, 32),
    RIGHT(passed_by_idle_lanes, 1, 32),
};

int main(int argc, char** argv) { return run_cases(kCases, argc, argv); }
