// Order between launches, copies and the host.
#include "host_cases.h"

// A kernel of its own for each case: its line is the finding's.
#define STORES(name)                                     \
  __global__ void name(int* p) {                         \
    const int i = blockIdx.x * blockDim.x + threadIdx.x; \
    if (i < kInts) p[i] = i;                             \
  }
#define ADDS(name)                                       \
  __global__ void name(const int* p, int* to) {          \
    const int i = blockIdx.x * blockDim.x + threadIdx.x; \
    if (i < kInts) to[i] += p[i];                        \
  }
STORES(first)
#define RUN(name, stream) name<<<8, 128, 0, stream>>>

inline int* pinned() {
  int* p = nullptr;
  cudaMallocHost(&p, kBytes);
  std::memset(p, 0, kBytes);
  return p;
}
inline int* managed(size_t bytes = kBytes) {
  int* p = nullptr;
  cudaMallocManaged(&p, bytes);
  std::memset(p, 0, bytes);
  return p;
}

// ---- two streams

STORES(second_store)  // HERE: race_streams
template <bool Right>
void both_write() {
  const Memory p(device_ints());
  const Two s;
  RUN(first, s.a)(p);
  if (Right) s.b_after_a();
  RUN(second_store, s.b)(p);
}
ADDS(reads_too_early)  // HERE: race_streams
template <bool Right>
void one_writes_one_reads() {
  const Memory p(device_ints()), q(device_ints());
  const Two s;
  RUN(first, s.a)(p);
  if (Right) s.b_after_a();
  RUN(reads_too_early, s.b)(p, q);
}
ADDS(both_read_a)
ADDS(both_read_b)
template <bool Right>
void both_read() {
  const Memory p(device_ints()), q(device_ints()), r(device_ints());
  const Two s;
  RUN(both_read_a, s.a)(p, q);
  RUN(both_read_b, s.b)(p, r);
}
__global__ void count(int* p) { atomicAdd(p, 1); }
template <bool Right>
void both_count() {
  const Memory p(device_ints());
  const Two s;
  RUN(count, s.a)(p);
  RUN(count, s.b)(p);
}
template <bool Right>
void halves_of_one_allocation() {
  const Memory p(device_ints());
  const Two s;
  cudaMemsetAsync(p, 1, kBytes / 2, s.a);
  cudaMemsetAsync(p + kInts / 2 - (Right ? 0 : 1), 2, kBytes / 2, s.b);  // HERE: race_streams
}
STORES(after_wrong_event)  // HERE: race_streams
template <bool Right>
void event_recorded_too_early() {
  const Memory p(device_ints());
  const Two s;
  cudaEvent_t e;
  cudaEventCreate(&e);
  if (!Right) cudaEventRecord(e, s.a);
  RUN(first, s.a)(p);
  if (Right) cudaEventRecord(e, s.a);
  cudaStreamWaitEvent(s.b, e, 0);
  RUN(after_wrong_event, s.b)(p);
  cudaEventDestroy(e);
}
STORES(by_way_of_a_third)
template <bool Right>
void order_through_a_third_stream() {
  const Memory p(device_ints());
  const Two s, t;
  RUN(first, s.a)(p);
  s.b_after_a();
  cudaEvent_t e;
  cudaEventCreate(&e);
  cudaEventRecord(e, s.b);
  cudaStreamWaitEvent(t.a, e, 0);
  RUN(by_way_of_a_third, t.a)(p);
  cudaEventDestroy(e);
}
STORES(host_waited)
template <bool Right>
void host_waits_between() {
  const Memory p(device_ints());
  const Two s;
  RUN(first, s.a)(p);
  cudaStreamSynchronize(s.a);
  RUN(host_waited, s.b)(p);
}
STORES(host_waited_for_another)  // HERE: race_streams
template <bool Right>
void host_waits_for_the_wrong_stream() {
  const Memory p(device_ints());
  const Two s, t;
  RUN(first, s.a)(p);
  cudaStreamSynchronize(Right ? s.a : t.a);
  RUN(host_waited_for_another, s.b)(p);
}

// ---- the default streams

template <bool Right>
void default_stream_and_a_non_blocking_one() {
  const Memory p(device_ints());
  const Two s(Right ? cudaStreamDefault : cudaStreamNonBlocking);
  RUN(first, nullptr)(p);
  cudaMemsetAsync(p, 0, kBytes, s.a);  // HERE: race_streams
}
template <bool Right>
void fill_by_default_used_elsewhere() {
  const Memory p(device_ints());
  const Two s(cudaStreamNonBlocking);
  cudaMemset(p, 0, kBytes);
  if (Right) cudaDeviceSynchronize();
  cudaMemcpyAsync(p, p + kInts / 2, kBytes / 2, cudaMemcpyDeviceToDevice, s.a);  // HERE: race_streams
}
template <bool Right>
void default_waits_for_blocking_streams() {
  const Memory p(device_ints()), q(device_ints());
  const Two s;
  RUN(first, s.a)(p);
  cudaMemcpyAsync(q, p, kBytes, cudaMemcpyDeviceToDevice, nullptr);
  RUN(first, s.b)(q);
}
template <bool Right>
void per_thread_default_stream() {
  const Memory p(device_ints());
  const Two s;
  RUN(first, cudaStreamPerThread)(p);
  cudaMemsetAsync(p, 0, kBytes, Right ? cudaStreamPerThread : s.a);  // HERE: race_streams
}

