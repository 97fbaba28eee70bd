// Mistakes of the host that forums and courses know, as they are asked about.
#include <vector>

#include "host_cases.h"

#define STORES(name)                                     \
  __global__ void name(int* p) {                         \
    const int i = blockIdx.x * blockDim.x + threadIdx.x; \
    if (i < kInts) p[i] = i;                             \
  }
#define RUN(name, stream) name<<<8, 128, 0, stream>>>

static int* pinned_ints() {
  int* p = nullptr;
  cudaMallocHost(&p, kBytes);
  std::memset(p, 0, kBytes);
  return p;
}

// ---- pointers that mean nothing to the device

struct Table {
  int n;
  int* values;
};
__global__ void reads_a_table(Table t, int* to) {
  if (threadIdx.x < t.n) to[threadIdx.x] = t.values[threadIdx.x];  // HERE: illegal_address
}
template <bool Right>
void host_pointer_in_a_structure() {
  const Memory to(device_ints()), values(device_ints());
  std::vector<int> host(kInts);
  reads_a_table<<<1, 32>>>({32, Right ? values.p : host.data()}, to);
}
__global__ void adds_to(int* sum) {
  atomicAdd(sum, 1);  // HERE: illegal_address
}
template <bool Right>
void address_of_a_host_variable() {
  const Memory p(device_ints());
  int sum = 0;
  adds_to<<<1, 32>>>(Right ? p.p : &sum);
}
__global__ void uses_freed_memory(int* p) {
  p[threadIdx.x] = 1;  // HERE: illegal_address
}
template <bool Right>
void launched_behind_the_free() {
  int* p = device_ints();
  if (!Right) cudaFree(p);
  uses_freed_memory<<<1, 32>>>(p);
  cudaDeviceSynchronize();
  if (Right) cudaFree(p);
}
__global__ void uses_memory_of_the_pool(int* p) {
  p[threadIdx.x] = 1;  // HERE: illegal_address
}
template <bool Right>
void launched_behind_the_ordered_free() {
  const Two s;
  int* p = nullptr;
  cudaMallocAsync(&p, kBytes, s.a);
  if (!Right) cudaFreeAsync(p, s.a);
  uses_memory_of_the_pool<<<1, 32, 0, s.a>>>(p);
  if (Right) cudaFreeAsync(p, s.a);
  cudaDeviceSynchronize();
}
__global__ void node_of_a_graph(int* p) {
  p[threadIdx.x] += 1;  // HERE: illegal_address
}
template <bool Right>
void graph_launched_behind_the_free() {
  const Two s;
  int* p = device_ints();
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  cudaStreamBeginCapture(s.a, cudaStreamCaptureModeGlobal);
  node_of_a_graph<<<1, 32, 0, s.a>>>(p);
  cudaStreamEndCapture(s.a, &graph);
  cudaGraphInstantiate(&exec, graph, 0);
  cudaGraphLaunch(exec, s.a);
  cudaStreamSynchronize(s.a);
  if (!Right) cudaFree(p);
  cudaGraphLaunch(exec, s.a);
  cudaStreamSynchronize(s.a);
  if (Right) cudaFree(p);
  cudaGraphExecDestroy(exec);
  cudaGraphDestroy(graph);
}

// ---- what the host takes for a wait

STORES(of_a_non_blocking_stream)
template <bool Right>
void default_stream_is_waited_for() {
  int* p = pinned_ints();
  {
    const Two s(cudaStreamNonBlocking);
    RUN(of_a_non_blocking_stream, s.a)(p);
    cudaStreamSynchronize(Right ? s.a : nullptr);
    (void)PICK(p + 5);  // HERE: race_host
  }
  cudaFreeHost(p);
}
STORES(behind_no_event)
template <bool Right>
void event_never_recorded() {
  int* p = pinned_ints();
  {
    const Two s;
    cudaEvent_t e;
    cudaEventCreate(&e);
    RUN(behind_no_event, s.a)(p);
    if (Right) cudaEventRecord(e, s.a);
    cudaEventSynchronize(e);
    (void)PICK(p + 5);  // HERE: race_host
    cudaEventDestroy(e);
  }
  cudaFreeHost(p);
}
STORES(before_a_stream_that_waits)
template <bool Right>
void stream_waits_and_not_the_host() {
  int* p = pinned_ints();
  {
    const Two s;
    cudaEvent_t e;
    cudaEventCreate(&e);
    RUN(before_a_stream_that_waits, s.a)(p);
    cudaEventRecord(e, s.a);
    cudaStreamWaitEvent(s.b, e, 0);
    if (Right) cudaStreamSynchronize(s.b);
    (void)PICK(p + 5);  // HERE: race_host
    cudaEventDestroy(e);
  }
  cudaFreeHost(p);
}
STORES(result_of_another_stream)
struct Sum {
  const int* of;
  int value;
};
static void CUDART_CB adds_up(void* data) {
  auto* sum = static_cast<Sum*>(data);
  sum->value = PICK(sum->of + 5);  // HERE: race_host
}
template <bool Right>
void function_in_the_wrong_stream() {
  int* p = pinned_ints();
  Sum sum{p, 0};
  {
    const Two s;
    RUN(result_of_another_stream, s.a)(p);
    cudaLaunchHostFunc(Right ? s.a : s.b, adds_up, &sum);
  }
  cudaFreeHost(p);
}

