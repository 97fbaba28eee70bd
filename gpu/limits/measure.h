// Shared by the programs that measure a GPU's limits: checked calls, times, and the line that a figure becomes. Each
// program prints one JSON object a figure: {"name": "alu/add.s32/latency", "value": 4.02, "unit": "cycles"}.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#define CHECK(call)                                                              \
  do {                                                                           \
    const cudaError_t error = (call);                                            \
    if (error != cudaSuccess) {                                                  \
      std::fprintf(stderr, "error: %s: %s\n", #call, cudaGetErrorString(error)); \
      std::exit(1);                                                              \
    }                                                                            \
  } while (0)

inline void put(const std::string& name, double value, const char* unit) {
  std::printf("{\"name\": \"%s\", \"value\": %.9g, \"unit\": \"%s\"}\n", name.c_str(), value, unit);
  std::fflush(stdout);
}

// One random cycle through `count` places, `words` words of 4 bytes apart.
inline std::vector<unsigned> places(size_t count, size_t words) {
  std::vector<unsigned> order(count), at(count * words);
  std::iota(order.begin(), order.end(), 0u);
  std::mt19937 random(1);
  std::shuffle(order.begin() + 1, order.end(), random);
  for (size_t k = 0; k < count; ++k) at[order[k] * words] = static_cast<unsigned>(order[(k + 1) % count] * words);
  return at;
}

inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

// A device array of zeros.
template <typename T>
T* zeros(size_t count) {
  T* data = nullptr;
  CHECK(cudaMalloc(&data, count * sizeof(T)));
  CHECK(cudaMemset(data, 0, count * sizeof(T)));
  return data;
}

template <typename T>
T* on_device(const std::vector<T>& values) {
  T* data = nullptr;
  CHECK(cudaMalloc(&data, values.size() * sizeof(T)));
  CHECK(cudaMemcpy(data, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
  return data;
}

// Seconds of each of `repetitions` launches by CUDA's events, after `warm` that are not counted.
template <typename Launch>
std::vector<double> times_of(const Launch& launch, int repetitions = 5, int warm = 1) {
  cudaEvent_t start, stop;
  CHECK(cudaEventCreate(&start));
  CHECK(cudaEventCreate(&stop));
  std::vector<double> seconds;
  for (int i = -warm; i < repetitions; ++i) {
    CHECK(cudaEventRecord(start));
    launch();
    CHECK(cudaEventRecord(stop));
    CHECK(cudaEventSynchronize(stop));
    float milliseconds = 0;
    CHECK(cudaEventElapsedTime(&milliseconds, start, stop));
    if (i >= 0) seconds.push_back(milliseconds * 1e-3);
  }
  CHECK(cudaGetLastError());
  CHECK(cudaEventDestroy(start));
  CHECK(cudaEventDestroy(stop));
  return seconds;
}

// Their median.
template <typename Launch>
double seconds_of(const Launch& launch, int repetitions = 5) {
  return median(times_of(launch, repetitions));
}

// Cycles that one block counts by itself: the median of `repetitions` launches, after one that is not counted.
template <typename Launch>
double cycles_of(const Launch& launch, int repetitions = 5) {
  static long long* cycles = zeros<long long>(1);
  std::vector<double> values;
  for (int i = -1; i < repetitions; ++i) {
    launch(cycles);
    CHECK(cudaGetLastError());
    long long value = 0;
    CHECK(cudaMemcpy(&value, cycles, sizeof value, cudaMemcpyDeviceToHost));
    if (i >= 0) values.push_back(static_cast<double>(value));
  }
  return median(values);
}

inline int attribute(cudaDeviceAttr which) {
  int device = 0, value = 0;
  CHECK(cudaGetDevice(&device));
  CHECK(cudaDeviceGetAttribute(&value, which, device));
  return value;
}
