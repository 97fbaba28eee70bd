// Two processes share device memory and events. The first starts the second, itself with handles as arguments, and both
// write to the same memory. Exit code 0: everything was as CUDA's manual says.
#include <cuda_runtime.h>
#include <spawn.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

extern char** environ;

__global__ void add(int* data, int n, int what) {
  for (int k = blockIdx.x * blockDim.x + threadIdx.x; k < n; k += gridDim.x * blockDim.x) data[k] += what + k;
}

int failures = 0;
void expect(bool good, const char* what, int line) {
  if (good) return;
  std::fprintf(stderr, "line %d: not so: %s\n", line, what);
  ++failures;
}
#define EXPECT(condition) expect(condition, #condition, __LINE__)

constexpr int kSmall = 1000, kLarge = 1 << 20;

template <typename Handle>
std::string text_of(const Handle& handle) {
  std::string text;
  for (size_t k = 0; k < sizeof handle; ++k) {
    char two[3];
    std::snprintf(two, sizeof two, "%02x", reinterpret_cast<const unsigned char*>(&handle)[k]);
    text += two;
  }
  return text;
}
template <typename Handle>
Handle handle_of(const char* text) {
  Handle handle;
  for (size_t k = 0; k < sizeof handle; ++k) {
    unsigned byte = 0;
    std::sscanf(text + 2 * k, "%2x", &byte);
    reinterpret_cast<unsigned char*>(&handle)[k] = static_cast<unsigned char>(byte);
  }
  return handle;
}

bool holds(const int* device, int n, int what, int times) {
  std::vector<int> seen(static_cast<size_t>(n));
  if (cudaMemcpy(seen.data(), device, seen.size() * sizeof(int), cudaMemcpyDeviceToHost) != cudaSuccess) return false;
  for (int k = 0; k < n; ++k)
    if (seen[static_cast<size_t>(k)] != what + times * k) return false;
  return true;
}

int second(char** arguments) {
  const auto small = handle_of<cudaIpcMemHandle_t>(arguments[0]), large = handle_of<cudaIpcMemHandle_t>(arguments[1]);
  void *a = nullptr, *again = nullptr, *b = nullptr;
  EXPECT(cudaIpcOpenMemHandle(&a, small, 0) == cudaErrorInvalidValue);
  EXPECT(cudaIpcOpenMemHandle(&a, cudaIpcMemHandle_t{}, cudaIpcMemLazyEnablePeerAccess) == cudaErrorInvalidValue);
  EXPECT(cudaIpcOpenMemHandle(&a, small, cudaIpcMemLazyEnablePeerAccess) == cudaSuccess);
  EXPECT(cudaIpcOpenMemHandle(&again, small, cudaIpcMemLazyEnablePeerAccess) == cudaSuccess && again == a);
  EXPECT(cudaIpcOpenMemHandle(&b, large, cudaIpcMemLazyEnablePeerAccess) == cudaSuccess);
  EXPECT(holds(static_cast<int*>(a), kSmall, 1, 1) && holds(static_cast<int*>(b), kLarge, 2, 1));
  cudaEvent_t event = nullptr;
  EXPECT(cudaIpcOpenEventHandle(&event, handle_of<cudaIpcEventHandle_t>(arguments[2])) == cudaSuccess);
  EXPECT(cudaStreamWaitEvent(nullptr, event, 0) == cudaSuccess && cudaEventQuery(event) == cudaSuccess);
  add<<<4, 256>>>(static_cast<int*>(a), kSmall, 10);
  add<<<4, 256>>>(static_cast<int*>(b), kLarge, 20);
  EXPECT(cudaEventRecord(event) == cudaSuccess && cudaDeviceSynchronize() == cudaSuccess);
  // Neither the second allocation nor the memory between the two is the program's to free.
  EXPECT(cudaFree(b) != cudaSuccess);
  EXPECT(cudaIpcCloseMemHandle(a) == cudaSuccess && cudaMemset(a, 0, 0) == cudaSuccess);
  EXPECT(holds(static_cast<int*>(a), kSmall, 11, 2));  // it has one user left
  EXPECT(cudaIpcCloseMemHandle(a) == cudaSuccess);
  EXPECT(cudaMemset(a, 0, 4) == cudaErrorInvalidValue && cudaIpcCloseMemHandle(a) == cudaErrorInvalidValue);
  EXPECT(cudaIpcCloseMemHandle(b) == cudaSuccess);
  return failures;
}

