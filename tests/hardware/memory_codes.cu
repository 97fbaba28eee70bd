// Prints what the runtime returns for calls about pools, registered memory, arrays and nodes of graphs that are wrong
// in one way each, and what it writes all the same. nvcc -std=c++17 -arch=sm_90 memory_codes.cu && ./a.out:
// tests/truth/memory_codes.txt.
#include <cuda_runtime.h>
#include <sys/mman.h>

#include <cstdio>
#include <cstring>
static void say(const char* call, int code) {
  printf("%s\t%d\n", call, code);
  cudaGetLastError();
}
static void say(const char* call, int code, long long value) {
  printf("%s\t%d\t%lld\n", call, code, value);
  cudaGetLastError();
}
#define T(e) say(#e, e)
// A pointer that the call writes: 0 null, 1 any other, 2 left alone.
#define P(e, p)                                               \
  do {                                                        \
    (p) = (decltype(p))-1;                                    \
    const int code = e;                                       \
    say(#e, code, (long long)(p) == -1 ? 2 : (p) != nullptr); \
  } while (0)
#define N(e, n)                    \
  do {                             \
    (n) = 77;                      \
    const int code = e;            \
    say(#e, code, (long long)(n)); \
  } while (0)
static int pool_of(int type, int location, int id, int handles = 0) {
  cudaMemPoolProps p{};
  p.allocType = (cudaMemAllocationType)type;
  p.location.type = (cudaMemLocationType)location;
  p.location.id = id;
  p.handleTypes = (cudaMemAllocationHandleType)handles;
  cudaMemPool_t pool = nullptr;
  const int code = cudaMemPoolCreate(&pool, &p);
  if (code == 0) cudaMemPoolDestroy(pool);
  return code;
}
static int access(cudaMemPool_t pool, int location, int id, int flags) {
  cudaMemAccessDesc d{};
  d.location.type = (cudaMemLocationType)location;
  d.location.id = id;
  d.flags = (cudaMemAccessFlags)flags;
  return cudaMemPoolSetAccess(pool, &d, 1);
}
static int access_of(cudaMemPool_t pool, int location, int id, int& flags) {
  cudaMemLocation l{};
  l.type = (cudaMemLocationType)location;
  l.id = id;
  cudaMemAccessFlags f = (cudaMemAccessFlags)flags;
  const int code = cudaMemPoolGetAccess(&f, pool, &l);
  flags = f;
  return code;
}
static int array_of(size_t width, size_t height, size_t depth, unsigned flags, cudaArray_t& array) {
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  const int code = cudaMalloc3DArray(&array, &format, make_cudaExtent(width, height, depth), flags);
  if (code == 0) cudaFreeArray(array);
  return code;
}
static cudaGraph_t graph;
static int fill_of(void* to, size_t width, size_t height, size_t pitch = 4096) {
  cudaMemsetParams p{};
  p.dst = to;
  p.elementSize = 4;
  p.width = width;
  p.height = height;
  p.pitch = pitch;
  cudaGraphNode_t node;
  return cudaGraphAddMemsetNode(&node, graph, nullptr, 0, &p);
}
static int copy_of(void* to, const void* from, size_t bytes) {
  cudaGraphNode_t node;
  return cudaGraphAddMemcpyNode1D(&node, graph, nullptr, 0, to, from, bytes, cudaMemcpyHostToDevice);
}
static int record_of(cudaEvent_t event) {
  cudaGraphNode_t node;
  return cudaGraphAddEventRecordNode(&node, graph, nullptr, 0, event);
}
static int wait_for(cudaEvent_t event) {
  cudaGraphNode_t node;
  return cudaGraphAddEventWaitNode(&node, graph, nullptr, 0, event);
}
int main() {
  void *d = nullptr, *p = nullptr, *managed = nullptr, *pinned = nullptr;
  cudaMalloc(&d, 4096);
  cudaMallocManaged(&managed, 4096);
  cudaMallocHost(&pinned, 4096);
  int number = 0;
  unsigned flags = 0;
  unsigned long long bytes = 0;
  // pools
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
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
  // memory of the host
  char* pages = (char*)mmap(nullptr, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  char* fixed = (char*)mmap(nullptr, 1 << 16, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
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
  // arrays
  cudaArray_t array = nullptr;
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
  // nodes
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
