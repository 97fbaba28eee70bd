// The corpus of a stranger: mistakes that the literature on checkers of GPU programs describes, in our words. Patterns
// of indices overlap, barriers miss in loops, private data are shared, lanes run apart, buffers take turns.
#include "cases.h"

// ---- patterns of indices

KERNEL(next_element_is_anothers) {
  const uint t = threadIdx.x;
  const int next = out[t + 1];
  if (Right) __syncthreads();
  out[t] = next + 1;  // HERE: race_global
}
KERNEL(element_before_in_another_block) {
  const uint i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = in[i];
  __syncthreads();
  if (Right ? threadIdx.x > 0 : i > 0) out[1024 + i] = out[i - 1];  // HERE: race_global
}
KERNEL(strides_meet) {
  const uint t = threadIdx.x;
  out[t * 2] = in[t];
  out[t * (Right ? 2 : 3) + 1] = in[t] + 7;  // HERE: race_global
}
KERNEL(remainders_meet) {
  const uint t = threadIdx.x;
  out[t % (Right ? 64 : 60)] = in[t];  // HERE: race_global
}
KERNEL(rows_one_too_short) {
  const uint width = Right ? 33 : 31;
  const uint x = threadIdx.x % 32, y = threadIdx.x / 32;
  out[y * width + x] = in[threadIdx.x];  // HERE: race_global
}
KERNEL(transposed_in_place) {
  const uint x = threadIdx.x % 8, y = threadIdx.x / 8;
  const int there = out[x * 8 + y];
  if (Right) __syncthreads();
  out[y * 8 + x] = there + 1;  // HERE: race_global
}
KERNEL(halves_overlap_by_one) {
  __shared__ int a[129];
  const uint t = threadIdx.x;
  if (t == 0) a[128] = 0;
  a[t] = in[t];
  __syncthreads();
  if (t < (Right ? 64 : 65)) a[t] += a[t + 64];  // HERE: race_shared
  __syncthreads();
  out[t] = a[t];
}
KERNEL(mirror_without_the_middle) {
  __shared__ int a[65];
  const uint t = threadIdx.x;
  a[t] = in[t];
  if (t == 0) a[64] = 0;
  __syncthreads();
  if (t < 33 || !Right) a[t] = a[64 - t] + 1;  // HERE: race_shared
  if (Right) __syncthreads();
  out[t] = a[t];
}
KERNEL(bytes_of_one_word) {
  unsigned char* bytes = reinterpret_cast<unsigned char*>(words);
  const uint t = threadIdx.x;
  bytes[t] = static_cast<unsigned char>(in[t]);
  if (!Right && t == 5) words[2] = 0;  // HERE: race_global
}
KERNEL(halves_of_a_long) {
  unsigned long long* wide = reinterpret_cast<unsigned long long*>(out);
  const uint t = threadIdx.x;
  if (t < 32)
    wide[t] = static_cast<unsigned long long>(in[t]);
  else
    out[Right ? t + 64 : 2 * (t - 32) + 1] = 9;  // HERE: race_global
}
KERNEL(four_words_at_once) {
  int4* wide = reinterpret_cast<int4*>(out);
  const uint t = threadIdx.x;
  wide[t] = make_int4(1, 2, 3, static_cast<int>(t));
  if (Right) __syncthreads();
  out[1024 + t] = out[t];  // HERE: race_global
}

// ---- barriers in loops

