// Kernels as programs have them, each with one everyday mistake.
#include "cases.h"

// ---- barriers and races

KERNEL(halo_of_a_stencil) {
  __shared__ int tile[66];
  const int t = static_cast<int>(threadIdx.x);
  tile[t + 1] = in[t + 1];
  if (t == 0) tile[0] = in[0];
  if (t == 63) tile[65] = in[65];
  if (Right) __syncthreads();
  out[t] = tile[t] + tile[t + 1] + tile[t + 2];  // HERE: race_shared
}
KERNEL(stencil_in_place) {
  const int t = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (t == 0 || t == 255) return;
  int* to = Right ? raw : out;
  to[t] = out[t - 1] + out[t] + out[t + 1] + in[t];  // HERE: race_global
}
KERNEL(transpose_of_a_tile) {
  __shared__ int tile[16][17];
  const uint x = threadIdx.x % 16, y = threadIdx.x / 16;
  tile[y][x] = in[threadIdx.x];
  if (Right) __syncthreads();
  out[threadIdx.x] = tile[x][y];  // HERE: race_shared
}
KERNEL(scan_in_one_buffer) {
  __shared__ int sums[64];
  const uint t = threadIdx.x;
  sums[t] = in[t];
  __syncthreads();
  for (uint step = 1; step < 64; step *= 2) {
    const int left = t >= step ? sums[t - step] : 0;
    if (Right) __syncthreads();
    sums[t] += left;  // HERE: race_shared
    __syncthreads();
  }
  out[t] = sums[t];
}
KERNEL(tree_that_forgets_the_last_barrier) {
  __shared__ int sums[128];
  const uint t = threadIdx.x;
  sums[t] = in[t];
  for (uint half = 64; half > 0; half /= 2) {
    if (Right || half > 16) __syncthreads();
    if (t < half) sums[t] += sums[t + half];  // HERE: race_shared
  }
  if (t == 0) out[0] = sums[0];
}
KERNEL(bitonic_sort) {
  __shared__ int keys[128];
  const uint t = threadIdx.x;
  keys[t] = in[127 - t];
  __syncthreads();
  for (uint size = 2; size <= 128; size *= 2)
    for (uint step = size / 2; step > 0; step /= 2) {
      const uint other = t ^ step;
      if (other > t && (keys[t] > keys[other]) == ((t & size) == 0)) {  // HERE: race_shared
        const int key = keys[t];
        keys[t] = keys[other];  // HERE: race_shared
        keys[other] = key;      // HERE: race_shared
      }
      if (Right || step > 32) __syncthreads();
    }
  __syncthreads();
  out[t] = keys[t];
}
KERNEL(broadcast_by_thread_0) {
  __shared__ int limit;
  if (threadIdx.x == 0) limit = 0;
  __syncthreads();
  if (threadIdx.x == 0) limit = in[7];
  if (Right) __syncthreads();
  out[threadIdx.x] = limit;  // HERE: race_shared
}
KERNEL(product_of_tiles) {
  __shared__ int a[8][8], b[8][8];
  const uint x = threadIdx.x % 8, y = threadIdx.x / 8;
  int sum = 0;
  for (int k = 0; k < 4; ++k) {
    a[y][x] = in[64 * k + threadIdx.x];        // HERE: race_shared
    b[y][x] = in[256 + 64 * k + threadIdx.x];  // HERE: race_shared
    __syncthreads();
    for (int j = 0; j < 8; ++j) sum += a[y][j] * b[j][x];
    if (Right) __syncthreads();
  }
  out[threadIdx.x] = sum;
}
KERNEL(histogram_without_atomics) {
  const uint t = blockIdx.x * blockDim.x + threadIdx.x;
  if (Right)
    atomicAdd(&out[in[t] % 16], 1);
  else
    out[in[t] % 16] += 1;  // HERE: race_global
}
KERNEL(private_histograms_added_plainly) {
  __shared__ int bins[16];
  const uint t = threadIdx.x;
  if (t < 16) bins[t] = 0;
  __syncthreads();
  atomicAdd(&bins[in[blockIdx.x * blockDim.x + t] % 16], 1);
  __syncthreads();
  if (t >= 16) return;
  if (Right)
    atomicAdd(&out[t], bins[t]);
  else
    out[t] += bins[t];  // HERE: race_global
}
KERNEL(bins_cleared_without_a_barrier) {
  __shared__ int bins[16];
  const uint t = threadIdx.x;
  if (t < 16) bins[t] = 0;
  if (Right) __syncthreads();
  atomicAdd(&bins[(in[t] + 7) % 16], 1);  // HERE: race_shared
  __syncthreads();
  if (t < 16) out[t] = bins[t];
}
KERNEL(maximum_by_comparison) {
  const int mine = in[blockIdx.x * blockDim.x + threadIdx.x];
  if (Right)
    atomicMax(&out[0], mine);
  else if (out[0] < mine)  // HERE: race_global
    out[0] = mine;         // HERE: race_global
}
KERNEL(result_of_the_last_block) {
  __shared__ bool last;
  const uint t = threadIdx.x;
  out[1 + blockIdx.x * 32 + t] = in[t];
  if (Right) __threadfence();
  __syncthreads();
  if (t == 0) last = atomicAdd(&words[0], 1u) == gridDim.x - 1;
  __syncthreads();
  if (!last) return;
  __threadfence();
  int sum = 0;
  for (uint b = 0; b < gridDim.x; ++b) sum += out[1 + b * 32 + t];  // HERE: race_global
  raw[t] = sum;
}

