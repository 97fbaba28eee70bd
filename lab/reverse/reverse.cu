// An array written back to front: directly, or turned round in shared memory first so that both the loads and the
// stores go forward.
//
//   reverse [--n N] [--block B] [--rung NAME]     n >= 0 (default 2^24), B from 1 to 1024 (256)
//
// A block takes `count` elements from `start`, fewer than blockDim.x only at the end of the array; as they are written
// mirrored, its share of the output begins at n - start - count.
#include "../program.h"

struct Share {
  size_t start, count, out;
};
__device__ inline Share share_of_block(size_t n) {
  const size_t start = static_cast<size_t>(blockIdx.x) * blockDim.x;
  const size_t count = n - start < blockDim.x ? n - start : blockDim.x;
  return {start, count, n - start - count};
}

// Rung 1. Lane t loads element t and stores it t places from the end.
// Counters: the lanes of a store go backwards, but 32 lanes still cover the same 128 bytes: 4 sectors a request, like a
// forward store. Since Fermi the order of the lanes costs nothing.
__global__ void reverse_global(const int* in, int* out, size_t n) {
  const size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) out[n - 1 - i] = in[i];
}

// Rung 2. Through shared memory, whose size is given at launch: written mirrored, read forward.
// Counters: exactly the sectors of rung 1, and on top a shared store and load for each element. Nothing is saved.
__global__ void reverse_shared(const int* in, int* out, size_t n) {
  extern __shared__ int mirrored[];
  const Share share = share_of_block(n);
  const size_t t = threadIdx.x;
  if (t < share.count) mirrored[share.count - 1 - t] = in[share.start + t];
  __syncthreads();
  if (t < share.count) out[share.out + t] = mirrored[t];
}

// Rung 3. Two arrays in one launch: a byte and an int for each element. A kernel has one dynamic shared array only, so
// both are carved out of it by hand: the bytes first, then the ints at the next address that 4 divides; a block of 30
// without the rounding up would read ints at address 30, and fault.
// Counters: the ints cost what they did; the bytes of a warp fill one sector, and four lanes share each bank's word,
// which is no conflict.
__global__ void reverse_two_arrays(const int* in, int* out, const unsigned char* tags_in, unsigned char* tags_out,
                                   size_t n) {
  extern __shared__ int pool[];
  unsigned char* tags = reinterpret_cast<unsigned char*>(pool);
  int* mirrored = pool + (blockDim.x + sizeof(int) - 1) / sizeof(int);
  const Share share = share_of_block(n);
  const size_t t = threadIdx.x;
  if (t < share.count) {
    tags[share.count - 1 - t] = tags_in[share.start + t];
    mirrored[share.count - 1 - t] = in[share.start + t];
  }
  __syncthreads();
  if (t < share.count) {
    tags_out[share.out + t] = tags[t];
    out[share.out + t] = mirrored[t];
  }
}

int main(int argc, char** argv) {
  Program program(argc, argv, {{"--n", 1 << 24, 0, 1ull << 34, Option::any}, {"--block", 256, 1, 1024, Option::any}});
  const size_t n = program["--n"];
  const unsigned int block = static_cast<unsigned int>(program["--block"]);
  if (n / block >= 0x7fffffffu) {
    std::fprintf(stderr, "error: a grid has at most 2^31-1 blocks: too small a --block\n");
    return 2;
  }
  const unsigned int blocks = blocks_for(n, block);

  std::vector<int> host(n);
  for (size_t i = 0; i < n; ++i) host[i] = static_cast<int>(i * 2654435761u);
  const std::vector<int> expected(host.rbegin(), host.rend());
  const Array<int> in(host);
  Array<int> out(n);

  const size_t ints = block * sizeof(int);
  if (program.wants("reverse_global")) {
    out.spoil();
    if (n) reverse_global<<<blocks, block>>>(in.get(), out.get(), n);
    CHECK_KERNEL();
    program.result("reverse_global", out.download() == expected);
  }
  if (program.wants("reverse_shared")) {
    out.spoil();
    if (n) reverse_shared<<<blocks, block, ints>>>(in.get(), out.get(), n);
    CHECK_KERNEL();
    program.result("reverse_shared", out.download() == expected);
  }
  if (program.wants("reverse_two_arrays")) {
    std::vector<unsigned char> tags(n);
    for (size_t i = 0; i < n; ++i) tags[i] = static_cast<unsigned char>(i * 40503u >> 8);
    const std::vector<unsigned char> tags_expected(tags.rbegin(), tags.rend());
    const Array<unsigned char> tags_in(tags);
    Array<unsigned char> tags_out(n);
    out.spoil();
    tags_out.spoil();
    const size_t shared = (block + sizeof(int) - 1) / sizeof(int) * sizeof(int) + ints;
    if (n) reverse_two_arrays<<<blocks, block, shared>>>(in.get(), out.get(), tags_in.get(), tags_out.get(), n);
    CHECK_KERNEL();
    program.result("reverse_two_arrays", out.download() == expected && tags_out.download() == tags_expected);
  }
  return program.end();
}
