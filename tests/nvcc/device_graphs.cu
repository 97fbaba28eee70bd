// Graphs that kernels launch: one that is fired and forgotten, one that launches itself again from its tail until a
// Newton step no longer changes the root, and a tail that looks at what they left.
#include "../programs/check.h"

__global__ void step(double* x, int* steps) {
  const double next = (*x + 2.0 / *x) / 2;
  ++*steps;
  if (next == *x || *steps == 100) return;
  *x = next;
  cudaGraphLaunch(cudaGetCurrentGraphExec(), cudaStreamGraphTailLaunch);
}

__global__ void fill(int* data, int n) {
  for (int k = threadIdx.x; k < n; k += blockDim.x) data[k] = k * k;
}

__global__ void look(const int* data, int n, int* good) {
  *good = 1;
  for (int k = 0; k < n; ++k)
    if (data[k] != k * k) *good = 0;
}

__global__ void begin(cudaGraphExec_t fills, cudaGraphExec_t looks, int* errors) {
  errors[0] = cudaGraphLaunch(looks, cudaStreamGraphTailLaunch);
  errors[1] = cudaGraphLaunch(fills, cudaStreamGraphFireAndForget);
}

template <class... Parameters, class... Arguments>
cudaGraphExec_t graph_of(unsigned long long flags, void (*kernel)(Parameters...), Arguments... given) {
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  kernel<<<1, 1, 0, stream>>>(given...);
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&exec, graph, flags));
  if (flags == cudaGraphInstantiateFlagDeviceLaunch) CHECK(cudaGraphUpload(exec, stream));
  return exec;
}

int main() {
  constexpr auto kForDevice = cudaGraphInstantiateFlagDeviceLaunch;
  double* x = upload(std::vector<double>{1});
  int* steps = upload(std::vector<int>{0});
  CHECK(cudaGraphLaunch(graph_of(kForDevice, step, x, steps), nullptr));
  const double root = download(x, 1)[0];
  EXPECT(root * root > 1.999999999 && root * root < 2.000000001);
  EXPECT(download(steps, 1)[0] > 3);
  EXPECT(download(steps, 1)[0] < 20);

  constexpr int kNumbers = 1000;
  int* data = upload(std::vector<int>(kNumbers, -1));
  int* said = upload(std::vector<int>{-1, -1, -1});
  const cudaGraphExec_t fills = graph_of(kForDevice, fill, data, kNumbers);
  const cudaGraphExec_t looks = graph_of(kForDevice, look, data, kNumbers, said + 2);
  CHECK(cudaGraphLaunch(graph_of(0, begin, fills, looks, said), nullptr));
  EXPECT(download(said, 3) == (std::vector<int>{0, 0, 1}));
  return 0;
}
