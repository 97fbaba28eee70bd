// Pools, registered memory, arrays and nodes of graphs that are wrong in one way each, and what is written all the
// same, held against an H100: tests/truth/memory_codes.txt. Names are those of tests/hardware/memory_codes.cu.
#include <sys/mman.h>

#include <fstream>
#include <map>
#include <string>

#include "cudart/api/array.h"
#include "graph.h"

extern "C" {
coalesce::cudart::cudaError_t cudaDeviceGetDefaultMemPool(coalesce::cudart::cudaMemPool_t*, int);
coalesce::cudart::cudaError_t cudaDeviceGetMemPool(coalesce::cudart::cudaMemPool_t*, int);
coalesce::cudart::cudaError_t cudaDeviceGetLimit(size_t*, int);
coalesce::cudart::cudaError_t cudaDeviceSetLimit(int, size_t);
coalesce::cudart::cudaError_t cudaDeviceSetMemPool(int, coalesce::cudart::cudaMemPool_t);
coalesce::cudart::cudaError_t cudaFreeArray(coalesce::cudart::cudaArray*);
coalesce::cudart::cudaError_t cudaHostAlloc(void**, size_t, unsigned);
coalesce::cudart::cudaError_t cudaHostGetDevicePointer(void**, void*, unsigned);
coalesce::cudart::cudaError_t cudaHostGetFlags(unsigned*, void*);
coalesce::cudart::cudaError_t cudaMalloc3DArray(coalesce::cudart::cudaArray**,
                                                const coalesce::cudart::cudaChannelFormatDesc*,
                                                coalesce::cudart::cudaExtent, unsigned);
coalesce::cudart::cudaError_t cudaMallocFromPoolAsync(void**, size_t, coalesce::cudart::cudaMemPool_t,
                                                      coalesce::cudart::cudaStream_t);
coalesce::cudart::cudaError_t cudaMemPoolCreate(coalesce::cudart::cudaMemPool_t*,
                                                const coalesce::cudart::cudaMemPoolProps*);
coalesce::cudart::cudaError_t cudaMemPoolDestroy(coalesce::cudart::cudaMemPool_t);
coalesce::cudart::cudaError_t cudaMemPoolGetAccess(int*, coalesce::cudart::cudaMemPool_t,
                                                   coalesce::cudart::cudaMemLocation*);
coalesce::cudart::cudaError_t cudaMemPoolGetAttribute(coalesce::cudart::cudaMemPool_t,
                                                      coalesce::cudart::cudaMemPoolAttr, void*);
coalesce::cudart::cudaError_t cudaMemPoolSetAccess(coalesce::cudart::cudaMemPool_t,
                                                   const coalesce::cudart::cudaMemAccessDesc*, size_t);
coalesce::cudart::cudaError_t cudaMemPoolSetAttribute(coalesce::cudart::cudaMemPool_t,
                                                      coalesce::cudart::cudaMemPoolAttr, void*);
coalesce::cudart::cudaError_t cudaStreamAttachMemAsync(coalesce::cudart::cudaStream_t, void*, size_t, unsigned);
}

namespace coalesce::cudart {

extern "C" {
cudaError_t cudaGraphAddEventRecordNode(cudaGraphNode_t*, cudaGraph_t, const cudaGraphNode_t*, size_t, cudaEvent_t);
cudaError_t cudaGraphAddEventWaitNode(cudaGraphNode_t*, cudaGraph_t, const cudaGraphNode_t*, size_t, cudaEvent_t);
}

namespace {

constexpr unsigned cudaHostRegisterIoMemory = 4, cudaHostRegisterReadOnly = 8;

class MemoryCodes : public ::testing::Test {
 protected:
  void SetUp() override {
    std::ifstream file(COALESCE_SOURCE_DIR "/tests/truth/memory_codes.txt");
    for (std::string line; std::getline(file, line);)
      if (const auto tab = line.find('\t'); !line.starts_with('#') && tab != std::string::npos)
        truth_[line.substr(0, tab)] = line.substr(tab + 1);
    ASSERT_GT(truth_.size(), 60u);
    ASSERT_EQ(cudaMalloc(&d, 4096), cudaSuccess);
    ASSERT_EQ(cudaMallocManaged(&managed, 4096, 1), cudaSuccess);
    ASSERT_EQ(cudaMallocHost(&pinned, 4096), cudaSuccess);
  }
  void TearDown() override {
    cudaDeviceReset();
    cudaGetLastError();
  }
  void expect(const std::string& call, int code) { held(call, std::to_string(code)); }
  void expect(const std::string& call, int code, long long value) {
    held(call, std::to_string(code) + '\t' + std::to_string(value));
  }
  void held(const std::string& call, const std::string& found) {
    cudaGetLastError();
    ASSERT_TRUE(truth_.contains(call)) << call;
    EXPECT_EQ(found, truth_[call]) << call;
  }

