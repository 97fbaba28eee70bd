// cudaMallocPitch, two-dimensional copies and sets; copies between devices' arrays; odd widths.
#include "check.h"

__global__ void scale_rows(float* data, size_t pitch, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x < width && y < height) {
    float* row = reinterpret_cast<float*>(reinterpret_cast<char*>(data) + y * pitch);
    row[x] *= y + 1;
  }
}

int main() {
  const int width = 37, height = 9;
  std::vector<float> in(width * height), out(width * height);
  for (size_t i = 0; i < in.size(); ++i) in[i] = float(i);
  float *d = nullptr, *e = nullptr;
  size_t pitch = 0, pitch2 = 0;
  CHECK(cudaMallocPitch(&d, &pitch, width * sizeof(float), height));
  CHECK(cudaMallocPitch(&e, &pitch2, width * sizeof(float), height));
  EXPECT(pitch >= width * sizeof(float) && pitch % 32 == 0);
  CHECK(
      cudaMemcpy2D(d, pitch, in.data(), width * sizeof(float), width * sizeof(float), height, cudaMemcpyHostToDevice));
  scale_rows<<<dim3(2, height), 32>>>(d, pitch, width, height);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy2D(e, pitch2, d, pitch, width * sizeof(float), height, cudaMemcpyDeviceToDevice));
  CHECK(cudaMemset2D(e, pitch2, 0, 5 * sizeof(float), 2));
  CHECK(cudaMemcpy2D(out.data(), width * sizeof(float), e, pitch2, width * sizeof(float), height,
                     cudaMemcpyDeviceToHost));
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) EXPECT(out[y * width + x] == (y < 2 && x < 5 ? 0 : in[y * width + x] * (y + 1)));
  CHECK(cudaFree(d));
  CHECK(cudaFree(e));
}
