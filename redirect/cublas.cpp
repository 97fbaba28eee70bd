#include "redirect/cublas.h"

#include <cstddef>
#include <cstdio>
#include <iterator>
#include <map>
#include <mutex>
#include <utility>

namespace coalesce::redirect {
namespace {

// cublas_api.h's types and values.
using Handle = void*;
using Stream = void*;
using Status = int;
constexpr Status kSuccess = 0, kNotInitialized = 1, kAllocationFailed = 3;
constexpr int kPlain = 0, kTransposed = 1;  // cublasOperation_t

struct OfCublas {
  Status (*cublasCreate_v2)(Handle*);
  Status (*cublasDestroy_v2)(Handle);
  Status (*cublasSetStream_v2)(Handle, Stream);
  Status (*cublasSetWorkspace_v2)(Handle, void*, size_t);
  Status (*cublasSgemm_v2)(Handle, int, int, int, int, int, const float*, const float*, int, const float*, int,
                           const float*, float*, int);
  Status (*cublasSgemv_v2)(Handle, int, int, int, const float*, const float*, int, const float*, int, const float*,
                           float*, int);
  Status (*cublasStrsm_v2)(Handle, int, int, int, int, int, int, const float*, const float*, int, float*, int);
  Status (*cublasSgemmStridedBatched)(Handle, int, int, int, int, int, const float*, const float*, int, long long,
                                      const float*, int, long long, const float*, float*, int, long long, int);
  Status (*cublasStrsmBatched)(Handle, int, int, int, int, int, int, const float*, const float* const*, int,
                               float* const*, int, int);
};
OfCublas cublas{};

#define COALESCE_OF_CUBLAS(X)  \
  X(cublasCreate_v2)           \
  X(cublasDestroy_v2)          \
  X(cublasSetStream_v2)        \
  X(cublasSetWorkspace_v2)     \
  X(cublasSgemm_v2)            \
  X(cublasSgemv_v2)            \
  X(cublasStrsm_v2)            \
  X(cublasSgemmStridedBatched) \
  X(cublasStrsmBatched)

template <typename Function>
Function runtime(std::string_view name) {
  return reinterpret_cast<Function>(runtime_function(name));
}

// Memory of a handle for work in one stream: the workspace, then a number that nobody reads, then two pointers.
constexpr size_t kWorkspace = size_t{32} << 20, kUnread = kWorkspace, kPointers = kUnread + 256,
                 kMemory = kPointers + 256;

struct Owned {
  Stream stream = nullptr;
  std::map<Stream, char*> memory;
};
std::mutex mutex;
std::map<Handle, Owned>& handles() {
  static auto* the = new std::map<Handle, Owned>;  // programs call until the process ends
  return *the;
}

char* new_memory() {
  const auto allocate = runtime<int (*)(void**, size_t)>("cudaMalloc");
  const auto exchange = runtime<int (*)(int*)>("cudaThreadExchangeStreamCaptureMode");
  if (allocate == nullptr || exchange == nullptr) return nullptr;
  int mode = 2;  // cudaStreamCaptureModeRelaxed: a stream may be captured
  void* memory = nullptr;
  exchange(&mode);
  if (allocate(&memory, kMemory) != 0) memory = nullptr;
  exchange(&mode);
  return static_cast<char*>(memory);
}

// The memory for the handle's stream; null: there is none.
char* memory_of(Handle handle) {
  const std::lock_guard lock(mutex);
  Owned& owned = handles()[handle];
  char*& memory = owned.memory[owned.stream];
  if (memory == nullptr) memory = new_memory();
  return memory;
}

void use(Handle handle, Stream stream) {
  {
    const std::lock_guard lock(mutex);
    handles()[handle].stream = stream;
  }
  if (char* memory = memory_of(handle)) cublas.cublasSetWorkspace_v2(handle, memory, kWorkspace);
}

Status create(Handle* handle) {
  const Status status = cublas.cublasCreate_v2(handle);
  if (status == kSuccess) use(*handle, nullptr);
  return status;
}
Status set_stream(Handle handle, Stream stream) {
  const Status status = cublas.cublasSetStream_v2(handle, stream);
  if (status == kSuccess) use(handle, stream);
  return status;
}
Status destroy(Handle handle) {
  const Status status = cublas.cublasDestroy_v2(handle);
  if (status != kSuccess) return status;
  const std::lock_guard lock(mutex);
  if (const auto release = runtime<int (*)(void*)>("cudaFree"))
    for (const auto& [stream, memory] : handles()[handle].memory) release(memory);
  handles().erase(handle);
  return status;
}

void say(const char* name, const char* other) {
  std::fprintf(
      stderr,
      "coalesce: warning: %s runs as %s, because cuBLAS chooses its kernel by a private interface of NVIDIA's; "
      "the counters are that kernel's\n",
      name, other);
}

struct Product {
  int of_a, of_b, rows, columns, terms;
  const float* alpha;
  const float* a;
  int pitch_a;
  const float* b;
  int pitch_b;
  const float* beta;
  float* c;
  int pitch_c;
};

// Two products whose factors and results are so far apart.
Status two(Handle h, const Product& p, long long a, long long b, long long c) {
  return cublas.cublasSgemmStridedBatched(h, p.of_a, p.of_b, p.rows, p.columns, p.terms, p.alpha, p.a, p.pitch_a, a,
                                          p.b, p.pitch_b, b, p.beta, p.c, p.pitch_c, c, 2);
}

// Halves of the columns, of the last column's rows, and its last number beside one that nobody reads.
Status halved(Handle h, Product p) {
  if (p.rows == 0 || p.columns == 0) return kSuccess;
  const long long column_b = p.of_b == kPlain ? p.pitch_b : 1, row_a = p.of_a == kPlain ? 1 : p.pitch_a;
  if (const int half = p.columns / 2; half > 0) {
    Product q = p;
    q.columns = half;
    if (const Status s = two(h, q, 0, half * column_b, static_cast<long long>(half) * p.pitch_c)) return s;
    p.b += 2 * half * column_b;
    p.c += 2 * half * static_cast<long long>(p.pitch_c);
  }
  if (p.columns % 2 == 0) return kSuccess;
  p.columns = 1;
  if (const int half = p.rows / 2; half > 0) {
    Product q = p;
    q.rows = half;
    if (const Status s = two(h, q, half * row_a, 0, half)) return s;
    p.a += 2 * half * row_a;
    p.c += 2 * half;
  }
  if (p.rows % 2 == 0) return kSuccess;
  p.rows = 1;
  const char* memory = memory_of(h);
  if (memory == nullptr) return kAllocationFailed;
  const auto apart =
      static_cast<int64_t>(reinterpret_cast<uintptr_t>(memory + kUnread) - reinterpret_cast<uintptr_t>(p.c));
  return two(h, p, 0, 0, apart / static_cast<int64_t>(sizeof(float)));
}

Status sgemm(Handle h, int of_a, int of_b, int rows, int columns, int terms, const float* alpha, const float* a,
             int pitch_a, const float* b, int pitch_b, const float* beta, float* c, int pitch_c) {
  static const bool said = (say("cublasSgemm", "cublasSgemmStridedBatched"), true);
  static_cast<void>(said);
  return halved(h, {of_a, of_b, rows, columns, terms, alpha, a, pitch_a, b, pitch_b, beta, c, pitch_c});
}

// y as a matrix of one row: its columns are as far apart as y's numbers; so is x.
Status sgemv(Handle h, int of_a, int rows, int columns, const float* alpha, const float* a, int pitch_a, const float* x,
             int step_x, const float* beta, float* y, int step_y) {
  if (step_x <= 0 || step_y <= 0)
    return cublas.cublasSgemv_v2(h, of_a, rows, columns, alpha, a, pitch_a, x, step_x, beta, y, step_y);
  static const bool said = (say("cublasSgemv", "cublasSgemmStridedBatched"), true);
  static_cast<void>(said);
  const bool plain = of_a == kPlain;
  return halved(h, {kPlain, plain ? kTransposed : kPlain, 1, plain ? rows : columns, plain ? columns : rows, alpha, x,
                    step_x, a, pitch_a, beta, y, step_y});
}

// cuBLAS has changed the matrix already where it fails.
Status strsm(Handle h, int side, int triangle, int of_a, int diagonal, int rows, int columns, const float* alpha,
             const float* a, int pitch_a, float* b, int pitch_b) {
  char* memory = memory_of(h);
  const auto copy = runtime<int (*)(void*, const void*, size_t, int, Stream)>("cudaMemcpyAsync");
  if (memory == nullptr || copy == nullptr) return kNotInitialized;
  static const bool said = (say("cublasStrsm", "cublasStrsmBatched"), true);
  static_cast<void>(said);
  Stream stream = nullptr;
  {
    const std::lock_guard lock(mutex);
    stream = handles()[h].stream;
  }
  const void* const pointers[] = {a, b};
  constexpr int kToDevice = 1;  // cudaMemcpyHostToDevice
  if (copy(memory + kPointers, pointers, sizeof pointers, kToDevice, stream) != 0) return kNotInitialized;
  auto* const of_matrices = reinterpret_cast<float**>(memory + kPointers);
  return cublas.cublasStrsmBatched(h, side, triangle, of_a, diagonal, rows, columns, alpha, of_matrices, pitch_a,
                                   of_matrices + 1, pitch_b, 1);
}

template <typename Function>
uint64_t address_of(Function* function) {
  return reinterpret_cast<uint64_t>(function);
}

}  // namespace

bool is_cublas(std::string_view path) { return path.substr(path.rfind('/') + 1).starts_with("libcublas.so"); }

void know_cublas(const link_map& object, const elf::File& file) {
  const Elf64_Shdr* table = file.find(".dynsym");
  if (table == nullptr || cublas.cublasCreate_v2 != nullptr) return;
  OfCublas found{};
  file.symbols(*table, [&](const elf::Symbol& symbol) {
    if (symbol.entry.st_shndx == SHN_UNDEF) return;
    const uint64_t at = object.l_addr + symbol.entry.st_value;
#define COALESCE_FIND(which) \
  if (symbol.name == #which) found.which = reinterpret_cast<decltype(found.which)>(at);
    COALESCE_OF_CUBLAS(COALESCE_FIND)
#undef COALESCE_FIND
  });
#define COALESCE_MISSING(which) \
  if (found.which == nullptr) return;  // a version that we do not know runs as it is
  COALESCE_OF_CUBLAS(COALESCE_MISSING)
#undef COALESCE_MISSING
  cublas = found;
}

uint64_t cublas_instead(std::string_view name) {
  if (cublas.cublasCreate_v2 == nullptr) return 0;
  const std::pair<std::string_view, uint64_t> wrappers[] = {
      {"cublasCreate_v2", address_of(&create)},        {"cublasDestroy_v2", address_of(&destroy)},
      {"cublasSetStream_v2", address_of(&set_stream)}, {"cublasSgemm_v2", address_of(&sgemm)},
      {"cublasSgemv_v2", address_of(&sgemv)},          {"cublasStrsm_v2", address_of(&strsm)}};
  for (const auto& [wrapped, at] : wrappers)
    if (wrapped == name) return at;
  return 0;
}

}  // namespace coalesce::redirect