// ---- graphs: nodes are 0 .. 255, the neighbours of n are n / 2, 2n, 2n + 1

__device__ inline int neighbour(int n, int k) { return (k == 0 ? n / 2 : 2 * n + k - 1) & 255; }

KERNEL(frontier_with_a_plain_counter) {
  const int n = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (in[n] % 3 != 0) return;
  const int at =
      Right ? static_cast<int>(atomicAdd(&words[0], 1u)) : static_cast<int>(words[0]++);  // HERE: race_global
  if (Right) out[at] = n;
}
KERNEL(distances_relaxed_plainly) {
  const int n = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  for (int k = 0; k < 3; ++k) {
    const int to = neighbour(n, k), length = in[n] + k;
    if (Right)
      atomicMax(&out[to], length);
    else if (out[to] < length)  // HERE: race_global
      out[to] = length;         // HERE: race_global
  }
}
KERNEL(marks_read_beside_atomics) {
  const int n = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int seen = Right ? atomicAdd(&out[neighbour(n, 1)], 0) : out[neighbour(n, 1)];
  if (seen < 1000) atomicAdd(&out[neighbour(n, 0)], in[n]);  // HERE: race_global
}
KERNEL(colours_of_neighbours) {
  const int n = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  int free = 0;
  for (int k = 0; k < 3; ++k)
    if ((Right ? in : out)[neighbour(n, k)] == free) ++free;  // HERE: race_global
  out[n] = free + 1;
}
KERNEL(component_hooked_plainly) {
  const int n = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int root = neighbour(n, 0);
  if (Right)
    atomicMin(&out[root], -n);
  else
    out[root] = -n;  // HERE: race_global
}
KERNEL(edge_past_the_last_node) {
  const int n = static_cast<int>(threadIdx.x);
  int sum = 0;
  for (int k = n; k < n + 2; ++k) sum += in[Right ? k : k + kInts - 64];  // HERE: illegal_address
  out[n] = sum;
}

// ---- bounds

