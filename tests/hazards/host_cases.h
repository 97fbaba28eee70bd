// Programs of tests/hazards/host_*.cu: mistakes of the host, each a function, and the same put right.
//
//   PROGRAM wrong|right          runs all cases so, but for those that end a launch
//   PROGRAM NAME wrong|right     runs one; `PROGRAM list` names those that end a launch, `names` all
//
// A line that is to be reported ends in `HERE: hazard`.
#pragma once
#include <cuda_runtime.h>

#include <atomic>
#include <cstdio>
#include <cstring>

constexpr int kInts = 1000;  // no multiple of what memory is rounded to
constexpr size_t kBytes = kInts * sizeof(int);

struct HostCase {
  const char* name;
  void (*run[2])();  // wrong, right; null: there is none
  bool ends;         // the wrong one ends its launch
};

#define HOST_CASE(name) {#name, {name<false>, name<true>}, false}
#define HOST_ENDS(name) {#name, {name<false>, name<true>}, true}
#define HOST_RIGHT(name) {#name, {nullptr, name<true>}, false}

inline int* device_ints(bool written = true) {
  int* p = nullptr;
  cudaMalloc(&p, kBytes);
  if (written) cudaMemset(p, 0, kBytes), cudaDeviceSynchronize();
  return p;
}

#define PICK(p) (*static_cast<const volatile int*>(p))  // the host reads, on this line

struct Two {
  cudaStream_t a, b;
  explicit Two(unsigned flags = cudaStreamDefault) {
    cudaStreamCreateWithFlags(&a, flags);
    cudaStreamCreateWithFlags(&b, flags);
  }
  ~Two() {
    cudaDeviceSynchronize();
    cudaStreamDestroy(a);
    cudaStreamDestroy(b);
  }
  void b_after_a() const {
    cudaEvent_t e;
    cudaEventCreate(&e);
    cudaEventRecord(e, a);
    cudaStreamWaitEvent(b, e, 0);
    cudaEventDestroy(e);
  }
};

struct Memory {
  int* p;
  explicit Memory(int* q) : p(q) {}
  ~Memory() {
    cudaDeviceSynchronize();
    cudaFree(p);
  }
  operator int*() const { return p; }
};

template <size_t N>
int run_host_cases(const HostCase (&cases)[N], int argc, char** argv) {
  if (argc == 2 && !std::strcmp(argv[1], "list")) {
    for (const HostCase& c : cases)
      if (c.ends) std::printf("%s\n", c.name);
    return 0;
  }
  if (argc == 2 && !std::strcmp(argv[1], "names")) {
    for (const HostCase& c : cases) std::printf("%s%s\n", c.name, c.run[0] ? "" : " right");
    return 0;
  }
  if (argc != 2 && argc != 3) {
    std::fprintf(stderr, "error: list; names; wrong; right; NAME wrong|right\n");
    return 2;
  }
  const bool right = !std::strcmp(argv[argc - 1], "right");
  for (const HostCase& c : cases) {
    if (!c.run[right] || !(argc == 3 ? !std::strcmp(argv[1], c.name) : right || !c.ends)) continue;
    c.run[right]();
    cudaDeviceSynchronize();
  }
  return 0;
}
