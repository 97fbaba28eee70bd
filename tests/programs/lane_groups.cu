// Lanes of one warp that name different companions at the same instruction; products with factors past 2^31; kernels
// in graphs, built and captured.
#include "check.h"

// Lanes fall into five groups by t % 5 (a division by a constant: a wide product with a factor past 2^31).
__global__ void groups(unsigned* masks, int* largest, unsigned* sums, unsigned* votes, unsigned long long* products) {
  const unsigned t = threadIdx.x;
  const unsigned mask = __match_any_sync(0xffffffffu, t % 5);
  masks[t] = mask;
  largest[t] = __reduce_max_sync(mask, static_cast<int>(t) - 16);
  sums[t] = __reduce_add_sync(mask, t);
  votes[t] = __ballot_sync(mask, t >= 16) | (__any_sync(mask, t == 7) ? 0x80000000u : 0);
  unsigned long long p;
  asm("mul.wide.u32 %0, %1, -1431655765;" : "=l"(p) : "r"(t));
  products[t] = p;
}

int main() {
  unsigned* masks = upload(std::vector<unsigned>(32, 0));
  unsigned* sums = upload(std::vector<unsigned>(32, 0));
  unsigned* votes = upload(std::vector<unsigned>(32, 0));
  int* largest = upload(std::vector<int>(32, 0));
  unsigned long long* products = upload(std::vector<unsigned long long>(32, 0));

  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  groups<<<1, 32, 0, stream>>>(masks, largest, sums, votes, products);
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  CHECK(cudaGraphLaunch(exec, stream));
  CHECK(cudaStreamSynchronize(stream));

  const auto m = download(masks, 32), s = download(sums, 32), v = download(votes, 32);
  const auto l = download(largest, 32);
  const auto p = download(products, 32);
  for (unsigned t = 0; t < 32; ++t) {
    unsigned mask = 0, sum = 0, vote = 0;
    int most = -100;
    for (unsigned u = t % 5; u < 32; u += 5) {
      mask |= 1u << u;
      sum += u;
      vote |= (u >= 16 ? 1u << u : 0) | (u == 7 ? 0x80000000u : 0);
      most = static_cast<int>(u) - 16;
    }
    EXPECT(m[t] == mask);
    EXPECT(s[t] == sum);
    EXPECT(v[t] == vote);
    EXPECT(l[t] == most);
    EXPECT(p[t] == t * 2863311531ull);
  }
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
}