// The first process has freed the memory of this handle.
int late(char** arguments) {
  void* p = nullptr;
  EXPECT(cudaIpcOpenMemHandle(&p, handle_of<cudaIpcMemHandle_t>(arguments[0]), cudaIpcMemLazyEnablePeerAccess) ==
         cudaErrorMapBufferObjectFailed);
  return failures;
}

int start(std::vector<std::string> words) {
  std::vector<char*> arguments;
  for (std::string& w : words) arguments.push_back(w.data());
  arguments.push_back(nullptr);
  pid_t child = 0;
  int status = -1;
  if (posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, arguments.data(), environ) != 0) return -1;
  waitpid(child, &status, 0);
  return status;
}

int first() {
  int *a = nullptr, *neighbour = nullptr, *b = nullptr, *managed = nullptr;
  EXPECT(cudaMalloc(&a, kSmall * sizeof(int)) == cudaSuccess && cudaMalloc(&neighbour, 4) == cudaSuccess);
  EXPECT(cudaMalloc(&b, kLarge * sizeof(int)) == cudaSuccess && cudaMallocManaged(&managed, 4) == cudaSuccess);
  EXPECT(cudaMemset(a, 0, kSmall * sizeof(int)) == cudaSuccess &&
         cudaMemset(b, 0, kLarge * sizeof(int)) == cudaSuccess);
  add<<<4, 256>>>(a, kSmall, 1);
  add<<<4, 256>>>(b, kLarge, 2);
  cudaIpcMemHandle_t small, large, refused;
  EXPECT(cudaIpcGetMemHandle(&small, a) == cudaSuccess && cudaIpcGetMemHandle(&large, b) == cudaSuccess);
  EXPECT(cudaIpcGetMemHandle(&refused, managed) == cudaErrorInvalidValue);
  EXPECT(cudaIpcGetMemHandle(&refused, &refused) == cudaErrorInvalidValue);
  void* own = nullptr;
  EXPECT(cudaIpcOpenMemHandle(&own, small, cudaIpcMemLazyEnablePeerAccess) == cudaErrorDeviceUninitialized);
  cudaEvent_t event = nullptr, plain = nullptr;
  cudaIpcEventHandle_t shared;
  EXPECT(cudaEventCreateWithFlags(&event, cudaEventInterprocess | cudaEventDisableTiming) == cudaSuccess);
  EXPECT(cudaEventCreate(&plain) == cudaSuccess &&
         cudaIpcGetEventHandle(&shared, plain) == cudaErrorInvalidResourceHandle);
  EXPECT(cudaIpcGetEventHandle(&shared, event) == cudaSuccess && cudaEventRecord(event) == cudaSuccess);
  EXPECT(start({"second", text_of(small), text_of(large), text_of(shared)}) == 0);
  EXPECT(holds(a, kSmall, 11, 2) && holds(b, kLarge, 22, 2));
  // Memory that is allocated in the place of freed memory is not shared.
  EXPECT(cudaFree(a) == cudaSuccess && cudaFree(b) == cudaSuccess);
  EXPECT(start({"late", text_of(large)}) == 0);
  return failures;
}

int main(int count, char** arguments) {
  if (count == 4) return second(arguments + 1);
  if (count == 2) return late(arguments + 1);
  return first() == 0 ? (std::puts("two processes shared memory"), 0) : 1;
}
