// Prints what the runtime returns for calls on graphs, captures and textures, and after an error that stays.
// nvcc -std=c++17 -arch=sm_90 graph_codes.cu && ./a.out: part of tests/truth/error_codes.txt.
#include "error_codes.h"

int main() {
  prepare();
  cudaGraph_t g;
  cudaChannelFormatDesc d = cudaCreateChannelDesc<float>();
  // graphs
  cudaGraphExec_t x;
  cudaGraphNode_t n, n2;
  T(cudaGraphCreate(nullptr, 0));
  T(cudaGraphCreate(&g, 1));
  T(cudaGraphCreate(&g, 0));
  T(cudaGraphInstantiate(&x, nullptr, 0));
  T(cudaGraphInstantiate(nullptr, g, 0));
  T(cudaGraphInstantiate(&x, g, 0));
  T(cudaGraphLaunch(nullptr, s));
  T(cudaGraphLaunch(x, s));
  T(cudaGraphAddEmptyNode(&n, g, nullptr, 1));
  T(cudaGraphAddEmptyNode(nullptr, g, nullptr, 0));
  T(cudaGraphAddEmptyNode(&n, g, nullptr, 0));
  T(cudaGraphAddEmptyNode(&n2, g, &n, 1));
  T(cudaGraphAddDependencies(g, &n2, &n, nullptr, 1));
  T(cudaGraphAddDependencies(g, &n, &n, nullptr, 1));
  T(cudaGraphAddDependencies(g, &n, &n2, nullptr, 1));
  T(cudaGraphInstantiate(&x, g, 0));
  T(cudaGraphDestroyNode(nullptr));
  T(cudaGraphDestroy(nullptr));
  T(cudaGraphExecDestroy(nullptr));
  T(cudaGraphGetNodes(g, nullptr, nullptr));
  T(cudaGraphKernelNodeGetParams(n, nullptr));
  cudaGraphNodeType ty;
  T(cudaGraphNodeGetType(n, &ty));
  T(cudaGraphNodeGetType(nullptr, &ty));
  T(cudaGraphAddHostNode(&n, g, nullptr, 0, nullptr));
  cudaHostNodeParams hp{};
  T(cudaGraphAddHostNode(&n, g, nullptr, 0, &hp));
  cudaMemsetParams mp{};
  T(cudaGraphAddMemsetNode(&n, g, nullptr, 0, &mp));
  mp.dst = p;
  mp.elementSize = 3;
  mp.width = 4;
  mp.height = 1;
  T(cudaGraphAddMemsetNode(&n, g, nullptr, 0, &mp));
  // capture: what must not be called meanwhile
  T(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
  T(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
  T(cudaStreamSynchronize(s));
  T(cudaStreamEndCapture(s, &g));
  T(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
  T(cudaMalloc(&out, 64));
  T(cudaStreamEndCapture(s, &g));
  T(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed));
  T(cudaMalloc(&out, 64));
  T(cudaMemcpy(p, host, 4, cudaMemcpyHostToDevice));
  T(go(1, 32, 0, s));
  T(cudaStreamQuery(s));
  T(cudaStreamEndCapture(s, &g));
  T(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
  T(cudaDeviceSynchronize());
  T(cudaStreamEndCapture(s, &g));
  // textures
  cudaTextureObject_t tex;
  cudaResourceDesc rd{};
  cudaTextureDesc td{};
  T(cudaCreateTextureObject(&tex, nullptr, &td, nullptr));
  T(cudaCreateTextureObject(&tex, &rd, &td, nullptr));
  rd.resType = cudaResourceTypeLinear;
  rd.res.linear.devPtr = p;
  rd.res.linear.desc = d;
  rd.res.linear.sizeInBytes = 4096;
  T(cudaCreateTextureObject(&tex, &rd, nullptr, nullptr));
  T(cudaCreateTextureObject(&tex, &rd, &td, nullptr));
  T(cudaDestroyTextureObject(tex));
  T(cudaDestroyTextureObject(0));
  T(cudaDestroyTextureObject(12345));
  rd.res.linear.devPtr = (char*)p + 4;
  T(cudaCreateTextureObject(&tex, &rd, &td, nullptr));
  td.filterMode = cudaFilterModeLinear;
  rd.res.linear.devPtr = p;
  T(cudaCreateTextureObject(&tex, &rd, &td, nullptr));
  td.normalizedCoords = 1;
  T(cudaCreateTextureObject(&tex, &rd, &td, nullptr));
  T(cudaStreamDestroy(s));
  T(cudaEventDestroy(e));
  T(cudaDeviceReset());
  T(cudaFree(p));
  T(cudaDeviceSynchronize());
  // errors that stay
  takes<<<1, 1>>>((int*)16);
  T(cudaDeviceSynchronize());
  T(cudaGetLastError());
  T(cudaMalloc(&out, 4));
  T(cudaPeekAtLastError());
  T(cudaDeviceSynchronize());
  T(cudaFree(0));
  T(cudaGetDevice(&i));
  T(cudaStreamCreate(&s));
  T(cudaDeviceReset());
  T(cudaMalloc(&out, 4));
  T(cudaDeviceSynchronize());
}