  static int pool_of(int type, int location, int id, int handles = 0) {
    cudaMemPoolProps properties{};
    properties.allocType = type;
    properties.location = {location, id};
    properties.handleTypes = handles;
    cudaMemPool_t made = nullptr;
    const int code = cudaMemPoolCreate(&made, &properties);
    if (code == 0) cudaMemPoolDestroy(made);
    return code;
  }
  static int access(cudaMemPool_t pool, int location, int id, int flags) {
    const cudaMemAccessDesc one{{location, id}, flags};
    return cudaMemPoolSetAccess(pool, &one, 1);
  }
  static int access_of(cudaMemPool_t pool, int location, int id, int& flags) {
    cudaMemLocation l{location, id};
    return cudaMemPoolGetAccess(&flags, pool, &l);
  }
  static int array_of(size_t width, size_t height, size_t depth, unsigned flags, cudaArray*& array) {
    const cudaChannelFormatDesc format{32, 0, 0, 0, cudaChannelFormatKindFloat};
    const int code = cudaMalloc3DArray(&array, &format, {width, height, depth}, flags);
    if (code == 0) cudaFreeArray(array);
    return code;
  }
  int fill_of(void* to, size_t width, size_t height, size_t pitch = 4096) {
    const cudaMemsetParams fill{to, pitch, 0, 4, width, height};
    cudaGraphNode_t node = nullptr;
    return cudaGraphAddMemsetNode(&node, graph, nullptr, 0, &fill);
  }
  int copy_of(void* to, const void* from, size_t bytes) {
    cudaGraphNode_t node = nullptr;
    return cudaGraphAddMemcpyNode1D(&node, graph, nullptr, 0, to, from, bytes, cudaMemcpyHostToDevice);
  }
  int record_of(cudaEvent_t event) {
    cudaGraphNode_t node = nullptr;
    return cudaGraphAddEventRecordNode(&node, graph, nullptr, 0, event);
  }
  int wait_for(cudaEvent_t event) {
    cudaGraphNode_t node = nullptr;
    return cudaGraphAddEventWaitNode(&node, graph, nullptr, 0, event);
  }

