// The kernels that bench_machine times; twins.cl has the same ones in OpenCL. All take the same parameters: two arrays
// of 32-bit words to read, one to write, and a size, which divides by the block (cases.cpp says what each array holds).
// What is timed is kernels.ptx, made from this file so that figures do not move with the compiler that is installed:
//
//   nvcc -ptx -arch=compute_90 -o bench/kernels.ptx bench/kernels.cu      (CUDA 13.0)

constexpr int kSteps = 512, kTile = 32, kRows = 8, kRounds = 16, kBanks = 32;

// Nothing but arithmetic: two chains of floats and two of integers, which no compiler may shorten.
extern "C" __global__ void arithmetic(const unsigned* a, const unsigned* b, unsigned* out, unsigned) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  const float p = __uint_as_float(b[0]), q = __uint_as_float(b[1]);
  const unsigned m = b[2], c = b[3];
  unsigned k = a[i], j = 0;
  float x = static_cast<float>(k), y = x;
#pragma unroll 8
  for (int step = 0; step < kSteps; ++step) {
    x = __fmaf_rn(x, p, q);
    k = k * m + c;
    y = __fadd_rn(y, x);
    j += k;
  }
  out[i] = __float_as_uint(x) ^ __float_as_uint(y) ^ k ^ j;
}

// Sums of blocks: each element adds its neighbour 1, 2, 4 ... to its right. Every warp stays in nearly every step.
extern "C" __global__ void tree_neighbours(const int* a, const int*, int* out, unsigned n) {
  __shared__ int sums[512];
  const int tid = threadIdx.x;
  const unsigned i = blockIdx.x * blockDim.x + tid;
  sums[tid] = i < n ? a[i] : 0;
  __syncthreads();
  for (int stride = 1; stride < static_cast<int>(blockDim.x); stride *= 2) {
    if (tid % (2 * stride) == 0) sums[tid] += sums[tid + stride];
    __syncthreads();
  }
  if (tid == 0) out[blockIdx.x] = sums[0];
}

// The same sums: the first half adds the second half.
extern "C" __global__ void tree_halving(const int* a, const int*, int* out, unsigned n) {
  __shared__ int sums[512];
  const int tid = threadIdx.x;
  const unsigned i = blockIdx.x * blockDim.x + tid;
  sums[tid] = i < n ? a[i] : 0;
  __syncthreads();
  for (int stride = blockDim.x / 2; stride > 0; stride /= 2) {
    if (tid < stride) sums[tid] += sums[tid + stride];
    __syncthreads();
  }
  if (tid == 0) out[blockIdx.x] = sums[0];
}

// The same sums: each step's threads are neighbours, their words 2, 4, 8 ... apart, on ever fewer banks.
extern "C" __global__ void tree_strided(const int* a, const int*, int* out, unsigned) {
  __shared__ int sums[256];
  const unsigned tid = threadIdx.x;
  sums[tid] = a[blockIdx.x * blockDim.x + tid];
  for (unsigned stride = 1; stride < blockDim.x; stride *= 2) {
    __syncthreads();
    const unsigned index = 2 * stride * tid;
    if (index < blockDim.x) sums[index] += sums[index + stride];
  }
  if (tid == 0) out[blockIdx.x] = sums[0];
}

// The same sums: within warps by shuffles, then the warps' sums by the first warp.
extern "C" __global__ void tree_shuffle(const int* a, const int*, int* out, unsigned n) {
  __shared__ int sums[16];
  const int tid = threadIdx.x;
  const unsigned i = blockIdx.x * blockDim.x + tid;
  int sum = i < n ? a[i] : 0;
  for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_down_sync(~0u, sum, distance);
  if (tid % 32 == 0) sums[tid / 32] = sum;
  __syncthreads();
  if (tid >= 32) return;
  sum = tid < 16 ? sums[tid] : 0;
  for (int distance = 8; distance > 0; distance /= 2) sum += __shfl_down_sync(~0u, sum, distance);
  if (tid == 0) out[blockIdx.x] = sum;
}

// out = a * b, n x n, tiles of 32 x 32 in shared memory.
extern "C" __global__ void matmul(const float* a, const float* b, float* out, unsigned n) {
  __shared__ float left[kTile][kTile], right[kTile][kTile];
  const unsigned x = threadIdx.x, y = threadIdx.y;
  const unsigned row = blockIdx.y * kTile + y, column = blockIdx.x * kTile + x;
  float sum = 0;
  for (unsigned first = 0; first < n; first += kTile) {
    left[y][x] = a[row * n + first + x];
    right[y][x] = b[(first + y) * n + column];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < kTile; ++k) sum += left[y][k] * right[k][x];
    __syncthreads();
  }
  out[row * n + column] = sum;
}

extern "C" __global__ void vector_add(const float* a, const float* b, float* out, unsigned n) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = a[i] + b[i];
}

// Words go round the block; all lanes of a warp meet in one bank: 32 wavefronts a request.
extern "C" __global__ void strided(const int* a, const int*, int* out, unsigned) {
  __shared__ int words[256 * kBanks];
  const unsigned tid = threadIdx.x, i = blockIdx.x * blockDim.x + tid, next = (tid + 1) % 256;
  int word = a[i];
#pragma unroll 4
  for (int round = 0; round < kRounds; ++round) {
    words[tid * kBanks] = word;
    __syncthreads();
    word = words[next * kBanks] + 1;
    __syncthreads();
  }
  out[i] = word;
}

// n x n, tiles of 32 x 33 in shared memory, four elements a thread.
extern "C" __global__ void transpose(const float* a, const float*, float* out, unsigned n) {
  __shared__ float tile[kTile][kTile + 1];
  const unsigned x = threadIdx.x, y = threadIdx.y;
  const unsigned column = blockIdx.x * kTile, row = blockIdx.y * kTile;
#pragma unroll
  for (int k = 0; k < kTile; k += kRows) tile[y + k][x] = a[(row + y + k) * n + column + x];
  __syncthreads();
#pragma unroll
  for (int k = 0; k < kTile; k += kRows) out[(column + y + k) * n + row + x] = tile[x][y + k];
}

// Counts of bytes: 16 words a thread, 256 counters of the block in shared memory. Lanes meet on counters and on banks.
extern "C" __global__ void histogram(const unsigned* a, const unsigned*, unsigned* out, unsigned) {
  __shared__ unsigned counts[256];
  const unsigned tid = threadIdx.x, first = blockIdx.x * kRounds * 256 + tid;
  counts[tid] = 0;
  __syncthreads();
#pragma unroll 4
  for (int round = 0; round < kRounds; ++round) atomicAdd(&counts[a[first + round * 256] % 256], 1u);
  __syncthreads();
  out[blockIdx.x * 256 + tid] = counts[tid];
}

// Sums of two and of four words a thread, loaded and stored as one.
extern "C" __global__ void add_64bit(const uint2* a, const uint2* b, uint2* out, unsigned) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  const uint2 x = a[i], y = b[i];
  out[i] = make_uint2(x.x + y.x, x.y + y.y);
}

extern "C" __global__ void add_128bit(const uint4* a, const uint4* b, uint4* out, unsigned) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  const uint4 x = a[i], y = b[i];
  out[i] = make_uint4(x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w);
}