// ---- stream-ordered memory

template <bool Right>
void allocated_in_another_stream() {
  const Two s;
  int* p = nullptr;
  cudaMallocAsync(&p, kBytes, s.a);
  if (Right) s.b_after_a();
  cudaMemsetAsync(p, 0, kBytes, s.b);  // HERE: race_streams
  cudaDeviceSynchronize();
  cudaFreeAsync(p, s.a);
}
template <bool Right>
void freed_in_another_stream() {
  const Two s;
  int* p = nullptr;
  cudaMallocAsync(&p, kBytes, s.a);
  RUN(first, s.a)(p);
  if (Right) s.b_after_a();
  cudaFreeAsync(p, s.b);  // HERE: race_streams
}

// ---- graphs

template <bool Right>
void branches_of_a_graph() {
  const Memory p(device_ints());
  const Two s;
  cudaEvent_t fork, join;
  cudaEventCreate(&fork);
  cudaEventCreate(&join);
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  cudaStreamBeginCapture(s.a, cudaStreamCaptureModeGlobal);
  cudaEventRecord(fork, s.a);
  cudaStreamWaitEvent(s.b, fork, 0);
  cudaMemsetAsync(p, 1, kBytes / 2, s.a);
  cudaMemsetAsync(p + (Right ? 500 : 499), 2, kBytes / 2, s.b);
  cudaEventRecord(join, s.b);
  cudaStreamWaitEvent(s.a, join, 0);
  cudaStreamEndCapture(s.a, &graph);
  cudaGraphInstantiate(&exec, graph, 0);
  cudaGraphLaunch(exec, s.a);  // HERE: race_streams
  cudaStreamSynchronize(s.a);
  cudaGraphExecDestroy(exec);
  cudaGraphDestroy(graph);
}
template <bool Right>
void graph_joined_again() {
  const Memory p(device_ints()), q(device_ints());
  const Two s;
  cudaEvent_t fork, join;
  cudaEventCreate(&fork);
  cudaEventCreate(&join);
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  cudaStreamBeginCapture(s.a, cudaStreamCaptureModeGlobal);
  RUN(first, s.a)(p);
  cudaEventRecord(fork, s.a);
  cudaStreamWaitEvent(s.b, fork, 0);
  cudaMemcpyAsync(q, p, kBytes, cudaMemcpyDeviceToDevice, s.b);
  cudaEventRecord(join, s.b);
  cudaStreamWaitEvent(s.a, join, 0);
  RUN(first, s.a)(q);
  cudaStreamEndCapture(s.a, &graph);
  cudaGraphInstantiate(&exec, graph, 0);
  cudaGraphLaunch(exec, s.a);
  cudaGraphLaunch(exec, s.a);
  cudaMemsetAsync(q, 0, kBytes, s.a);
  cudaStreamSynchronize(s.a);
  cudaGraphExecDestroy(exec);
  cudaGraphDestroy(graph);
}
template <bool Right>
void graph_and_a_stream() {
  const Memory p(device_ints());
  const Two s;
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  cudaStreamBeginCapture(s.a, cudaStreamCaptureModeGlobal);
  RUN(first, s.a)(p);
  cudaStreamEndCapture(s.a, &graph);
  cudaGraphInstantiate(&exec, graph, 0);
  cudaGraphLaunch(exec, s.a);
  if (Right) s.b_after_a();
  cudaMemsetAsync(p, 0, kBytes, s.b);  // HERE: race_streams
  cudaDeviceSynchronize();
  cudaGraphExecDestroy(exec);
  cudaGraphDestroy(graph);
}

// ---- the host

