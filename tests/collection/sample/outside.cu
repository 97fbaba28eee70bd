// Stores outside its array and does not look at errors.
__global__ void outside(int* data) { data[threadIdx.x + 1000000] = 1; }

int main() {
  int* data;
  cudaMalloc(&data, 32 * sizeof *data);
  outside<<<1, 32>>>(data);
  cudaDeviceSynchronize();
  return 0;
}
