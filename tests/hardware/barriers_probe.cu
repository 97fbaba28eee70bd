// Barriers that not all lanes of a warp reach, which CUDA leaves undefined and programs contain all the same: which of
// them end, and with what. By hand, on a GPU and on the machine, each case in a process of its own because it may hang:
//   nvcc -arch=native -O3 barriers_probe.cu -o barriers_probe
//   for c in 1 2 3 4 5 6 7; do for n in 1 3 10 40 64 100 127; do timeout 5 ./barriers_probe $c $n; done; done
// On an H200 (CUDA 13.0) every case ends, and the machine prints the same lines.
#include <cstdio>
#include <cstdlib>

constexpr int kThreads = 64;

// In a loop that lanes leave at different times, the kernel ends behind it.
__global__ void loop_then_end(int n, int* out) {
  __shared__ int s[kThreads];
  for (int i = threadIdx.x; i < n; i += kThreads) {
    s[threadIdx.x] = i;
    __syncthreads();
    out[i] = s[threadIdx.x] + 1;
    __syncthreads();
  }
}
// The same, with code behind the loop.
__global__ void loop_then_more(int n, int* out) {
  __shared__ int s[kThreads];
  int t = 0;
  for (int i = threadIdx.x; i < n; i += kThreads) {
    s[threadIdx.x] = i;
    __syncthreads();
    t += s[threadIdx.x];
    __syncthreads();
  }
  out[threadIdx.x] = t * 3 + 1;
}
__global__ void in_an_if(int n, int* out) {
  if (int(threadIdx.x) < n) {
    __syncthreads();
    out[threadIdx.x] = 1;
  }
  out[kThreads + threadIdx.x] = out[threadIdx.x] + 2;
}
__global__ void in_an_if_and_behind_it(int n, int* out) {
  if (int(threadIdx.x) < n) {
    __syncthreads();
    out[threadIdx.x] = 1;
  }
  __syncthreads();
  out[kThreads + threadIdx.x] = out[threadIdx.x] + 2;
}
__global__ void on_both_sides(int n, int* out) {
  if (int(threadIdx.x) < n) {
    __syncthreads();
    out[threadIdx.x] = 1;
  } else {
    __syncthreads();
    out[threadIdx.x] = 2;
  }
}
__global__ void behind_a_return(int n, int* out) {
  if (int(threadIdx.x) >= n) return;
  __syncthreads();
  out[threadIdx.x] = 1;
}
__global__ void left_by_break(int n, int* out) {
  int t = 0;
  while (true) {
    __syncthreads();
    if (++t > int(threadIdx.x) % n) break;
    __syncthreads();
  }
  out[threadIdx.x] = t;
}

int main(int count, char** arguments) {
  using Kernel = void (*)(int, int*);
  const Kernel kernels[] = {loop_then_end, loop_then_more,  in_an_if,     in_an_if_and_behind_it,
                            on_both_sides, behind_a_return, left_by_break};
  const int which = count > 2 ? std::atoi(arguments[1]) : 0, n = count > 2 ? std::atoi(arguments[2]) : 0;
  if (which < 1 || which > 7 || n < 1) return 2;
  int *device, host[2 * kThreads];
  cudaMalloc(&device, sizeof host);
  cudaMemset(device, 0, sizeof host);
  kernels[which - 1]<<<1, kThreads>>>(n, device);
  const cudaError_t error = cudaDeviceSynchronize();
  cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost);
  unsigned sum = 0;
  for (const int v : host) sum = sum * 31 + static_cast<unsigned>(v);
  std::printf("case %d n %d: %s, %08x\n", which, n, cudaGetErrorString(error), sum);
}
