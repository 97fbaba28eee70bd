// Every lane read element 0 of an array in a kernel's parameters (seed 39, clang -O2, reduced).
#include "harness.h"

struct S1 {
  i32 m0[40];
};
KERNEL(k0, , (u64 * out, S1 p1)) {
  const u32 tid = threadIdx.x;
  out[tid] = rc::mix(4ull, p1.m0[tid]);
}
#ifndef __CUDA_ARCH__
static void run(rc::Run& run) {
  rc::Buffer<u64> out(run, "out", 40, 51917014864544157, false);
  LAUNCH(k0, dim3(1), dim3(40), 0, (out.device, rc::value<S1>(26017613641246679)),
         (out.host.data(), rc::value<S1>(26017613641246679)));
  out.compare();
}
int main(int argc, char** argv) {
  const rc::Program programs[] = {{39, run}};
  return rc::run_programs(programs, 1, argc, argv);
}
#endif
