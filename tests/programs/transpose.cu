// Transpose of a matrix whose sides no tile divides, through a padded shared tile.
#include "check.h"

__global__ void transpose(const double* in, double* out, int rows, int columns) {
  __shared__ double tile[16][17];
  int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  if (x < columns && y < rows) tile[threadIdx.y][threadIdx.x] = in[y * columns + x];
  __syncthreads();
  x = blockIdx.y * 16 + threadIdx.x, y = blockIdx.x * 16 + threadIdx.y;
  if (x < rows && y < columns) out[y * rows + x] = tile[threadIdx.x][threadIdx.y];
}

int main() {
  const int rows = 67, columns = 131;
  std::vector<double> in(rows * columns);
  for (size_t i = 0; i < in.size(); ++i) in[i] = i * 0.25;
  double *din = upload(in), *dout = upload(in);
  transpose<<<dim3((columns + 15) / 16, (rows + 15) / 16), dim3(16, 16)>>>(din, dout, rows, columns);
  const std::vector<double> out = download(dout, in.size());
  for (int y = 0; y < rows; ++y)
    for (int x = 0; x < columns; ++x) EXPECT(out[x * rows + y] == in[y * columns + x]);
}
