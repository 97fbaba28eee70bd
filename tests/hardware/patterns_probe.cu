// One warp, one memory instruction, every address pattern: what an H200 counts for instructions with unknown rules.
// Prints one JSON line a launch, in order; a profiler's counters are laid beside them (tests/hardware/patterns.py).
//   nvcc -arch=sm_90 -cudart shared -o patterns patterns_probe.cu
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>

#include "patterns.h"

constexpr int kPatterns = 20;
__constant__ uint32_t c_offsets[16][kPatterns][32];  // by log2 of the width; bytes

// An instruction: %0 a 32-bit result, %1 the address, %2 a value of the lane's own. The result is stored, so that no
// load or atomic becomes another instruction by having none.
#define BODY(address, letter, text)                                                                    \
  const unsigned lane = threadIdx.x;                                                                   \
  uint32_t result = 0;                                                                                 \
  if (mask >> lane & 1) asm volatile(text : "=r"(result) : letter(address), "r"(lane + 1) : "memory"); \
  out[lane] = result;
#define PARAMETERS char *p, int width, int pattern, uint32_t mask, uint32_t *out
#define OFFSET c_offsets[width][pattern][threadIdx.x]
#define GLOBAL(name, bytes, text)    \
  __global__ void name(PARAMETERS) { \
    char* a = p + OFFSET;            \
    BODY(a, "l", "{" text "}")       \
  }
#define SHARED(name, bytes, text)                                \
  __global__ void name(PARAMETERS) {                             \
    extern __shared__ __align__(128) char s[];                   \
    unsigned a = (unsigned)__cvta_generic_to_shared(s) + OFFSET; \
    BODY(a, "r", "{" text "}")                                   \
  }
#define LOCAL(name, bytes, text)                                    \
  __global__ void name(PARAMETERS) {                                \
    __align__(16) char array[4096];                                 \
    unsigned a = (unsigned)__cvta_generic_to_local(array) + OFFSET; \
    BODY(a, "r", "{" text "}")                                      \
  }
// cp.async from global to shared memory: the pattern on one side, neighbouring places on the other; or on both sides,
// the destination's counted from the end of the list.
#define DESTINATION c_offsets[width][kPatterns - 1 - pattern][threadIdx.x]
#define ASYNC_FROM(name, bytes, text)                                               \
  __global__ void name(PARAMETERS) {                                                \
    extern __shared__ __align__(128) char s[];                                      \
    unsigned a = (unsigned)__cvta_generic_to_shared(s) + threadIdx.x * bytes;       \
    const char* from = p + OFFSET;                                                  \
    if (mask >> threadIdx.x & 1) asm volatile(text ::"r"(a), "l"(from) : "memory"); \
    asm volatile("cp.async.wait_all;" ::: "memory");                                \
    out[threadIdx.x] = 1;                                                           \
  }
#define ASYNC_BOTH(name, bytes, text)                                               \
  __global__ void name(PARAMETERS) {                                                \
    extern __shared__ __align__(128) char s[];                                      \
    unsigned a = (unsigned)__cvta_generic_to_shared(s) + DESTINATION;               \
    const char* from = p + OFFSET;                                                  \
    if (mask >> threadIdx.x & 1) asm volatile(text ::"r"(a), "l"(from) : "memory"); \
    asm volatile("cp.async.wait_all;" ::: "memory");                                \
    out[threadIdx.x] = 1;                                                           \
  }
#define ASYNC_TO(name, bytes, text)                                                 \
  __global__ void name(PARAMETERS) {                                                \
    extern __shared__ __align__(128) char s[];                                      \
    unsigned a = (unsigned)__cvta_generic_to_shared(s) + OFFSET;                    \
    const char* from = p + threadIdx.x * bytes;                                     \
    if (mask >> threadIdx.x & 1) asm volatile(text ::"r"(a), "l"(from) : "memory"); \
    asm volatile("cp.async.wait_all;" ::: "memory");                                \
    out[threadIdx.x] = 1;                                                           \
  }

#define MATRIX(name, bytes, text)                                                        \
  __global__ void name(PARAMETERS) {                                                     \
    extern __shared__ __align__(128) char s[];                                           \
    unsigned a = (unsigned)__cvta_generic_to_shared(s) + OFFSET;                         \
    uint32_t result = 0;                                                                 \
    asm volatile("{" text "}" : "=r"(result) : "r"(a), "r"(threadIdx.x + 1) : "memory"); \
    out[threadIdx.x] = result;                                                           \
  }

#define DEFINE(kind, name, bytes, text) kind(name, bytes, text)
INSTRUCTIONS(DEFINE)

