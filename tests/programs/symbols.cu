// Constant memory and device globals, written and read by the host through their names.
#include "check.h"

__constant__ float coefficients[8];
__constant__ int offset = 3;
__device__ int counter = 40;
__device__ double table[4] = {1.5, 2.5, 3.5, 4.5};
struct Config {
  int width;
  float scale;
};
__constant__ Config config;

__global__ void polynomial(const float* x, float* y, int n) {
  const int i = threadIdx.x;
  if (i < n) {
    float sum = 0;
    for (int k = 7; k >= 0; --k) sum = sum * x[i] + coefficients[k];
    y[i] = sum * config.scale + config.width + offset;
  }
  if (i == 0) counter += 2, table[1] *= 2;
}

int main() {
  const float c[8] = {1, -2, 0, 1, 0, 0, 0, 2};
  CHECK(cudaMemcpyToSymbol(coefficients, c, sizeof c));
  const Config host = {10, 0.5f};
  CHECK(cudaMemcpyToSymbol(config, &host, sizeof host));
  const int one = 7;
  CHECK(cudaMemcpyToSymbol(offset, &one, sizeof one));
  std::vector<float> x = {0, 1, -1, 2};
  float *dx = upload(x), *dy = upload(x);
  polynomial<<<1, 32>>>(dx, dy, 4);
  EXPECT((download(dy, 4) == std::vector<float>{17.5f, 18, 17, 147.5f}));  // 1 - 2x + x^3 + 2x^7 is 1, 2, 0 and 261
  int value = 0;
  CHECK(cudaMemcpyFromSymbol(&value, counter, sizeof value));
  EXPECT(value == 42);
  double entry = 0;
  CHECK(cudaMemcpyFromSymbol(&entry, table, sizeof entry, sizeof entry));
  EXPECT(entry == 5.0);
  void* address = nullptr;
  size_t bytes = 0;
  CHECK(cudaGetSymbolAddress(&address, table));
  CHECK(cudaGetSymbolSize(&bytes, table));
  EXPECT(address && bytes == sizeof(double) * 4);
}
