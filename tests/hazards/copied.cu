// Copies of what nothing has written: an element that is missing is a mistake where it is stored, or where the copy is
// used; padding of structures and unset members of vectors are copied along.
#include "bulk.h"

// ---- single elements, beside others that are written

KERNEL(last_of_a_tile) {
  __shared__ int tile[64];
  if (Right || threadIdx.x < 63) tile[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x];  // HERE: uninitialised
}
KERNEL(every_other_of_an_array) {
  if (Right || threadIdx.x % 2 == 0) raw[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = raw[threadIdx.x ^ 1];  // HERE: uninitialised
}
KERNEL(one_real_number) {
  __shared__ double tile[32];
  if (Right || threadIdx.x != 5) tile[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  reinterpret_cast<double*>(out)[threadIdx.x] = tile[31 - threadIdx.x];  // HERE: uninitialised
}
KERNEL(last_byte) {
  __shared__ char tile[64];
  if (Right || threadIdx.x < 63) tile[threadIdx.x] = 'x';
  __syncthreads();
  reinterpret_cast<char*>(out)[threadIdx.x] = tile[63 - threadIdx.x];  // HERE: uninitialised
}
KERNEL(border_of_a_stencil) {
  __shared__ int tile[34];
  tile[threadIdx.x + 1] = in[threadIdx.x];
  if (threadIdx.x == 0) tile[0] = 0;
  if (Right && threadIdx.x == 0) tile[33] = 0;
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x + 2];  // HERE: uninitialised
}
KERNEL(one_of_a_thread_s_own) {
  int mine[8];
  for (int k = 0; k < (Right ? 8 : 7); ++k) mine[k] = in[k];
  out[threadIdx.x] = mine[(in[3] + in[2]) % 8];  // HERE: uninitialised
}
// Another array of the block has wider elements: that says nothing of this one.
KERNEL(beside_an_array_of_wider_elements) {
  __shared__ double other[32];
  __shared__ int tile[32];
  other[threadIdx.x] = in[threadIdx.x];
  if (Right || threadIdx.x < 31) tile[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = tile[31 - threadIdx.x] + static_cast<int>(other[0]) * 0;  // HERE: uninitialised
}

// ---- copied along, and used

KERNEL(member_of_a_copied_vector) {
  __shared__ int4 from[32], to[32];
  from[threadIdx.x].x = from[threadIdx.x].y = from[threadIdx.x].z = in[threadIdx.x];
  if (Right) from[threadIdx.x].w = 1;
  __syncthreads();
  to[threadIdx.x] = from[31 - threadIdx.x];
  __syncthreads();
  if (to[31 - threadIdx.x].w == 1) out[threadIdx.x] = 1;  // HERE: uninitialised
}
KERNEL(through_global_memory) {
  __shared__ int4 from[32];
  from[threadIdx.x].x = from[threadIdx.x].y = from[threadIdx.x].z = in[threadIdx.x];
  if (Right) from[threadIdx.x].w = 1;
  int4* to = reinterpret_cast<int4*>(raw);
  to[threadIdx.x] = from[threadIdx.x];
  __syncthreads();
  if (to[31 - threadIdx.x].w == 1) out[threadIdx.x] = 1;  // HERE: uninitialised
}
KERNEL(over_what_was_written) {
  __shared__ int4 from[32];
  from[threadIdx.x].x = from[threadIdx.x].y = from[threadIdx.x].z = in[threadIdx.x];
  if (Right) from[threadIdx.x].w = 1;
  int4* to = reinterpret_cast<int4*>(out);
  to[threadIdx.x] = from[threadIdx.x];
  __syncthreads();
  if (to[31 - threadIdx.x].w == 1) words[threadIdx.x] = 1;  // HERE: uninitialised
}
__device__ int4 kept;
KERNEL(through_a_variable) {
  __shared__ int4 one;
  one.x = one.y = one.z = in[0];
  if (Right) one.w = 1;
  if (threadIdx.x == 0) kept = one;
  __syncthreads();
  if (kept.w == 1) out[threadIdx.x] = 1;  // HERE: uninitialised
}
KERNEL(by_a_bulk_copy) {
  alignas(16) __shared__ int tile[64];
  alignas(8) __shared__ unsigned long long object;
  if (Right || threadIdx.x % 4 != 3) raw[threadIdx.x] = in[threadIdx.x];
  publish();
  if (threadIdx.x == 0) init(&object, 1);
  __syncthreads();
  if (threadIdx.x == 0) {
    expect(&object, 256);
    BRING(tile, raw, 256, &object);
  }
  wait(&object, 0);
  out[threadIdx.x] = 2 * tile[63 - threadIdx.x];  // HERE: uninitialised
}
struct Four {
  int x, y, z, unset;
};
KERNEL(member_of_a_copied_structure) {
  Four *from = reinterpret_cast<Four*>(raw), *to = reinterpret_cast<Four*>(out);
  from[threadIdx.x].x = from[threadIdx.x].y = from[threadIdx.x].z = in[threadIdx.x];
  if (Right) from[threadIdx.x].unset = 1;
  __syncthreads();
  to[threadIdx.x] = from[31 - threadIdx.x];
  __syncthreads();
  if (to[31 - threadIdx.x].unset == 1) words[threadIdx.x] = 1;  // HERE: uninitialised
}
template <bool Right>
__global__ void fill_vectors(int4* all, int value) {
  all[threadIdx.x].x = all[threadIdx.x].y = all[threadIdx.x].z = value;
  if (Right) all[threadIdx.x].w = value;
}
__global__ void copy_vectors(const int4* from, int4* to) { to[threadIdx.x] = from[threadIdx.x]; }
template <bool Right>
__global__ void used_by_a_later_kernel(const int4* all, int* out) {
  if (all[threadIdx.x].w > 3) out[threadIdx.x] = 1;  // HERE: uninitialised
}
template <bool Right>
__global__ void used_behind_a_copy_by_the_host(const int4* all, int* out) {
  if (all[threadIdx.x].w > 3) out[threadIdx.x] = 1;  // HERE: uninitialised
}
template <bool Right>
void later_kernel(const Data& d) {
  int4 *first = reinterpret_cast<int4*>(d.raw), *second = reinterpret_cast<int4*>(d.out);
  fill_vectors<Right><<<1, 32>>>(first, 7);
  copy_vectors<<<1, 32>>>(first, second);
  used_by_a_later_kernel<Right><<<1, 32>>>(second, reinterpret_cast<int*>(d.words));
}
template <bool Right>
void host_copy(const Data& d) {
  int4 *first = reinterpret_cast<int4*>(d.raw), *second = reinterpret_cast<int4*>(d.out);
  fill_vectors<Right><<<1, 32>>>(first, 7);
  cudaMemcpy(second, first, 32 * sizeof(int4), cudaMemcpyDeviceToDevice);
  used_behind_a_copy_by_the_host<Right><<<1, 32>>>(second, reinterpret_cast<int*>(d.words));
}

// ---- right: copied along, and not used

struct Tagged {
  char tag;
  double value;
};
struct Ended {
  double value;
  int end;
};
struct Mixed {
  short first;
  int second;
  char third;
  long long fourth;
};
template <class S>
__device__ void set(S& s, int value);
template <>
__device__ void set(Tagged& s, int value) {
  s.tag = 'x';
  s.value = value;
}
template <>
__device__ void set(Ended& s, int value) {
  s.value = value;
  s.end = value;
}
template <>
__device__ void set(Mixed& s, int value) {
  s.first = static_cast<short>(value);
  s.second = value;
  s.third = 'x';
  s.fourth = value;
}
// All threads copy, an element each, to shared memory and back.
template <class S, class Element>
__device__ void by_elements(const int* in, int* out, int* raw) {
  __shared__ S all[32];
  __shared__ Element between[32 * sizeof(S) / sizeof(Element)];
  set(all[threadIdx.x], in[threadIdx.x]);
  set(reinterpret_cast<S*>(raw)[threadIdx.x], in[threadIdx.x]);
  __syncthreads();
  constexpr uint kCount = 32 * sizeof(S) / sizeof(Element);
  Element *first = reinterpret_cast<Element*>(out), *second = first + kCount;
  for (uint k = threadIdx.x; k < kCount; k += 32) {
    between[k] = reinterpret_cast<const Element*>(all)[k];
    second[k] = reinterpret_cast<const Element*>(raw)[k];
  }
  __syncthreads();
  for (uint k = threadIdx.x; k < kCount; k += 32) first[k] = between[k];
  __syncthreads();
  for (uint k = threadIdx.x; k < kCount; k += 32) second[kCount + k] = second[kCount - 1 - k];
}
KERNEL(padding_by_words) { by_elements<Tagged, int>(in, out, raw); }
KERNEL(padding_by_bytes) { by_elements<Tagged, char>(in, out, raw); }
KERNEL(padding_at_the_end) { by_elements<Ended, int>(in, out, raw); }
KERNEL(padding_in_several_places) { by_elements<Mixed, short>(in, out, raw); }
KERNEL(structures_as_a_whole) {
  __shared__ Mixed all[32];
  set(all[threadIdx.x], in[threadIdx.x]);
  __syncthreads();
  reinterpret_cast<Mixed*>(raw)[threadIdx.x] = all[31 - threadIdx.x];
  __syncthreads();
  reinterpret_cast<Mixed*>(out)[threadIdx.x] = reinterpret_cast<Mixed*>(raw)[31 - threadIdx.x];
}
KERNEL(unset_member_of_vectors) {
  __shared__ float4 all[32];
  all[threadIdx.x].x = all[threadIdx.x].y = all[threadIdx.x].z = 1.0f;
  __syncthreads();
  reinterpret_cast<float4*>(out)[threadIdx.x] = all[31 - threadIdx.x];
}

KERNEL(unset_member_of_structures) {
  Four *from = reinterpret_cast<Four*>(raw), *to = reinterpret_cast<Four*>(out);
  from[threadIdx.x].x = from[threadIdx.x].y = from[threadIdx.x].z = in[threadIdx.x];
  __syncthreads();
  to[threadIdx.x] = from[31 - threadIdx.x];
}

const Case kCases[] = {
    CASE(last_of_a_tile, 1, 64),
    CASE(every_other_of_an_array, 1, 64),
    CASE(one_real_number, 1, 32),
    CASE(last_byte, 1, 64),
    CASE(border_of_a_stencil, 1, 32),
    CASE(one_of_a_thread_s_own, 1, 32),
    CASE(beside_an_array_of_wider_elements, 1, 32),
    CASE(member_of_a_copied_vector, 1, 32),
    CASE(through_global_memory, 1, 32),
    CASE(over_what_was_written, 1, 32),
    CASE(through_a_variable, 1, 32),
    CASE(by_a_bulk_copy, 1, 64),
    CASE(member_of_a_copied_structure, 1, 32),
    {"used_by_a_later_kernel", {later_kernel<false>, later_kernel<true>}, false},
    {"used_behind_a_copy_by_the_host", {host_copy<false>, host_copy<true>}, false},
    RIGHT(padding_by_words, 1, 32),
    RIGHT(padding_by_bytes, 1, 32),
    RIGHT(padding_at_the_end, 1, 32),
    RIGHT(padding_in_several_places, 1, 32),
    RIGHT(structures_as_a_whole, 1, 32),
    RIGHT(unset_member_of_vectors, 1, 32),
    RIGHT(unset_member_of_structures, 1, 32),
};

int main(int argc, char** argv) { return run_cases(kCases, argc, argv); }
