// Three-dimensional grid and block: every thread knows where it is, and all are there once.
#include "check.h"

__global__ void where(int* cells, int* sizes) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y,
            z = blockIdx.z * blockDim.z + threadIdx.z;
  const int width = gridDim.x * blockDim.x, height = gridDim.y * blockDim.y;
  atomicAdd(&cells[(z * height + y) * width + x], x + 100 * y + 10000 * z);
  if (x == 0 && y == 0 && z == 0)
    sizes[0] = gridDim.x * 100 + gridDim.y * 10 + gridDim.z, sizes[1] = blockDim.x * 100 + blockDim.y * 10 + blockDim.z;
}

int main() {
  const dim3 grid(3, 2, 4), block(5, 7, 3);
  const int w = 15, h = 14, d = 12;
  int *cells = upload(std::vector<int>(w * h * d, 0)), *sizes = upload(std::vector<int>(2, 0));
  where<<<grid, block>>>(cells, sizes);
  const std::vector<int> got = download(cells, w * h * d);
  for (int z = 0; z < d; ++z)
    for (int y = 0; y < h; ++y)
      for (int x = 0; x < w; ++x) EXPECT(got[(z * h + y) * w + x] == x + 100 * y + 10000 * z);
  EXPECT((download(sizes, 2) == std::vector<int>{324, 573}));
}