KERNEL(ping_pong_with_one_barrier_too_few) {
  __shared__ int a[64], b[64];
  const uint t = threadIdx.x;
  a[t] = in[t];
  __syncthreads();
  for (int k = 0; k < 3; ++k) {
    b[t] = a[(t + 1) % 64];  // HERE: race_shared
    __syncthreads();
    a[t] = b[(t + 33) % 64] + k;
    if (Right) __syncthreads();
  }
  __syncthreads();
  out[t] = a[t];
}
KERNEL(rotating_buffer_of_two) {
  __shared__ int ring[3][64];
  const uint t = threadIdx.x, n = Right ? 3 : 1;
  int sum = 0;
  for (uint k = 0; k < 6; ++k) {
    ring[k % n][t] = in[k * 64 + t];  // HERE: race_shared
    __syncthreads();
    sum += ring[k % n][(t + 37) % 64];
  }
  out[t] = sum;
}
KERNEL(scan_in_place) {
  __shared__ int a[64];
  const uint t = threadIdx.x;
  a[t] = in[t];
  __syncthreads();
  for (uint d = 1; d < 64; d *= 2) {
    const int before = t >= d ? a[t - d] : 0;
    if (Right) __syncthreads();
    a[t] += before;  // HERE: race_shared
    __syncthreads();
  }
  out[t] = a[t];
}
KERNEL(broadcast_is_overwritten) {
  __shared__ int pivot;
  const uint t = threadIdx.x;
  int sum = 0;
  for (int k = 0; k < 4; ++k) {
    if (t == static_cast<uint>(k) * 40 % 64) pivot = in[t] + k;  // HERE: race_shared
    __syncthreads();
    sum += pivot;
    if (Right) __syncthreads();
  }
  out[t] = sum;
}
KERNEL(barrier_only_in_some_rounds) {
  __shared__ int a[64];
  const uint t = threadIdx.x;
  a[t] = 0;
  __syncthreads();
  for (int k = 0; k < 4; ++k) {
    const int other = a[63 - t];
    if (Right || k != 2) __syncthreads();
    a[t] = other + k;  // HERE: race_shared
    __syncthreads();
  }
  out[t] = a[t];
}
KERNEL(odd_and_even_exchange) {
  __shared__ int a[64];
  const uint t = threadIdx.x;
  a[t] = in[63 - t];
  a[t + 32] = in[31 - t];
  __syncthreads();
  for (uint k = 0; k < 8; ++k) {
    const uint i = 2 * t + k % 2;
    if (i + 1 < 64 && a[i] > a[i + 1]) {  // HERE: race_shared
      const int x = a[i];
      a[i] = a[i + 1];  // HERE: race_shared
      a[i + 1] = x;
    }
    if (Right || k % 3 != 0) __syncthreads();
  }
  __syncthreads();
  out[t] = a[t];
}

// ---- data that are to be private

KERNEL(one_temporary_for_all) {
  __shared__ int temporary[64];
  const uint t = threadIdx.x;
  int* mine = Right ? &temporary[t] : &temporary[t / 2];
  *mine = in[t];  // HERE: race_shared
  out[t] = *mine + 1;
}
KERNEL(sum_without_an_atomic) {
  const uint t = threadIdx.x;
  if (Right)
    atomicAdd(&out[0], in[t]);
  else
    out[0] += in[t];  // HERE: race_global
}
KERNEL(slots_by_hash_collide) {
  const uint t = threadIdx.x, slot = (t * 7) % (Right ? 64 : 56);
  words[slot] = t;  // HERE: race_global
}
KERNEL(position_without_the_old_value) {
  __shared__ uint count;
  const uint t = threadIdx.x;
  if (t == 0) count = 0;
  __syncthreads();
  const uint at = atomicAdd(&count, 1u);  // HERE: race_shared
  words[t] = Right ? at : count;
}
KERNEL(block_sum_is_read_by_all_blocks) {
  const uint t = threadIdx.x;
  if (t == 0) atomicAdd(&out[0], in[blockIdx.x]);  // HERE: race_global
  __syncthreads();
  if (!Right) out[64 + blockIdx.x * blockDim.x + t] = out[0];
}

// ---- lanes of a warp

KERNEL(warp_tree_without_a_barrier) {
  __shared__ int a[32];
  const uint t = threadIdx.x;
  a[t] = in[t];
  __syncwarp();
  for (uint d = 16; d > 0; d /= 2) {
    if (t < d) a[t] += a[t + d];  // HERE: race_shared
    if (Right) __syncwarp();
  }
  if (t == 0) out[0] = a[0];
}
KERNEL(branches_of_a_warp_exchange) {
  __shared__ int a[32];
  const uint t = threadIdx.x;
  if (t < 16) a[t] = in[t];
  if (Right) __syncwarp();
  if (t >= 16) out[t] = a[t - 16];  // HERE: race_shared
}
KERNEL(half_warps_with_masks_of_their_own) {
  __shared__ int a[32];
  const uint t = threadIdx.x, half = t < 16 ? 0xffffu : 0xffff0000u;
  a[t] = in[t];
  __syncwarp(half);
  out[t] = a[Right ? (t ^ 1) : (t ^ 16)];  // HERE: race_shared
}
KERNEL(shuffle_orders_no_memory) {
  __shared__ int a[32];
  const uint t = threadIdx.x;
  a[t] = in[t];
  const int x = __shfl_xor_sync(~0u, in[t], 1);
  if (Right) __syncwarp();
  out[t] = a[t ^ 1] + x;  // HERE: race_shared
}
KERNEL(vote_orders_no_memory) {
  __shared__ int a[32];
  const uint t = threadIdx.x;
  a[t] = in[t];
  const bool all = __all_sync(~0u, in[t] > 0);
  if (Right) __syncwarp();
  if (all) out[t] = a[31 - t];  // HERE: race_shared
}
KERNEL(mask_of_all_in_a_branch) {
  const uint t = threadIdx.x;
  int x = in[t];
  if (t < 20) x += __shfl_down_sync(Right ? 0xfffffu : 0xfff00u, x, 1);  // HERE: bad_mask
  out[t] = t < 19 ? x : 0;
}