template <bool Right>
void managed_read_too_early() {
  const Memory p(managed());
  RUN(first, nullptr)(p);
  if (Right) cudaDeviceSynchronize();
  if (PICK(p + 3) == -1) std::puts("?");  // HERE: race_host
}
template <bool Right>
void managed_written_too_early() {
  const Memory p(managed()), q(device_ints());
  RUN(both_read_a, nullptr)(p, q);
  if (Right) cudaDeviceSynchronize();
  p[kInts - 1] = 7;  // HERE: race_host
}
template <bool Right>
void managed_read_while_read() {
  const Memory p(managed()), q(device_ints());
  RUN(both_read_a, nullptr)(p, q);
  if (PICK(p + 3) == -1) std::puts("?");
}
__global__ void sets_one(int* p) { p[threadIdx.x] = 1; }
// The other elements of the page are the host's.
template <bool Right>
void one_element_of_a_page() {
  const Memory p(managed(8));
  sets_one<<<1, 1>>>(p);
  p[1] = 2;
  if (PICK(p + 1) != 2) std::puts("?");
  if (Right) cudaDeviceSynchronize();
  if (PICK(p) == -1) std::puts("?");  // HERE: race_host
}
template <bool Right>
void pinned_read_too_early() {
  const Memory p(device_ints());
  int* h = pinned();
  const Two s;
  cudaMemcpyAsync(h, p, kBytes, cudaMemcpyDeviceToHost, s.a);
  cudaLaunchHostFunc(s.b, [](void*) {}, nullptr);  // knows nothing of the copy
  if (Right) cudaStreamSynchronize(s.a);
  if (PICK(h) == -1) std::puts("?");  // HERE: race_host
  cudaFreeHost(h);
}
template <bool Right>
void source_overwritten() {
  const Memory p(device_ints());
  int* h = pinned();
  const Two s;
  cudaMemcpyAsync(p, h, kBytes, cudaMemcpyHostToDevice, s.a);
  if (Right) cudaStreamSynchronize(s.a);
  h[5] = 1;  // HERE: race_host
  cudaFreeHost(h);
}
template <bool Right>
void event_waited_for() {
  const Memory p(device_ints());
  int* h = pinned();
  const Two s;
  cudaEvent_t e;
  cudaEventCreate(&e);
  cudaMemcpyAsync(h, p, kBytes, cudaMemcpyDeviceToHost, s.a);
  cudaEventRecord(e, s.a);
  RUN(first, s.a)(p);
  cudaEventSynchronize(e);
  if (PICK(h) == -1) std::puts("?");
  cudaEventDestroy(e);
  cudaFreeHost(h);
}
template <bool Right>
void copy_waits_for_the_host() {
  const Memory p(device_ints()), m(managed());
  int h[kInts];
  RUN(first, nullptr)(m);
  cudaMemcpy(h, p, kBytes, cudaMemcpyDeviceToHost);  // the default stream has ended, too
  if (PICK(m) == -1) std::puts("?");
}
template <bool Right>
void pageable_source_reused() {
  const Memory p(device_ints());
  const Two s;
  int h[kInts] = {};
  cudaMemcpyAsync(p, h, kBytes, cudaMemcpyHostToDevice, s.a);
  h[0] = 1;
}
template <bool Right>
void host_function_of_the_stream() {
  const Memory m(managed());
  const Two s;
  static std::atomic<bool> looked;  // tells that the stream has come to the function
  RUN(first, s.a)(m);
  cudaLaunchHostFunc(s.a, [](void* data) { PICK(static_cast<int*>(data)), looked = true; }, m.p);
  while (!looked || PICK(m) == -1) {}
}
// Atomics of system scope are made to meet the host's.
__global__ void adds_with_the_host(int* count) { atomicAdd_system(count, 1); }
template <bool Right>
void host_counts_along() {
  const Memory m(managed());
  int* count = m;
  adds_with_the_host<<<4, 64>>>(count);
  __sync_fetch_and_add(count, 1);
  cudaDeviceSynchronize();
}
__global__ void tells(int* data, volatile int* flag) {
  data[threadIdx.x] = 1;
  __threadfence_system();
  __syncthreads();
  if (threadIdx.x == 0) *flag = 1;
}
template <bool Right>
void kernel_tells_the_host() {
  const Memory m(managed());
  int* flag = pinned();
  tells<<<1, 64>>>(m, flag);
  while (PICK(flag) == 0) {}
  if (PICK(m) == -1) std::puts("?");
  cudaDeviceSynchronize();
  cudaFreeHost(flag);
}

int main(int argc, char** argv) {
  static const HostCase cases[] = {HOST_CASE(both_write),
                                   HOST_CASE(one_writes_one_reads),
                                   HOST_RIGHT(both_read),
                                   HOST_RIGHT(both_count),
                                   HOST_CASE(halves_of_one_allocation),
                                   HOST_CASE(event_recorded_too_early),
                                   HOST_RIGHT(order_through_a_third_stream),
                                   HOST_RIGHT(host_waits_between),
                                   HOST_CASE(host_waits_for_the_wrong_stream),
                                   HOST_CASE(default_stream_and_a_non_blocking_one),
                                   HOST_CASE(fill_by_default_used_elsewhere),
                                   HOST_RIGHT(default_waits_for_blocking_streams),
                                   HOST_CASE(per_thread_default_stream),
                                   HOST_CASE(allocated_in_another_stream),
                                   HOST_CASE(freed_in_another_stream),
                                   HOST_CASE(branches_of_a_graph),
                                   HOST_RIGHT(graph_joined_again),
                                   HOST_CASE(graph_and_a_stream),
                                   HOST_CASE(managed_read_too_early),
                                   HOST_CASE(managed_written_too_early),
                                   HOST_RIGHT(host_counts_along),
                                   HOST_RIGHT(managed_read_while_read),
                                   HOST_CASE(one_element_of_a_page),
                                   HOST_CASE(pinned_read_too_early),
                                   HOST_CASE(source_overwritten),
                                   HOST_RIGHT(event_waited_for),
                                   HOST_RIGHT(copy_waits_for_the_host),
                                   HOST_RIGHT(pageable_source_reused),
                                   HOST_RIGHT(host_function_of_the_stream),
                                   HOST_RIGHT(kernel_tells_the_host)};
  return run_host_cases(cases, argc, argv);
}
