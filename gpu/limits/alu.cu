// Instructions that compute: cycles until a result can be used (a chain in one warp), and instructions of one warp a
// cycle that one multiprocessor starts (32 warps of one block, each with four chains). PTX names.
#include <type_traits>

#include "measure.h"

constexpr int kSteps = 32, kRounds = 16;  // a step is two instructions of a chain

// Two values that take turns: each instruction needs the last one's result, and none can be merged with the next.
#define OPERATION(NAME, TYPE, CONSTRAINT, FIRST, SECOND)                       \
  struct NAME {                                                                \
    using Type = TYPE;                                                         \
    static __device__ void step(Type& x, Type& y, Type z) {                    \
      asm volatile(FIRST : "+" CONSTRAINT(x) : CONSTRAINT(y), CONSTRAINT(z));  \
      asm volatile(SECOND : "+" CONSTRAINT(y) : CONSTRAINT(x), CONSTRAINT(z)); \
    }                                                                          \
  };
#define BINARY(NAME, TYPE, C, OP) OPERATION(NAME, TYPE, C, OP " %0, %0, %1;", OP " %0, %0, %1;")
#define TERNARY(NAME, TYPE, C, OP) OPERATION(NAME, TYPE, C, OP " %0, %0, %1, %2;", OP " %0, %0, %1, %2;")
#define UNARY(NAME, TYPE, C, OP) OPERATION(NAME, TYPE, C, OP " %0, %1;", OP " %0, %1;")
// There and back again: the chain's figure is of the pair.
#define PAIR(NAME, TYPE, C, REGISTER, THERE, BACK)                                    \
  OPERATION(NAME, TYPE, C, "{.reg " REGISTER " t; " THERE " t, %1; " BACK " %0, t;}", \
            "{.reg " REGISTER " t; " THERE " t, %1; " BACK " %0, t;}")

#include "operations.def"

template <typename Operation, int kChains>
__global__ void chain(typename Operation::Type seed, typename Operation::Type* never, long long* cycles) {
  using T = typename Operation::Type;
  T x[kChains], y[kChains];
  for (int c = 0; c < kChains; ++c) {
    x[c] = never[threadIdx.x + c + 1];  // a value of each lane's own, as far as the compiler knows
    y[c] = never[threadIdx.x + c + 9];
  }
  __syncthreads();
  const long long start = clock64();
#pragma unroll 1
  for (int round = 0; round < kRounds; ++round) {
#pragma unroll
    for (int i = 0; i < kSteps; ++i) {
#pragma unroll
      for (int c = 0; c < kChains; ++c) Operation::step(x[c], y[c], seed);
    }
  }
  __syncthreads();
  const long long stop = clock64();
  for (int c = 0; c < kChains; ++c) {
    never[threadIdx.x + 32 + c * blockDim.x] = x[c];
    never[threadIdx.x + 32 + (c + kChains) * blockDim.x] = y[c];
  }
  if (threadIdx.x == 0) *cycles = stop - start;
}

template <typename Operation>
void measure(const char* name) {
  using T = typename Operation::Type;
  static T* never = nullptr;
  if (!never) {
    std::vector<T> values(32 + 1024 * 16,
                          T(std::is_floating_point<T>::value ? 1 : 3));  // 1: no division leaves its fast path
    never = on_device(values);
  }
  const T seed = T(std::is_floating_point<T>::value ? 1 : 5);
  constexpr double kInstructions = 2.0 * kSteps * kRounds;
  const double latency = cycles_of([&](long long* c) { chain<Operation, 1><<<1, 32>>>(seed, never, c); });
  const double many = cycles_of([&](long long* c) { chain<Operation, 4><<<1, 1024>>>(seed, never, c); });
  put(std::string("alu/") + name + "/latency", latency / kInstructions, "cycles");
  put(std::string("alu/") + name + "/rate", kInstructions * 4 * 32 / many, "warp instructions a cycle, multiprocessor");
}

int main() {
#define MEASURE(NAME, PTX) measure<NAME>(PTX);
  ALL_OPERATIONS(MEASURE)
  return 0;
}
