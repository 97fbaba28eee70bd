// Structures by value, read at an index that each thread computes: members of every width, nested ones, const memory,
// parameters whose address is taken, and those of functions that are not inlined.
#include "check.h"

struct Point {
  short x;
  signed char tag[2];
  float weight;
};
struct Table {
  unsigned off[33];
  unsigned char bytes[40];
  short halves[36];
  double wide[34];
  float4 quads[32];
  Point points[32];
};

__device__ __forceinline__ long long digest(const Table& t, int i) {
  const float4 q = t.quads[i];
  return t.off[i] + 3ll * t.bytes[i] + 5ll * t.halves[i] + 7 * (long long)t.wide[i] + (long long)(q.x + 2 * q.y) +
         (long long)(3 * q.z + 4 * q.w) + t.points[i].x + t.points[i].tag[i & 1] + (long long)t.points[i].weight;
}
static long long expected(const Table& t, int i) {
  const float4 q = t.quads[i];
  long long sum = t.off[i];
  sum += 3ll * t.bytes[i];
  sum += 5ll * t.halves[i];
  sum += 7 * (long long)t.wide[i];
  sum += (long long)(q.x + 2 * q.y);
  sum += (long long)(3 * q.z + 4 * q.w);
  sum += t.points[i].x + t.points[i].tag[i & 1];
  return sum + (long long)t.points[i].weight;
}

__constant__ Table in_constant;

__global__ void offsets(Table t, unsigned* out) { out[threadIdx.x] = t.off[threadIdx.x]; }
__global__ void upwards(Table t, long long* out) { out[threadIdx.x] = digest(t, threadIdx.x); }
__global__ void downwards(Table t, long long* out) { out[threadIdx.x] = digest(t, 31 - threadIdx.x); }
__global__ void anywhere(Table t, const int* index, long long* out) {
  if (threadIdx.x % 3 != 1) out[threadIdx.x] = digest(t, index[threadIdx.x]);
}
__global__ void one_for_all(Table t, int index, long long* out) { out[threadIdx.x] = digest(t, index); }
__global__ void from_constant(long long* out) { out[threadIdx.x] = digest(in_constant, threadIdx.x); }

__device__ __noinline__ long long by_reference(const Table& t, int i) { return digest(t, i); }
#ifdef __NVCC__  // clang has the attribute from version 20 on
__global__ void by_address(const __grid_constant__ Table t, long long* out) {
  out[threadIdx.x] = by_reference(t, threadIdx.x);
}
#else
__global__ void by_address(Table t, long long* out) { out[threadIdx.x] = by_reference(t, threadIdx.x); }
#endif

struct Weights {
  int w[8];
};
__device__ __noinline__ int picked(Weights t, int i) { return t.w[i & 7]; }
__global__ void by_value(Weights t, int* out) {
  t.w[threadIdx.x & 7] += 1000;
  out[threadIdx.x] = picked(t, threadIdx.x) + picked(t, threadIdx.x + 1);
}

int main() {
  Table t;
  for (int i = 0; i < 33; ++i) t.off[i] = 1000u * i + 7;
  for (int i = 0; i < 40; ++i) t.bytes[i] = (unsigned char)(i * 91 + 3);
  for (int i = 0; i < 36; ++i) t.halves[i] = (short)(i * -1777);
  for (int i = 0; i < 34; ++i) t.wide[i] = 1e6 * i + 1;
  for (int i = 0; i < 32; ++i) {
    t.quads[i] = make_float4(i, i + 100, 200 - i, 3 * i);
    t.points[i] = {short(i * 11), {(signed char)-i, (signed char)(i + 64)}, 50.f * i};
  }
  unsigned* words = upload(std::vector<unsigned>(32));
  long long* out = upload(std::vector<long long>(32, -1));
  std::vector<long long> up(32), down(32), some(32, -1), same(32, expected(t, 9));
  std::vector<int> index(32);
  for (int i = 0; i < 32; ++i) {
    up[i] = expected(t, i);
    down[i] = expected(t, 31 - i);
    index[i] = i * i * 5 % 32;
    if (i % 3 != 1) some[i] = expected(t, index[i]);
  }
  offsets<<<1, 32>>>(t, words);
  EXPECT((download(words, 32) == std::vector<unsigned>(t.off, t.off + 32)));
  anywhere<<<1, 32>>>(t, upload(index), out);
  EXPECT(download(out, 32) == some);
  upwards<<<1, 32>>>(t, out);
  EXPECT(download(out, 32) == up);
  downwards<<<1, 32>>>(t, out);
  EXPECT(download(out, 32) == down);
  one_for_all<<<1, 32>>>(t, 9, out);
  EXPECT(download(out, 32) == same);
  by_address<<<1, 32>>>(t, out);
  EXPECT(download(out, 32) == up);
  CHECK(cudaMemcpyToSymbol(in_constant, &t, sizeof t));
  upwards<<<1, 20>>>(t, out);
  from_constant<<<1, 32>>>(out);
  EXPECT(download(out, 32) == up);

  const Weights w = {{5, 50, 500, 3, 30, 300, 7, 70}};
  int* sums = upload(std::vector<int>(40));
  by_value<<<1, 40>>>(w, sums);
  std::vector<int> expected_sums(40);
  for (int i = 0; i < 40; ++i) expected_sums[i] = 1000 + w.w[i & 7] + w.w[(i + 1) & 7];
  EXPECT(download(sums, 40) == expected_sums);
}
