// Calls that cannot be right: copies, fills, frees and launches.
#include "host_cases.h"

__constant__ int table[16];
__device__ int variable;

__global__ void store(int* p, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] = i;
}

// ---- frees

template <bool Right>
void freed_twice() {
  int* p = device_ints();
  cudaFree(p);
  if (!Right) cudaFree(p);  // HERE: bad_free
}
template <bool Right>
void freed_in_a_copy_of_the_pointer() {
  struct Owner {
    int* p;
    ~Owner() { cudaFree(p); }  // HERE: bad_free
  };
  Owner a{device_ints()};
  Owner b{Right ? device_ints() : a.p};
}
template <bool Right>
void freed_never_allocated() {
  int local = 0;
  if (!Right) cudaFree(&local);  // HERE: bad_free
}
template <bool Right>
void freed_inner_pointer() {
  int* p = device_ints();
  if (!Right) cudaFree(p + 1);  // HERE: bad_free
  cudaFree(p);
}
template <bool Right>
void pinned_freed_as_device() {
  int* p = nullptr;
  cudaMallocHost(&p, kBytes);
  if (!Right) cudaFree(p);  // HERE: bad_free
  cudaFreeHost(p);
}
template <bool Right>
void device_freed_as_pinned() {
  int* p = device_ints();
  if (!Right) cudaFreeHost(p);  // HERE: bad_free
  cudaFree(p);
}
template <bool Right>
void freed_async_twice() {
  int* p = nullptr;
  cudaMallocAsync(&p, kBytes, nullptr);
  cudaFreeAsync(p, nullptr);
  if (!Right) cudaFreeAsync(p, nullptr);  // HERE: bad_free
}
template <bool Right>
void null_is_freed() {
  cudaFree(nullptr);
  cudaFreeHost(nullptr);
}

// ---- copies and fills

int host[4 * kInts];

