// The kernels of kernels.cu in OpenCL C, statement by statement. tree_shuffle has no twin: OpenCL C 1.2 has no shuffles.

enum { kSteps = 512, kTile = 32, kRows = 8, kRounds = 16, kBanks = 32 };

kernel void arithmetic(global const uint* a, global const uint* b, global uint* out, uint n) {
  const uint i = get_global_id(0);
  const float p = as_float(b[0]), q = as_float(b[1]);
  const uint m = b[2], c = b[3];
  uint k = a[i], j = 0;
  float x = (float)k, y = x;
#pragma unroll 8
  for (int step = 0; step < kSteps; ++step) {
    x = fma(x, p, q);
    k = k * m + c;
    y = y + x;
    j += k;
  }
  out[i] = as_uint(x) ^ as_uint(y) ^ k ^ j;
}

kernel void tree_neighbours(global const int* a, global const int* b, global int* out, uint n) {
  local int sums[512];
  const int tid = get_local_id(0);
  const uint i = get_global_id(0);
  sums[tid] = i < n ? a[i] : 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int stride = 1; stride < 512; stride *= 2) {  // with get_local_size(0) here, POCL 3.1 computes wrong sums
    if (tid % (2 * stride) == 0) sums[tid] += sums[tid + stride];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (tid == 0) out[get_group_id(0)] = sums[0];
}

kernel void tree_halving(global const int* a, global const int* b, global int* out, uint n) {
  local int sums[512];
  const int tid = get_local_id(0);
  const uint i = get_global_id(0);
  sums[tid] = i < n ? a[i] : 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int stride = (int)get_local_size(0) / 2; stride > 0; stride /= 2) {
    if (tid < stride) sums[tid] += sums[tid + stride];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (tid == 0) out[get_group_id(0)] = sums[0];
}

kernel void tree_strided(global const int* a, global const int* b, global int* out, uint n) {
  local int sums[256];
  const uint tid = get_local_id(0);
  sums[tid] = a[get_global_id(0)];
  for (uint stride = 1; stride < 256; stride *= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint index = 2 * stride * tid;
    if (index < 256) sums[index] += sums[index + stride];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (tid == 0) out[get_group_id(0)] = sums[0];
}

kernel void matmul(global const float* a, global const float* b, global float* out, uint n) {
  local float left[kTile][kTile], right[kTile][kTile];
  const uint x = get_local_id(0), y = get_local_id(1);
  const uint row = get_group_id(1) * kTile + y, column = get_group_id(0) * kTile + x;
  float sum = 0;
  for (uint first = 0; first < n; first += kTile) {
    left[y][x] = a[row * n + first + x];
    right[y][x] = b[(first + y) * n + column];
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
    for (int k = 0; k < kTile; ++k) sum += left[y][k] * right[k][x];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  out[row * n + column] = sum;
}

kernel void vector_add(global const float* a, global const float* b, global float* out, uint n) {
  const uint i = get_global_id(0);
  if (i < n) out[i] = a[i] + b[i];
}

kernel void strided(global const int* a, global const int* b, global int* out, uint n) {
  local int words[256 * kBanks];
  const uint tid = get_local_id(0), i = get_global_id(0), next = (tid + 1) % 256;
  int word = a[i];
#pragma unroll 4
  for (int round = 0; round < kRounds; ++round) {
    words[tid * kBanks] = word;
    barrier(CLK_LOCAL_MEM_FENCE);
    word = words[next * kBanks] + 1;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  out[i] = word;
}

kernel void transpose(global const float* a, global const float* b, global float* out, uint n) {
  local float tile[kTile][kTile + 1];
  const uint x = get_local_id(0), y = get_local_id(1);
  const uint column = get_group_id(0) * kTile, row = get_group_id(1) * kTile;
#pragma unroll
  for (int k = 0; k < kTile; k += kRows) tile[y + k][x] = a[(row + y + k) * n + column + x];
  barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
  for (int k = 0; k < kTile; k += kRows) out[(column + y + k) * n + row + x] = tile[x][y + k];
}

kernel void histogram(global const uint* a, global const uint* b, global uint* out, uint n) {
  local uint counts[256];
  const uint tid = get_local_id(0), first = get_group_id(0) * kRounds * 256 + tid;
  counts[tid] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll 4
  for (int round = 0; round < kRounds; ++round) atomic_inc(&counts[a[first + round * 256] % 256]);
  barrier(CLK_LOCAL_MEM_FENCE);
  out[get_group_id(0) * 256 + tid] = counts[tid];
}

kernel void add_64bit(global const uint2* a, global const uint2* b, global uint2* out, uint n) {
  const uint i = get_global_id(0);
  out[i] = a[i] + b[i];
}

kernel void add_128bit(global const uint4* a, global const uint4* b, global uint4* out, uint n) {
  const uint i = get_global_id(0);
  out[i] = a[i] + b[i];
}
