// Quotients and remainders of 128 bits took the carry after a subtraction for a borrow (seeds 7 and 41, nvcc, reduced).
#include "harness.h"

KERNEL(k0, , (u64 * out, const u32* g2)) {
  const u32 tid = threadIdx.x;
  out[2 * tid] = rc::mix(3ull, rc::quotient<i128>((i128)g2[tid], i128(7)));
  out[2 * tid + 1] = rc::mix(5ull, (u128)g2[tid] % 10);
}
#ifndef __CUDA_ARCH__
static void run(rc::Run& run) {
  rc::Buffer<u64> out(run, "out", 128, 60979813834734710, false);
  rc::Buffer<u32> g2(run, "g2", 64, 37018757336470140, false);
  LAUNCH(k0, dim3(1), dim3(64), 0, (out.device, g2.device), (out.host.data(), g2.host.data()));
  out.compare();
}
int main(int argc, char** argv) {
  const rc::Program programs[] = {{41, run}};
  return rc::run_programs(programs, 1, argc, argv);
}
#endif
