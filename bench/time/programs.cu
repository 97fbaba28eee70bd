// Programs of which `coalesce run --time` is measured beside `coalesce run` (cost.py), as learners write them.
// usage: programs NAME SIZE
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

void check(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::puts(cudaGetErrorString(error));
  std::exit(1);
}
template <class T>
T* device(const std::vector<T>& v) {
  T* p;
  check(cudaMalloc(&p, v.size() * sizeof(T)));
  check(cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice));
  return p;
}
template <class T>
T* device(std::size_t n) {
  return device(std::vector<T>(n));
}
unsigned next() {
  static unsigned state = 1;
  state = state * 1664525u + 1013904223u;
  return state >> 8;
}

__global__ void by_rows(const float* a, const float* x, float* y, int n) {
  const int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= n) return;
  float s = 0;
  for (int k = 0; k < n; ++k) s += a[r * n + k] * x[k];
  y[r] = s;
}
__global__ void by_columns(const float* a, const float* x, float* y, int n) {
  const int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c >= n) return;
  float s = 0;
  for (int k = 0; k < n; ++k) s += a[k * n + c] * x[k];
  y[c] = s;
}
void matvec(int n) {
  const float *a = device(std::vector<float>(n * n, 1.5f)), *x = device(std::vector<float>(n, 2.f));
  float* y = device<float>(n);
  by_rows<<<(n + 255) / 256, 256>>>(a, x, y, n);
  by_columns<<<(n + 255) / 256, 256>>>(a, x, y, n);
}

constexpr int kMeans = 16, kFeatures = 16;
__global__ void assign(const float* points, const float* means, int* label, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float best = 1e30f;
  for (int m = 0; m < kMeans; ++m) {
    float s = 0;
    for (int f = 0; f < kFeatures; ++f) {
      const float t = points[i * kFeatures + f] - means[m * kFeatures + f];
      s += t * t;
    }
    if (s < best) {
      best = s;
      label[i] = m;
    }
  }
}
__global__ void accumulate(const float* points, const int* label, float* sum, int* count, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  for (int f = 0; f < kFeatures; ++f) atomicAdd(&sum[label[i] * kFeatures + f], points[i * kFeatures + f]);
  atomicAdd(&count[label[i]], 1);
}
void kmeans(int n) {
  std::vector<float> points(n * kFeatures);
  for (float& v : points) v = static_cast<float>(next() & 1023) / 1024;
  const float *p = device(points), *means = p;
  float* sum = device<float>(kMeans * kFeatures);
  int *label = device<int>(n), *count = device<int>(kMeans);
  for (int turn = 0; turn < 10; ++turn) {
    assign<<<(n + 255) / 256, 256>>>(p, means, label, n);
    accumulate<<<(n + 255) / 256, 256>>>(p, label, sum, count, n);
  }
}

__global__ void forces(const float4* p, float3* f, int n) {
  __shared__ float4 tile[256];
  const int i = blockIdx.x * 256 + threadIdx.x;
  const float4 me = p[i];
  float3 a = {0, 0, 0};
  for (int b = 0; b < n; b += 256) {
    tile[threadIdx.x] = p[b + threadIdx.x];
    __syncthreads();
    for (int k = 0; k < 256; ++k) {
      const float4 o = tile[k];
      const float dx = o.x - me.x, dy = o.y - me.y, dz = o.z - me.z;
      const float r = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f), w = o.w * r * r * r;
      a.x += dx * w;
      a.y += dy * w;
      a.z += dz * w;
    }
    __syncthreads();
  }
  f[i] = a;
}
void nbody(int n) {
  std::vector<float4> bodies(n);
  for (float4& b : bodies)
    b = {static_cast<float>(next() & 255), static_cast<float>(next() & 255), static_cast<float>(next() & 255), 1};
  const float4* p = device(bodies);
  float3* f = device<float3>(n);
  forces<<<n / 256, 256>>>(p, f, n);
  forces<<<n / 256, 256>>>(p, f, n);
}

__global__ void compare(int* x, int j, int k) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x, p = i ^ j;
  if (p <= i) return;
  const int a = x[i], b = x[p];
  if ((a > b) != ((i & k) == 0)) return;
  x[i] = b;
  x[p] = a;
}
void sort(int n) {
  std::vector<int> numbers(n);
  for (int& v : numbers) v = static_cast<int>(next());
  int* x = device(numbers);
  for (int k = 2; k <= n; k *= 2)
    for (int j = k / 2; j; j /= 2) compare<<<n / 256, 256>>>(x, j, k);
}

__global__ void increment(int* x) { x[threadIdx.x + blockIdx.x * blockDim.x] += 1; }
void launches(int n) {
  int* x = device<int>(1024);
  for (int i = 0; i < n; ++i) increment<<<4, 256>>>(x);
}

struct Program {
  const char* name;
  void (*run)(int);
};
constexpr Program kPrograms[] = {
    {"matvec", matvec}, {"kmeans", kmeans}, {"nbody", nbody}, {"sort", sort}, {"launches", launches}};

}  // namespace

int main(int argc, char** argv) {
  for (const Program& p : kPrograms) {
    if (argc != 3 || std::strcmp(p.name, argv[1]) != 0) continue;
    p.run(std::atoi(argv[2]));
    check(cudaDeviceSynchronize());
    return 0;
  }
  std::puts("usage: programs NAME SIZE");
  return 2;
}