template <bool Right>
void copy_writes_past_the_end() {
  int* p = device_ints();
  cudaMemcpy(p, host, kBytes + (Right ? 0 : 4), cudaMemcpyHostToDevice);  // HERE: bad_copy
  cudaFree(p);
}
template <bool Right>
void copy_reads_past_the_end() {
  int* p = device_ints();
  cudaMemcpy(host, p + 10, kBytes - (Right ? 40 : 0), cudaMemcpyDeviceToHost);  // HERE: bad_copy
  cudaFree(p);
}
template <bool Right>
void bytes_taken_for_elements() {
  int *p = device_ints(), *q = device_ints();
  cudaMemcpy(q, p, kBytes * (Right ? 1 : sizeof(int)), cudaMemcpyDeviceToDevice);  // HERE: bad_copy
  cudaFree(p);
  cudaFree(q);
}
template <bool Right>
void copy_past_pinned_memory() {
  int *p = device_ints(), *q = nullptr;
  cudaMallocHost(&q, kBytes - 4);
  cudaMemcpyAsync(q, p, kBytes - (Right ? 4 : 0), cudaMemcpyDeviceToHost);  // HERE: bad_copy
  cudaDeviceSynchronize();
  cudaFreeHost(q);
  cudaFree(p);
}
template <bool Right>
void fill_past_the_end() {
  int* p = device_ints();
  cudaMemset(p + (Right ? 0 : 1), 0, kBytes);  // HERE: bad_copy
  cudaFree(p);
}
template <bool Right>
void fill_of_host_memory() {
  int* p = device_ints();
  cudaMemset(Right ? p : host, 0, kBytes);  // HERE: bad_copy
  cudaFree(p);
}
template <bool Right>
void copy_to_freed_memory() {
  int* p = device_ints();
  if (!Right) cudaFree(p);
  cudaMemcpy(p, host, kBytes, cudaMemcpyHostToDevice);  // HERE: bad_copy
  if (Right) cudaFree(p);
}
template <bool Right>
void copy_from_freed_memory() {
  int* p = device_ints();
  if (!Right) cudaFree(p);
  cudaMemcpy(host, p, kBytes, cudaMemcpyDeviceToHost);  // HERE: bad_copy
  if (Right) cudaFree(p);
}
template <bool Right>
void fill_of_freed_memory() {
  int* p = device_ints();
  if (!Right) cudaFree(p);
  cudaMemset(p, 0, kBytes);  // HERE: bad_copy
  if (Right) cudaFree(p);
}
template <bool Right>
void rows_past_the_end() {
  int* p = nullptr;
  size_t pitch = 0;
  cudaMallocPitch(&p, &pitch, 100, 10);
  cudaMemcpy2D(p, pitch, host, 100, 100, Right ? 10 : 11, cudaMemcpyHostToDevice);  // HERE: bad_copy
  cudaFree(p);
}
template <bool Right>
void rows_longer_than_their_distance() {
  int *p = device_ints(), *q = device_ints();
  cudaMemcpy2D(q, 400, p, 400, Right ? 400 : 404, 9, cudaMemcpyDeviceToDevice);  // HERE: bad_copy
  cudaFree(p);
  cudaFree(q);
}
template <bool Right>
void past_the_end_of_a_variable() {
  cudaMemcpyToSymbol(table, host, sizeof(int) * (Right ? 16 : 17));  // HERE: bad_copy
}
template <bool Right>
void offset_past_a_variable() {
  cudaMemcpyFromSymbol(host, table, sizeof(int) * 4, sizeof(int) * (Right ? 12 : 13));  // HERE: bad_copy
}
template <bool Right>
void variable_copied_the_other_way() {
  const cudaMemcpyKind kind = Right ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost;
  cudaMemcpyToSymbol(variable, host, sizeof(int), 0, kind);  // HERE: bad_copy
}
template <bool Right>
void sides_swapped() {
  int* p = device_ints();
  cudaMemcpy(Right ? (void*)p : host, Right ? (void*)host : p, kBytes, cudaMemcpyHostToDevice);  // HERE: bad_copy
  cudaFree(p);
}
template <bool Right>
void variable_by_its_host_address() {
  if (Right)
    cudaMemcpyToSymbol(variable, host, sizeof variable);
  else
    cudaMemcpy(&variable, host, sizeof variable, cudaMemcpyHostToDevice);  // HERE: bad_copy
}
// A view into a larger allocation: what lies beside it is no error.
template <bool Right>
void neighbour_in_the_allocation() {
  int* p = device_ints();
  cudaMemcpy(p + 100, host, 200 * sizeof(int), cudaMemcpyHostToDevice);
  cudaMemset(p + 300, 0, 4);
  store<<<1, 128>>>(p + 5, 100);
  cudaDeviceSynchronize();
  cudaFree(p);
}
template <bool Right>
void element_past_the_end() {
  int* p = device_ints();
  store<<<(kInts + 128) / 128, 128>>>(p, kInts + (Right ? 0 : 1));
  cudaDeviceSynchronize();
  if (Right) cudaFree(p);
}

// ---- what nothing has written

template <bool Right>
void unwritten_to_the_host() {
  int* p = device_ints(Right);
  cudaMemcpy(host, p, kBytes, cudaMemcpyDeviceToHost);  // HERE: uninitialised_copy
  cudaFree(p);
}
template <bool Right>
void last_element_unwritten() {
  int* p = device_ints(false);
  store<<<8, 128>>>(p, kInts - (Right ? 0 : 1));
  cudaMemcpy(host, p, kBytes, cudaMemcpyDeviceToHost);  // HERE: uninitialised_copy
  cudaFree(p);
}
template <bool Right>
void unwritten_by_way_of_a_copy() {
  int *p = device_ints(Right), *q = device_ints(false);
  cudaMemcpy(q, p, kBytes, cudaMemcpyDeviceToDevice);
  cudaMemcpy(host, q, kBytes, cudaMemcpyDeviceToHost);  // HERE: uninitialised_copy
  cudaFree(p);
  cudaFree(q);
}

