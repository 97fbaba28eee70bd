// Uses the fake runtime that it is linked with: an executable, and a library to be opened. Each says what it got from
// four functions, the first time from a constructor, as programs with device code do.
#include <cstdio>

extern "C" {
int __cudaRegisterFatBinary();
int cudaMalloc();
int cudaMemcpy();
int cudaGetDeviceProperties_v2();
int cudaStreamCreate();
}

namespace {

int at_start = 0;

struct AtStart {
  AtStart() { at_start = __cudaRegisterFatBinary(); }
} first;

// The mark of device code, as compilers write it.
__attribute__((section(".nv_fatbin"), used)) const char fat_binary[16] = "";

}  // namespace

extern "C" __attribute__((visibility("default"))) void tell() {
  std::printf("%d %d %d %d %d\n", at_start, cudaMalloc(), cudaMemcpy(), cudaGetDeviceProperties_v2(),
              cudaStreamCreate());
}

#ifdef FAKE_PROGRAM
int main() { tell(); }
#endif
