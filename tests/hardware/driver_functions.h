// The driver's functions by name, so that a probe needs no libcuda to be linked: CU(cuLinkCreate)(...).
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

template <typename Function>
Function driver(const char* name) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result;
  cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &result);
  return reinterpret_cast<Function>(found);
}
#define CU(function) driver<decltype(&function)>(#function)
