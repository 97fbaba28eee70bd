// The kernels of tests/truth/kernels.json, one launch each in the order of that file. Prints `kernel<TAB>what` for
// every launch, where `what` is the entry's text there, so that a test can lay counters and truth side by side; exits 1
// when a result is wrong. Shapes are exact (no bounds tests), as they were when the hardware counted.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                                         \
  do {                                                                                                      \
    const cudaError_t error = (call);                                                                       \
    if (error != cudaSuccess) {                                                                             \
      std::fprintf(stderr, "%s:%d: error: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(error)); \
      std::exit(1);                                                                                         \
    }                                                                                                       \
  } while (0)

__global__ void neighbored_global(int* in, int* out) {
  const unsigned tid = threadIdx.x;
  int* block = in + blockIdx.x * blockDim.x;
  for (unsigned stride = 1; stride < blockDim.x; stride *= 2) {
    if (tid % (2 * stride) == 0) block[tid] += block[tid + stride];
    __syncthreads();
  }
  if (tid == 0) out[blockIdx.x] = block[0];
}

__global__ void neighbored_shared(const int* in, int* out) {
  __shared__ int s[512];
  const unsigned tid = threadIdx.x;
  s[tid] = in[blockIdx.x * blockDim.x + tid];
  __syncthreads();
  for (unsigned stride = 1; stride < blockDim.x; stride *= 2) {
    if (tid % (2 * stride) == 0) s[tid] += s[tid + stride];
    __syncthreads();
  }
  if (tid == 0) out[blockIdx.x] = s[0];
}

// The last warp: every step reads, meets, writes, meets. volatile keeps each step one request.
__device__ inline void last_warp(volatile int* v, unsigned lane) {
#pragma unroll
  for (unsigned stride = 32; stride > 0; stride /= 2) {
    const int sum = v[lane] + v[lane + stride];
    __syncwarp();
    v[lane] = sum;
    __syncwarp();
  }
}

__global__ void halving_global(int* in, int* out) {
  const unsigned tid = threadIdx.x;
  int* block = in + blockIdx.x * blockDim.x;
  for (unsigned stride = blockDim.x / 2; stride > 32; stride /= 2) {
    if (tid < stride) block[tid] += block[tid + stride];
    __syncthreads();
  }
  if (tid < 32) last_warp(block, tid);
  if (tid == 0) out[blockIdx.x] = block[0];
}

__global__ void halving_shared(const int* in, int* out) {
  __shared__ int s[512];
  const unsigned tid = threadIdx.x;
  s[tid] = in[blockIdx.x * blockDim.x + tid];
  __syncthreads();
  for (unsigned stride = blockDim.x / 2; stride > 32; stride /= 2) {
    if (tid < stride) s[tid] += s[tid + stride];
    __syncthreads();
  }
  if (tid < 32) last_warp(s, tid);
  if (tid == 0) out[blockIdx.x] = s[0];
}

__global__ void unroll4_shared(const int* in, int* out) {
  __shared__ int s[512];
  const unsigned tid = threadIdx.x;
  const int* mine = in + blockIdx.x * blockDim.x * 4 + tid;
  s[tid] = mine[0] + mine[blockDim.x] + mine[2 * blockDim.x] + mine[3 * blockDim.x];
  __syncthreads();
  for (unsigned stride = blockDim.x / 2; stride > 32; stride /= 2) {
    if (tid < stride) s[tid] += s[tid + stride];
    __syncthreads();
  }
  if (tid < 32) last_warp(s, tid);
  if (tid == 0) out[blockIdx.x] = s[0];
}

__global__ void doubling_float(const float* in, float* out) {
  extern __shared__ float dynamic_floats[];
  const unsigned tid = threadIdx.x;
  dynamic_floats[tid] = in[blockIdx.x * blockDim.x + tid];
  __syncthreads();
  for (unsigned stride = 1; stride < blockDim.x; stride *= 2) {
    if (tid % (2 * stride) == 0) dynamic_floats[tid] += dynamic_floats[tid + stride];
    __syncthreads();
  }
  if (tid == 0) out[blockIdx.x] = dynamic_floats[0];
}

__global__ void halving_float(const float* in, float* out) {
  __shared__ float s[256];
  const unsigned tid = threadIdx.x;
  s[tid] = in[blockIdx.x * blockDim.x + tid];
  __syncthreads();
  for (unsigned stride = blockDim.x / 2; stride > 0; stride /= 2) {
    if (tid < stride) s[tid] += s[tid + stride];
    __syncthreads();
  }
  if (tid == 0) out[blockIdx.x] = s[0];
}

__global__ void reverse_shared(const int* in, int* out) {
  extern __shared__ int dynamic_ints[];
  const unsigned tid = threadIdx.x;
  dynamic_ints[blockDim.x - 1 - tid] = in[blockIdx.x * blockDim.x + tid];
  __syncthreads();
  out[(gridDim.x - 1 - blockIdx.x) * blockDim.x + tid] = dynamic_ints[tid];
}

__global__ void transpose_padded(const float* in, float* out, int width) {
  __shared__ float tile[32][33];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * width + x];
  __syncthreads();
  x = blockIdx.y * 32 + threadIdx.x, y = blockIdx.x * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8) out[(y + j) * width + x] = tile[threadIdx.x][threadIdx.y + j];
}

__global__ void vector_reverse(const float4* in, float* out) {
  __shared__ float4 s[256];
  const unsigned tid = threadIdx.x, i = blockIdx.x * blockDim.x + tid;
  s[tid] = in[i];
  __syncthreads();
  const float4 v = s[255 - tid];
  out[i] = v.x + v.y + v.z + v.w;
}

__global__ void shuffle_atomic(const int* in, int* total) {
  int v = in[blockIdx.x * blockDim.x + threadIdx.x];
  for (int step = 16; step > 0; step /= 2) v += __shfl_down_sync(0xffffffffu, v, step);
  if (threadIdx.x % 32 == 0) atomicAdd(total, v);
}

constexpr unsigned n = 1u << 24;
bool wrong = false;

template <class T>
T* upload(const std::vector<T>& values) {
  T* p = nullptr;
  CHECK(cudaMalloc(&p, values.size() * sizeof(T)));
  CHECK(cudaMemcpy(p, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
  return p;
}

template <class T>
std::vector<T> download(const T* p, size_t count) {
  std::vector<T> values(count);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(values.data(), p, count * sizeof(T), cudaMemcpyDeviceToHost));
  return values;
}

void report(const char* kernel, const char* what, bool right) {
  std::printf("%s\t%s\n", kernel, what);
  if (!right) std::fprintf(stderr, "wrong result: %s\n", kernel), wrong = true;
}

template <class T>
bool adds_up(const T* sums, size_t count, long long expected) {
  long long total = 0;
  for (T s : download(sums, count)) total += static_cast<long long>(s);
  return total == expected;
}

int main() {
  std::vector<int> ints(n);
  std::vector<float> floats(n);
  long long sum = 0;
  for (unsigned i = 0; i < n; ++i) {
    ints[i] = static_cast<int>(i * 7919u % 101u) - 50;
    floats[i] = static_cast<float>(ints[i]);  // small integers: sums of them are exact in any order
    sum += ints[i];
  }
  int *in = upload(ints), *work = upload(ints), *out = upload(ints);
  float *fin = upload(floats), *fout = upload(floats);
  const auto restore = [&] { CHECK(cudaMemcpy(work, in, n * sizeof(int), cudaMemcpyDeviceToDevice)); };

  neighbored_global<<<n / 512, 512>>>(work, out);
  report("neighbored_global", "neighboured pairs in global memory, int, n=2^24, 512 threads",
         adds_up(out, n / 512, sum));
  neighbored_shared<<<n / 512, 512>>>(in, out);
  report("neighbored_shared", "neighboured pairs in shared memory, int, n=2^24, 512 threads",
         adds_up(out, n / 512, sum));
  restore();
  halving_global<<<n / 512, 512>>>(work, out);
  report("halving_global", "halving in global memory, last warp unrolled with volatile, int, n=2^24, 512 threads",
         adds_up(out, n / 512, sum));
  halving_shared<<<n / 512, 512>>>(in, out);
  report("halving_shared", "halving in shared memory, last warp unrolled with volatile, int, n=2^24, 512 threads",
         adds_up(out, n / 512, sum));
  unroll4_shared<<<n / 2048, 512>>>(in, out);
  report("unroll4_shared", "four loads a thread, then halving in shared memory, int, n=2^24, 512 threads",
         adds_up(out, n / 2048, sum));
  doubling_float<<<n / 256, 256, 256 * sizeof(float)>>>(fin, fout);
  report("doubling_float", "stride doubling with tid % (2*stride), float, n=2^24, 256 threads, dynamic shared memory",
         adds_up(fout, n / 256, sum));
  halving_float<<<n / 256, 256>>>(fin, fout);
  report("halving_float", "stride halving, float, n=2^24, 256 threads, static shared memory",
         adds_up(fout, n / 256, sum));

  reverse_shared<<<n / 256, 256, 256 * sizeof(int)>>>(in, out);
  bool right = true;
  const std::vector<int> reversed = download(out, n);
  for (unsigned i = 0; i < n; ++i) right &= reversed[i] == ints[n - 1 - i];
  report("reverse_shared", "reverse through dynamic shared memory, int, n=2^24, 256 threads", right);

  transpose_padded<<<dim3(128, 128), dim3(32, 8)>>>(fin, fout, 4096);
  right = true;
  const std::vector<float> transposed = download(fout, n);
  for (unsigned y = 0; y < 4096; ++y)
    for (unsigned x = 0; x < 4096; ++x) right &= transposed[y * 4096 + x] == floats[x * 4096 + y];
  report("transpose_padded", "transpose 4096x4096 float, 32x33 tile, 32x8 threads", right);

  vector_reverse<<<4096, 256>>>(reinterpret_cast<const float4*>(fin), fout);
  report("vector_reverse",
         "float4 load, float4 to shared, reversed float4 from shared, one float stored; 4096 blocks of 256", [&] {
           const std::vector<float> got = download(fout, 4096 * 256);
           for (unsigned i = 0; i < got.size(); ++i) {
             const float* v = &floats[4 * (i / 256 * 256 + 255 - i % 256)];
             if (got[i] != v[0] + v[1] + v[2] + v[3]) return false;
           }
           return true;
         }());

  CHECK(cudaMemset(out, 0, sizeof(int)));
  shuffle_atomic<<<n / 256, 256>>>(in, out);
  report("shuffle_atomic", "shuffle-down tree, one atomicAdd(int) by lane 0 of each warp, n=2^24, 256 threads",
         adds_up(out, 1, sum));
  return wrong ? 1 : 0;
}