struct Instruction {
  const char *kind, *name;
  int bytes;
  void (*kernel)(PARAMETERS);
};
#define ROW(kind, name, bytes, text) {#kind, #name, bytes, name},
const Instruction kInstructions[] = {INSTRUCTIONS(ROW)};

uint32_t next_random() {
  static uint32_t state = 2463534242u;
  state ^= state << 13, state ^= state >> 17, state ^= state << 5;
  return state;
}

// Lane i's element in each pattern. Below 128 elements, so that 16-byte ones stay within 2 KiB; the last patterns
// within 240 elements.
uint32_t element(int pattern, uint32_t i) {
  switch (pattern) {
    case 0:
      return 0;  // all one address
    case 1:
      return i;  // neighbours
    case 2:
      return i / 2;  // pairs
    case 3:
      return i / 4;
    case 4:
      return i / 16;  // two addresses
    case 5:
      return i % 2;  // two, alternating
    case 6:
      return 31 - i;
    case 7:
      return 2 * i;
    case 8:
      return 4 * i;
    case 9:
      return i % 8;  // each of eight by four lanes
    case 10:
      return i + 1;  // one element off
    case 11:
      return i < 16 ? 0 : i;  // half one address, half distinct
    case 12:
      return i % 4 * 32 + i / 4;  // columns
    case 13:
      return next_random() % 8;
    case 14:
      return next_random() % 32;
    case 15:
      return next_random() % 128;
    case 16:
      return next_random() % 240;
    case 17:
      return next_random() % 240;
    case 18:
      return i ^ 5;
    default:
      return next_random() % 64 * 2;
  }
}

constexpr uint32_t kAll = 0xffffffffu;
constexpr uint32_t kMasks[] = {kAll, 0x0000ffffu, 0x55555555u, 0x00000001u, 0x73cf256du};
// Some lanes for a few of the patterns, all lanes for the others.
bool wanted_mask(int pattern, uint32_t mask) {
  return mask == kAll || (pattern == 0 && mask == 0x0000ffffu) || (pattern == 1 && mask == 0x55555555u) ||
         (pattern == 2 && mask == 0x00000001u) || (pattern >= 14 && pattern <= 16 && mask == 0x73cf256du);
}

int main(int argc, char** argv) {
  // Which instructions: those whose names begin with an argument; all without arguments.
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // whole lines, should it be stopped
  char* p;
  uint32_t* out;
  if (cudaMalloc(&p, 1 << 16) || cudaMalloc(&out, 4096)) return 1;
  cudaMemset(p, 0, 1 << 16);
  static uint32_t offsets[16][kPatterns][32];
  for (int pattern = 0; pattern < kPatterns; ++pattern) {
    for (uint32_t i = 0; i < 32; ++i) {
      const uint32_t e = element(pattern, i);
      for (int log = 0; log < 5; ++log) offsets[log][pattern][i] = e << log;
    }
  }
  cudaMemcpyToSymbol(c_offsets, offsets, sizeof offsets);
  for (const Instruction& instruction : kInstructions) {
    bool wanted = argc < 2;
    for (int i = 1; i < argc; ++i) wanted |= !std::strncmp(instruction.name, argv[i], std::strlen(argv[i]));
    if (!wanted) continue;
    int log = 0;
    while (1 << log < instruction.bytes) ++log;
    for (int pattern = 0; pattern < kPatterns; ++pattern) {
      for (const uint32_t mask : kMasks) {
        if (!wanted_mask(pattern, mask) || (mask != kAll && !std::strcmp(instruction.kind, "MATRIX"))) continue;
        instruction.kernel<<<1, 32, 16384>>>(p, log, pattern, mask, out);
        std::printf("{\"op\": \"%s\", \"kind\": \"%s\", \"bytes\": %d, \"mask\": \"%08x\", \"offsets\": [",
                    instruction.name, instruction.kind, instruction.bytes, mask);
        for (int i = 0; i < 32; ++i) std::printf("%s%u", i ? ", " : "", offsets[log][pattern][i]);
        if (!std::strcmp(instruction.kind, "ASYNC_BOTH")) {
          for (int i = 0; i < 32; ++i)
            std::printf("%s%u", i ? ", " : "], \"to\": [", offsets[log][kPatterns - 1 - pattern][i]);
        }
        std::printf("]}\n");
      }
    }
  }
  const cudaError_t error = cudaDeviceSynchronize();
  if (error) std::fprintf(stderr, "error: %s\n", cudaGetErrorString(error));
  return error != cudaSuccess;
}
