// Graphs whose while nodes never end: one whose kernel never says stop, one without a kernel. Both are stopped, the
// first by --max-instructions, which counts all rounds.
#include "../programs/check.h"

__global__ void go_on(cudaGraphConditionalHandle condition, unsigned* rounds) {
  ++*rounds;
  cudaGraphSetConditional(condition, 1);
}

// The error of a graph with one while node, whose body runs the kernel or nothing.
cudaError_t run(bool kernel) {
  unsigned* rounds = upload(std::vector<unsigned>(1, 0));
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  cudaGraphConditionalHandle condition;
  CHECK(cudaGraphCreate(&graph, 0));
  CHECK(cudaGraphConditionalHandleCreate(&condition, graph, 1, cudaGraphCondAssignDefault));
  cudaGraphNodeParams node{};
  node.type = cudaGraphNodeTypeConditional;
  node.conditional.handle = condition;
  node.conditional.type = cudaGraphCondTypeWhile;
  node.conditional.size = 1;
  cudaGraphNode_t at;
#if CUDART_VERSION >= 13000
  CHECK(cudaGraphAddNode(&at, graph, nullptr, nullptr, 0, &node));
#else
  CHECK(cudaGraphAddNode(&at, graph, nullptr, 0, &node));
#endif
  cudaGraph_t body = node.conditional.phGraph_out[0];
  void* arguments[] = {&condition, &rounds};
  cudaKernelNodeParams of_kernel{};
  of_kernel.func = reinterpret_cast<void*>(go_on);
  of_kernel.gridDim = of_kernel.blockDim = dim3(1);
  of_kernel.kernelParams = arguments;
  if (kernel) CHECK(cudaGraphAddKernelNode(&at, body, nullptr, 0, &of_kernel));
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  cudaError_t error = cudaGraphLaunch(exec, nullptr);
  if (error == cudaSuccess) error = cudaDeviceSynchronize();
  CHECK(cudaDeviceReset());
  return error;
}

int main() {
  EXPECT(run(true) == cudaErrorLaunchTimeout);
  EXPECT(run(false) == cudaErrorLaunchTimeout);
  std::puts("both were stopped");
  return 0;
}