// ---- launches

__global__ void dynamic(int* p) {
  extern __shared__ int all_threads[];
  all_threads[threadIdx.x] = 1;
  p[threadIdx.x] = all_threads[threadIdx.x];
}

template <bool Right>
void too_many_threads() {
  int* p = device_ints();
  store<<<1, Right ? 1024 : 2048>>>(p, kInts);  // HERE: failed_launch
  cudaDeviceSynchronize();
  cudaFree(p);
}
template <bool Right>
void too_much_shared_memory() {
  int* p = device_ints();
  dynamic<<<1, 64, Right ? 256 : 1 << 20>>>(p);  // HERE: failed_launch
  cudaDeviceSynchronize();
  cudaFree(p);
}
template <bool Right>
void no_blocks() {
  int* p = device_ints();
  const int n = Right ? kInts : 0;
  store<<<(n + 127) / 128, 128>>>(p, n);  // HERE: failed_launch
  cudaDeviceSynchronize();
  cudaFree(p);
}
// The program tries, and asks whether it worked.
template <bool Right>
void refused_and_asked() {
  int* p = device_ints();
  store<<<1, 2048>>>(p, kInts);
  if (cudaGetLastError() != cudaSuccess) store<<<8, 128>>>(p, kInts);
  cudaDeviceSynchronize();
  cudaFree(p);
}

__global__ void writes_constant(int* out, bool right) {
  int* p = right ? out : const_cast<int*>(table);
  p[threadIdx.x] = 1;  // HERE: constant_write
}
template <bool Right>
void constant_written() {
  int* p = device_ints();
  writes_constant<<<1, 16>>>(p, Right);
  cudaDeviceSynchronize();
  cudaFree(p);
}

int main(int argc, char** argv) {
  static const HostCase cases[] = {HOST_CASE(freed_twice),
                                   HOST_CASE(freed_in_a_copy_of_the_pointer),
                                   HOST_CASE(freed_never_allocated),
                                   HOST_CASE(freed_inner_pointer),
                                   HOST_CASE(pinned_freed_as_device),
                                   HOST_CASE(device_freed_as_pinned),
                                   HOST_CASE(freed_async_twice),
                                   HOST_RIGHT(null_is_freed),
                                   HOST_CASE(copy_writes_past_the_end),
                                   HOST_CASE(copy_reads_past_the_end),
                                   HOST_CASE(bytes_taken_for_elements),
                                   HOST_CASE(copy_past_pinned_memory),
                                   HOST_CASE(fill_past_the_end),
                                   HOST_CASE(fill_of_host_memory),
                                   HOST_CASE(copy_to_freed_memory),
                                   HOST_CASE(copy_from_freed_memory),
                                   HOST_CASE(fill_of_freed_memory),
                                   HOST_CASE(rows_past_the_end),
                                   HOST_CASE(rows_longer_than_their_distance),
                                   HOST_CASE(past_the_end_of_a_variable),
                                   HOST_CASE(offset_past_a_variable),
                                   HOST_CASE(variable_copied_the_other_way),
                                   HOST_CASE(sides_swapped),
                                   HOST_CASE(variable_by_its_host_address),
                                   HOST_RIGHT(neighbour_in_the_allocation),
                                   HOST_ENDS(element_past_the_end),
                                   HOST_CASE(unwritten_to_the_host),
                                   HOST_CASE(last_element_unwritten),
                                   HOST_CASE(unwritten_by_way_of_a_copy),
                                   HOST_CASE(too_many_threads),
                                   HOST_CASE(too_much_shared_memory),
                                   HOST_CASE(no_blocks),
                                   HOST_RIGHT(refused_and_asked),
                                   HOST_CASE(constant_written)};
  return run_host_cases(cases, argc, argv);
}
