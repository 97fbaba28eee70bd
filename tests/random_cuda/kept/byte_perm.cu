// With clang's headers, __byte_perm repeated a byte's sign where its selector had a fourth bit set (seed 8, reduced).
#include "harness.h"

KERNEL(k0, , (u32 * out, const u32* g2)) {
  const u32 tid = threadIdx.x;
  out[tid] = __byte_perm(tid, g2[tid], ~g2[tid]);
}
#ifndef __CUDA_ARCH__
static void run(rc::Run& run) {
  rc::Buffer<u32> out(run, "out", 64, 55437734774536008, false);
  rc::Buffer<u32> g2(run, "g2", 64, 48675746741624386, false);
  LAUNCH(k0, dim3(1), dim3(64), 0, (out.device, g2.device), (out.host.data(), g2.host.data()));
  out.compare();
}
int main(int argc, char** argv) {
  const rc::Program programs[] = {{8, run}};
  return rc::run_programs(programs, 1, argc, argv);
}
#endif
