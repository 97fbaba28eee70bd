// Prints microseconds of one small launch (a block of 32 threads that adds 1) by the runtime's API and by the driver's,
// a line for each of 20 rounds of 5,000 launches: 10^5 of each. They take turns, so that what else runs slows both.
#include <cuda.h>
#include <cuda_runtime.h>
#include <dlfcn.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

__global__ void add_one(int* to) { to[threadIdx.x] += 1; }

constexpr int kRounds = 20, kLaunches = 5000;

template <typename Launch>
double microseconds(Launch&& launch) {
  const auto begin = std::chrono::steady_clock::now();
  for (int k = 0; k < kLaunches; ++k) launch();
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count() / kLaunches;
}

int main() {
  int* data = nullptr;
  cudaFunction_t function = nullptr;
  if (cudaMalloc(&data, 32 * sizeof(int)) != cudaSuccess || cudaMemset(data, 0, 32 * sizeof(int)) != cudaSuccess ||
      cudaGetFuncBySymbol(&function, reinterpret_cast<const void*>(add_one)) != cudaSuccess)
    return 1;
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  const auto launch =
      driver == nullptr ? nullptr : reinterpret_cast<decltype(&cuLaunchKernel)>(dlsym(driver, "cuLaunchKernel"));
  const auto init = driver == nullptr ? nullptr : reinterpret_cast<decltype(&cuInit)>(dlsym(driver, "cuInit"));
  if (launch == nullptr || init == nullptr || init(0) != CUDA_SUCCESS) return 1;
  void* arguments[] = {&data};
  bool good = true;
  const auto by_runtime = [&] { add_one<<<1, 32>>>(data); };
  const auto by_driver = [&] {
    good = good && launch(reinterpret_cast<CUfunction>(function), 1, 1, 1, 32, 1, 1, 0, nullptr, arguments, nullptr) ==
                       CUDA_SUCCESS;
  };
  by_runtime(), by_driver();
  for (int round = 0; round < kRounds; ++round) {
    const double a = microseconds(by_runtime), b = microseconds(by_driver);
    std::printf("%.4f %.4f\n", a, b);
  }
  int seen[32];
  good = good && cudaMemcpy(seen, data, sizeof seen, cudaMemcpyDeviceToHost) == cudaSuccess;
  for (const int value : seen) good = good && value == 2 + 2 * kRounds * kLaunches;
  return good ? 0 : 1;
}
