// Bulk copies of tensors: a matrix is transposed tile by tile. Tiles come by a map with a swizzle of 128 bytes and go
// by one with none; those at the edges hang over. The host does the same.
#include <cuda.h>

#include "../programs/check.h"

constexpr int kTile = 32, kRows = 100, kColumns = 84;  // of the matrix

__device__ unsigned shared_address(const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }

__global__ void transpose(const __grid_constant__ CUtensorMap from, const __grid_constant__ CUtensorMap to) {
  __shared__ alignas(1024) unsigned in[kTile * kTile];
  __shared__ alignas(128) unsigned out[kTile * kTile];
  __shared__ alignas(8) unsigned long long object;
  const unsigned bar = shared_address(&object);
  const int column = blockIdx.x * kTile, row = blockIdx.y * kTile;
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared.b64 [%0], 1;\nfence.mbarrier_init.release.cluster;" ::"r"(bar));
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(bar), "n"(4 * kTile * kTile));
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
            shared_address(in)),
        "l"(&from), "r"(column), "r"(row), "r"(bar)
        : "memory");
  }
  __syncthreads();
  asm volatile("{\n.reg .pred p;\nWAIT:\nmbarrier.try_wait.parity.shared.b64 p, [%0], 0;\n@!p bra WAIT;\n}" ::"r"(bar)
               : "memory");
  for (int k = threadIdx.x; k < kTile * kTile; k += blockDim.x) {
    const int x = k % kTile, y = k / kTile;
    out[x * kTile + y] = in[y * kTile + (x ^ (y % 8) * 4)];  // where the swizzle has put it
  }
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&to), "r"(row),
                 "r"(column), "r"(shared_address(out))
                 : "memory");
    asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::: "memory");
  }
}

using Encode = decltype(&cuTensorMapEncodeTiled);

CUtensorMap map_of(Encode encode, unsigned* data, int rows, int columns, CUtensorMapSwizzle swizzle) {
  CUtensorMap map;
  const cuuint64_t dims[] = {cuuint64_t(columns), cuuint64_t(rows)}, strides[] = {cuuint64_t(columns) * 4};
  const cuuint32_t box[] = {kTile, kTile}, steps[] = {1, 1};
  const CUresult done =
      encode(&map, CU_TENSOR_MAP_DATA_TYPE_UINT32, 2, data, dims, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
             swizzle, CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  EXPECT(done == CUDA_SUCCESS);
  return map;
}

int main() {
  std::vector<unsigned> numbers(kRows * kColumns);
  for (size_t k = 0; k < numbers.size(); ++k) numbers[k] = static_cast<unsigned>(k * 2654435761u);
  unsigned* in = upload(numbers);
  unsigned* out = upload(std::vector<unsigned>(numbers.size(), 0));
  void* entry = nullptr;
  cudaDriverEntryPointQueryResult found;
  CHECK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &entry, 12000, cudaEnableDefault, &found));
  EXPECT(found == cudaDriverEntryPointSuccess);
  const auto encode = reinterpret_cast<Encode>(entry);
  const CUtensorMap from = map_of(encode, in, kRows, kColumns, CU_TENSOR_MAP_SWIZZLE_128B),
                    to = map_of(encode, out, kColumns, kRows, CU_TENSOR_MAP_SWIZZLE_NONE);
  transpose<<<dim3((kColumns + kTile - 1) / kTile, (kRows + kTile - 1) / kTile), 128>>>(from, to);
  CHECK(cudaDeviceSynchronize());
  const std::vector<unsigned> result = download(out, numbers.size());
  for (int r = 0; r < kRows; ++r)
    for (int c = 0; c < kColumns; ++c) EXPECT(result[c * kRows + r] == numbers[r * kColumns + c]);
  return 0;
}