KERNEL(one_element_past_the_end) {
  const uint t = blockIdx.x * blockDim.x + threadIdx.x;
  for (uint k = t; Right ? k < kInts : k <= kInts; k += blockDim.x * gridDim.x)
    out[k] = in[k % kInts];  // HERE: illegal_address
}
KERNEL(threads_beyond_the_data) {
  const uint t = blockIdx.x * 1024 + threadIdx.x;
  if (!Right || t < kInts) out[t] = 1;  // HERE: illegal_address
}
KERNEL(left_neighbour_of_the_first) {
  const int t = static_cast<int>(threadIdx.x);
  out[t] = in[Right && t == 0 ? 0 : t - 1];  // HERE: illegal_address
}
KERNEL(index_overflows) {
  const int t = static_cast<int>(threadIdx.x) + 65536;
  const int square = Right ? 4 : static_cast<int>(static_cast<uint>(t) * static_cast<uint>(t + 32767));
  out[threadIdx.x] = in[square];  // HERE: illegal_address
}
KERNEL(bytes_taken_for_elements) {
  const char* base = reinterpret_cast<const char*>(in);
  out[threadIdx.x] = *reinterpret_cast<const int*>(base + threadIdx.x * (Right ? 4 : 1));  // HERE: misaligned_address
}
KERNEL(vector_of_an_odd_element) {
  const int at = 4 * static_cast<int>(threadIdx.x);
  *reinterpret_cast<int4*>(out + at + (Right ? 0 : 1)) = make_int4(at, 1, 2, 3);  // HERE: misaligned_address
}
KERNEL(null_pointer) {
  const int* from = Right || threadIdx.x < 40 ? in : nullptr;
  out[threadIdx.x] = from[threadIdx.x];  // HERE: illegal_address
}
KERNEL(dynamic_shared_memory_too_small) {
  extern __shared__ int dynamic[];
  dynamic[threadIdx.x + (Right ? 0 : 64)] = in[threadIdx.x];  // HERE: illegal_address
  out[threadIdx.x] = dynamic[threadIdx.x + (Right ? 0 : 64)];
}

// ---- right: what looks wrong

KERNEL(every_thread_sets_the_same_flag) {
  if (in[blockIdx.x * blockDim.x + threadIdx.x] > 3) out[0] = 1;
}
KERNEL(grid_stride_with_overlap_read) {
  const uint t = blockIdx.x * blockDim.x + threadIdx.x;
  for (uint k = t; k < 1024; k += blockDim.x * gridDim.x) out[k] = in[k] + in[k + 1] + in[k + 2];
}
KERNEL(result_returned_by_an_atomic) {
  const uint at = atomicAdd(&words[0], 1u);
  out[at] = in[at];
}
KERNEL(blocks_own_bins) {
  const uint t = threadIdx.x;
  atomicAdd(&out[16 * blockIdx.x + in[t] % 16], 1);
  __syncthreads();
  if (t < 16) raw[16 * blockIdx.x + t] = out[16 * blockIdx.x + t];
}

const Case kCases[] = {
    CASE(halo_of_a_stencil, 1, 64),
    CASE(stencil_in_place, 2, 128),
    CASE(transpose_of_a_tile, 1, 256),
    CASE(scan_in_one_buffer, 1, 64),
    CASE(tree_that_forgets_the_last_barrier, 1, 128),
    CASE(bitonic_sort, 1, 128),
    CASE(broadcast_by_thread_0, 1, 64),
    CASE(product_of_tiles, 1, 64),
    CASE(histogram_without_atomics, 2, 64),
    CASE(private_histograms_added_plainly, 3, 64),
    CASE(bins_cleared_without_a_barrier, 1, 64),
    CASE(maximum_by_comparison, 2, 64),
    CASE(result_of_the_last_block, 4, 32),
    CASE(frontier_with_a_plain_counter, 2, 64),
    CASE(distances_relaxed_plainly, 4, 64),
    CASE(marks_read_beside_atomics, 4, 64),
    CASE(colours_of_neighbours, 4, 64),
    CASE(component_hooked_plainly, 4, 64),
    ENDS(edge_past_the_last_node, 1, 64),
    ENDS(one_element_past_the_end, 4, 128),
    ENDS(threads_beyond_the_data, 5, 1024),
    ENDS(left_neighbour_of_the_first, 1, 64),
    ENDS(index_overflows, 1, 64),
    ENDS(bytes_taken_for_elements, 1, 64),
    ENDS(vector_of_an_odd_element, 1, 64),
    ENDS(null_pointer, 1, 64),
    {"dynamic_shared_memory_too_small",
     {[](const Data& d) { dynamic_shared_memory_too_small<false><<<1, 64, 256>>>(d.in, d.out, d.words, d.raw); },
      [](const Data& d) { dynamic_shared_memory_too_small<true><<<1, 64, 256>>>(d.in, d.out, d.words, d.raw); }},
     true},
    RIGHT(every_thread_sets_the_same_flag, 2, 64),
    RIGHT(grid_stride_with_overlap_read, 2, 64),
    RIGHT(result_returned_by_an_atomic, 2, 64),
    RIGHT(blocks_own_bins, 2, 64),
};

int main(int argc, char** argv) { return run_cases(kCases, argc, argv); }