// ---- between streams

__constant__ int factors[32];
__global__ void multiplies(int* p) { p[threadIdx.x] *= factors[threadIdx.x % 32]; }
template <bool Right>
void factors_replaced_while_they_are_read() {
  static const int other[32] = {1, 2, 3};
  const Memory p(device_ints());
  const Two s;
  multiplies<<<1, 32, 0, s.a>>>(p);
  const cudaStream_t stream = Right ? s.a : s.b;
  constexpr size_t kSize = sizeof other;
  cudaMemcpyToSymbolAsync(factors, other, kSize, 0, cudaMemcpyHostToDevice, stream);  // HERE: race_streams
}
__device__ int counter_of_the_device;
__global__ void counts_up() { atomicAdd(&counter_of_the_device, 1); }
template <bool Right>
void counter_cleared_in_another_stream() {
  const Two s;
  void* counter = nullptr;
  cudaGetSymbolAddress(&counter, counter_of_the_device);
  counts_up<<<1, 32, 0, s.a>>>();
  cudaMemsetAsync(counter, 0, sizeof(int), Right ? s.a : s.b);  // HERE: race_streams
}
// One scratch buffer for two streams.
__global__ void sums_by_way_of_scratch(const int* p, int* scratch, int* sum) {
  scratch[threadIdx.x] = p[threadIdx.x];  // HERE: race_streams
  __syncthreads();
  if (threadIdx.x == 0) *sum = scratch[0] + scratch[1];
}
template <bool Right>
void scratch_of_two_streams() {
  const Memory p(device_ints()), scratch(device_ints()), more(device_ints()), sums(device_ints());
  const Two s;
  sums_by_way_of_scratch<<<1, 64, 0, s.a>>>(p, scratch, sums);
  sums_by_way_of_scratch<<<1, 64, 0, s.b>>>(p, Right ? more : scratch, sums + 1);
}
__global__ void pipeline_step(int* p) { p[threadIdx.x] += 1; }
template <bool Right>
void next_piece_comes_too_early() {
  const Memory piece(device_ints());
  int* host = pinned_ints();
  {
    const Two s(cudaStreamNonBlocking);
    for (int k = 0; k < 2; ++k) {
      cudaMemcpyAsync(piece, host, kBytes, cudaMemcpyHostToDevice, Right ? s.b : s.a);  // HERE: race_streams
      if (!Right) {
        cudaEvent_t e;
        cudaEventCreate(&e);
        cudaEventRecord(e, s.a);
        cudaStreamWaitEvent(s.b, e, 0);
        cudaEventDestroy(e);
      }
      pipeline_step<<<1, 64, 0, s.b>>>(piece);
    }
  }
  cudaFreeHost(host);
}

// ---- rows

__global__ void reads_rows(const char* p, size_t distance, int* to) {
  const char* row = p + threadIdx.x * distance;
  to[threadIdx.x] = reinterpret_cast<const int*>(row)[3];  // HERE: uninitialised
}
template <bool Right>
void rows_copied_as_one_piece() {
  const Memory to(device_ints());
  static int host[16 * 100];
  void* p = nullptr;
  size_t distance = 0;
  cudaMallocPitch(&p, &distance, 100 * sizeof(int), 16);
  if (Right)
    cudaMemcpy2D(p, distance, host, 100 * sizeof(int), 100 * sizeof(int), 16, cudaMemcpyHostToDevice);
  else
    cudaMemcpy(p, host, sizeof host, cudaMemcpyHostToDevice);
  reads_rows<<<1, 16>>>(static_cast<const char*>(p), distance, to);
  cudaDeviceSynchronize();
  cudaFree(p);
}

static const HostCase kCases[] = {
    HOST_ENDS(host_pointer_in_a_structure),
    HOST_ENDS(address_of_a_host_variable),
    HOST_ENDS(launched_behind_the_free),
    HOST_ENDS(launched_behind_the_ordered_free),
    HOST_ENDS(graph_launched_behind_the_free),
    HOST_CASE(default_stream_is_waited_for),
    HOST_CASE(event_never_recorded),
    HOST_CASE(stream_waits_and_not_the_host),
    HOST_CASE(function_in_the_wrong_stream),
    HOST_CASE(factors_replaced_while_they_are_read),
    HOST_CASE(counter_cleared_in_another_stream),
    HOST_CASE(scratch_of_two_streams),
    HOST_CASE(next_piece_comes_too_early),
    HOST_CASE(rows_copied_as_one_piece),
};

int main(int argc, char** argv) { return run_host_cases(kCases, argc, argv); }