// ---- ends of arrays, and what nothing has written

KERNEL(halo_is_not_loaded) {
  __shared__ int a[66];
  const uint t = threadIdx.x;
  a[t + 1] = in[t];
  if (t == 0) a[0] = 0;
  if (Right && t == 63) a[65] = 0;
  __syncthreads();
  if (a[t] + a[t + 2] > 0) out[t] = 1;  // HERE: uninitialised
}
KERNEL(tail_of_the_last_tile) {
  __shared__ int tile[64];
  const uint t = threadIdx.x, n = 50;
  if (t < n)
    tile[t] = in[t];
  else if (Right)
    tile[t] = 0;
  __syncthreads();
  int sum = 0;
  for (uint k = 0; k < 64; ++k) sum += tile[k];
  out[t] = sum;  // HERE: uninitialised
}
KERNEL(column_beside_the_tile) {
  __shared__ int left[64], right[64];
  const uint t = threadIdx.x;
  left[t] = in[t];
  right[t] = in[t + 64];
  __syncthreads();
  const volatile int* at = left;
  out[t] = at[Right ? t : t + words[t] + (t == 63)] + right[t];  // HERE: out_of_array
}
KERNEL(selected_value_is_dropped) {
  int own[8];
  for (uint k = 0; k < 4; ++k) own[k] = in[k];
  const uint at = (threadIdx.x + words[0]) % 8;
  const int x = own[at];
  out[threadIdx.x] = !Right || at < 4 ? x : 0;  // HERE: uninitialised
}

const Case kCases[] = {
    CASE(next_element_is_anothers, 1, 64),
    CASE(element_before_in_another_block, 4, 64),
    CASE(strides_meet, 1, 64),
    CASE(remainders_meet, 1, 64),
    CASE(rows_one_too_short, 1, 64),
    CASE(transposed_in_place, 1, 64),
    CASE(halves_overlap_by_one, 1, 128),
    CASE(mirror_without_the_middle, 1, 64),
    CASE(bytes_of_one_word, 1, 64),
    CASE(halves_of_a_long, 1, 64),
    CASE(four_words_at_once, 1, 64),
    CASE(ping_pong_with_one_barrier_too_few, 1, 64),
    CASE(rotating_buffer_of_two, 1, 64),
    CASE(scan_in_place, 1, 64),
    CASE(broadcast_is_overwritten, 1, 64),
    CASE(barrier_only_in_some_rounds, 1, 64),
    CASE(odd_and_even_exchange, 1, 32),
    CASE(one_temporary_for_all, 1, 64),
    CASE(sum_without_an_atomic, 1, 64),
    CASE(slots_by_hash_collide, 1, 64),
    CASE(position_without_the_old_value, 1, 64),
    CASE(block_sum_is_read_by_all_blocks, 2, 64),
    CASE(warp_tree_without_a_barrier, 1, 32),
    CASE(branches_of_a_warp_exchange, 1, 32),
    CASE(half_warps_with_masks_of_their_own, 1, 32),
    CASE(shuffle_orders_no_memory, 1, 32),
    CASE(vote_orders_no_memory, 1, 32),
    CASE(mask_of_all_in_a_branch, 1, 32),
    CASE(halo_is_not_loaded, 1, 64),
    CASE(tail_of_the_last_tile, 1, 64),
    CASE(column_beside_the_tile, 1, 64),
    CASE(selected_value_is_dropped, 1, 32),
};

int main(int argc, char** argv) { return run_cases(kCases, argc, argv); }