  std::map<std::string, std::string> truth_;
  void *d = nullptr, *p = nullptr, *managed = nullptr, *pinned = nullptr;
  cudaGraph_t graph = nullptr;
};

#define T(e) expect(#e, e)
// A pointer that the call writes: 0 null, 1 any other, 2 left alone.
#define P(e, p)                                                                      \
  do {                                                                               \
    (p) = reinterpret_cast<decltype(p)>(-1);                                         \
    const int code = e;                                                              \
    expect(#e, code, (p) == reinterpret_cast<decltype(p)>(-1) ? 2 : (p) != nullptr); \
  } while (0)
#define N(e, n)                                  \
  do {                                           \
    (n) = 77;                                    \
    const int code = e;                          \
    expect(#e, code, static_cast<long long>(n)); \
  } while (0)

TEST_F(MemoryCodes, OfPools) {
  int number = 0;
  unsigned long long bytes = 0;
  cudaMemPoolProps properties{};
  properties.allocType = 1;
  properties.location = {1, 0};
  cudaMemPool_t pool = nullptr, small = nullptr, out = nullptr;
  cudaMemPoolCreate(&pool, &properties);
  properties.maxSize = 1 << 20;
  cudaMemPoolCreate(&small, &properties);
  T(pool_of(1, 1, 0));
  T(pool_of(0, 1, 0));
  T(pool_of(7, 1, 0));
  T(pool_of(1, 0, 0));
  T(pool_of(1, 1, 9));
  T(pool_of(1, 1, -1));
  T(pool_of(1, 1, 0, 1));
  T(pool_of(1, 1, 0, 16));
  P(cudaDeviceGetMemPool(&out, -1), out);
  P(cudaDeviceGetDefaultMemPool(&out, 9), out);
  T(cudaDeviceSetMemPool(9, pool));
  T(access(pool, 1, 0, 3));
  T(access(pool, 1, 0, 1));
  T(access(pool, 1, 0, 0));
  T(access(pool, 1, 0, 2));
  T(access(pool, 1, 9, 3));
  T(access(pool, 2, 0, 3));
  N(access_of(pool, 1, 0, number), number);
  N(access_of(pool, 2, 0, number), number);
  P(cudaMallocFromPoolAsync(&p, 16, nullptr, nullptr), p);
  T(cudaMallocFromPoolAsync(&p, 64 << 20, small, nullptr));
  number = 2;
  T(cudaMemPoolSetAttribute(pool, cudaMemPoolReuseAllowOpportunistic, &number));
  N(cudaMemPoolGetAttribute(pool, cudaMemPoolReuseAllowOpportunistic, &number), number);
  cudaMallocFromPoolAsync(&p, 1000, pool, nullptr);
  cudaStreamSynchronize(nullptr);
  N(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &bytes), bytes);
  N(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &bytes), bytes);
}

TEST_F(MemoryCodes, OfTheHost) {
  unsigned flags = 0;
  char* pages = static_cast<char*>(mmap(nullptr, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  char* fixed = static_cast<char*>(mmap(nullptr, 1 << 16, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  T(cudaHostRegister(d, 4096, 0));
  T(cudaHostRegister(pinned, 4096, 0));
  T(cudaHostRegister(fixed, 4096, 0));
  T(cudaHostRegister(fixed, 4096, cudaHostRegisterReadOnly));
  T(cudaHostUnregister(fixed));
  T(cudaHostRegister(pages, 4096, cudaHostRegisterIoMemory));
  T(cudaHostRegister(pages, size_t(1) << 40, 0));
  T(cudaHostRegister(pages, 8192, 0));
  T(cudaHostRegister(pages, 4096, 0));
  T(cudaHostRegister(pages + 4096, 8192, 0));
  N(cudaHostGetFlags(&flags, pages), flags);
  P(cudaHostGetDevicePointer(&p, pages, 1), p);
  P(cudaHostGetDevicePointer(&p, pages + 16384, 0), p);
  T(cudaHostUnregister(pages + 100));
  T(cudaHostUnregister(pages));
  T(cudaHostUnregister(pages + 0));
  T(cudaHostUnregister(d));
  T(cudaHostUnregister(pinned));
  T(cudaHostUnregister(nullptr));
  P(cudaHostAlloc(&p, 4096, 8), p);
  P(cudaMallocManaged(&p, 16, 3), p);
  cudaStream_t s = nullptr;
  cudaStreamCreate(&s);
  T(cudaStreamAttachMemAsync(s, managed, 0, 4));
  T(cudaStreamAttachMemAsync(s, managed, 100, 4));
  T(cudaStreamAttachMemAsync(nullptr, managed, 0, 4));
  T(cudaStreamAttachMemAsync(s, managed, 0, 9));
  T(cudaStreamAttachMemAsync(s, (char*)managed + 4, 0, 4));
}

TEST_F(MemoryCodes, OfArrays) {
  cudaArray* array = nullptr;
  const unsigned layered = cudaArrayLayered, cubemap = cudaArrayCubemap, gather = cudaArrayTextureGather;
  T(array_of(8, 8, 8, 0, array));
  T(array_of(8, 0, 8, 0, array));
  T(array_of(8, 8, 16385, 0, array));
  T(array_of(8, 8, 0, layered, array));
  T(array_of(8, 0, 4, layered, array));
  T(array_of(8, 8, 6, cubemap, array));
  T(array_of(8, 8, 0, gather, array));
  T(array_of(8, 8, 8, gather, array));
  T(array_of(8, 8, 4, gather | layered, array));
}

TEST_F(MemoryCodes, OfNodes) {
  char pages[8192] = {};
  cudaGraphCreate(&graph, 0);
  T(fill_of(d, 16, 1));
  T(fill_of(d, 16, 0));
  T(fill_of(d, 0, 1));
  T(fill_of(d, 1025, 1));
  T(fill_of(d, 16, 2, 8));
  T(fill_of(pages, 16, 1));
  T(fill_of(nullptr, 16, 1));
  T(copy_of(d, pages, 8192));
  T(copy_of(d, pages, 0));
  T(copy_of(nullptr, pages, 4));
  T(record_of(nullptr));
  T(wait_for(nullptr));
}

// Sizes that an H100 makes of those it is given.
TEST_F(MemoryCodes, OfLimits) {
  constexpr int stack = 0, printf_buffer = 1, heap = 2, depth = 3, fetch = 5;
  const auto made = [](int limit, size_t asked) {
    size_t value = 0;
    EXPECT_EQ(cudaDeviceSetLimit(limit, asked), cudaSuccess);
    EXPECT_EQ(cudaDeviceGetLimit(&value, limit), cudaSuccess);
    return value;
  };
  EXPECT_EQ(made(stack, 1001), 1008u);
  EXPECT_EQ(made(printf_buffer, 1), 512u << 10);
  EXPECT_EQ(made(heap, 1), 4u << 20);
  EXPECT_EQ(made(fetch, 33), 33u);
  EXPECT_EQ(cudaDeviceSetLimit(fetch, 129), cudaErrorInvalidValue);
  size_t value = 0;
  EXPECT_EQ(cudaDeviceGetLimit(&value, depth), cudaErrorUnsupportedLimit);
}

}  // namespace
}  // namespace coalesce::cudart
