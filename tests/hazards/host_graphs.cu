// Events recorded again, priorities, graphs made node by node, managed memory that is fetched ahead.
#include "host_cases.h"

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
#define RUN(name, stream) name<<<8, 128, 0, stream>>>
STORES(first)

inline int* managed() {
  int* p = nullptr;
  cudaMallocManaged(&p, kBytes);
  std::memset(p, 0, kBytes);
  return p;
}
struct Event {
  cudaEvent_t e;
  Event() { cudaEventCreateWithFlags(&e, cudaEventDisableTiming); }
  ~Event() { cudaEventDestroy(e); }
  operator cudaEvent_t() const { return e; }
};

// ---- events and priorities

STORES(behind_the_second_record)  // HERE: race_streams
template <bool Right>
void event_recorded_again_elsewhere() {
  const Memory p(device_ints());
  const Two s, t;
  const Event e, other;
  RUN(first, s.a)(p);
  cudaEventRecord(e, s.a);
  cudaEventRecord(Right ? other : e, s.b);
  cudaStreamWaitEvent(t.a, e, 0);
  RUN(behind_the_second_record, t.a)(p);
}
STORES(behind_the_first_record)  // HERE: race_streams
template <bool Right>
void waits_before_the_event_is_recorded_again() {
  const Memory p(device_ints());
  const Two s;
  const Event e;
  cudaEventRecord(e, s.a);
  if (!Right) cudaStreamWaitEvent(s.b, e, 0);
  RUN(first, s.a)(p);
  cudaEventRecord(e, s.a);
  if (Right) cudaStreamWaitEvent(s.b, e, 0);
  RUN(behind_the_first_record, s.b)(p);
}
STORES(of_low_priority)  // HERE: race_streams
template <bool Right>
void the_more_urgent_stream_is_taken_to_be_first() {
  const Memory p(device_ints());
  int least = 0, most = 0;
  cudaDeviceGetStreamPriorityRange(&least, &most);
  cudaStream_t urgent, idle;
  cudaStreamCreateWithPriority(&urgent, cudaStreamNonBlocking, most);
  cudaStreamCreateWithPriority(&idle, cudaStreamNonBlocking, least);
  RUN(first, urgent)(p);
  if (Right) {
    const Event e;
    cudaEventRecord(e, urgent);
    cudaStreamWaitEvent(idle, e, 0);
  }
  RUN(of_low_priority, idle)(p);
  cudaDeviceSynchronize();
  cudaStreamDestroy(urgent);
  cudaStreamDestroy(idle);
}
template <bool Right>
void event_of_an_earlier_round_is_waited_for() {
  const Memory p(device_ints());
  int* h = nullptr;
  cudaMallocHost(&h, kBytes);
  const Two s;
  const Event e[2];
  for (int round = 0; round < 2; ++round) {
    cudaMemcpyAsync(h, p, kBytes, cudaMemcpyDeviceToHost, s.a);
    cudaEventRecord(e[round], s.a);
  }
  cudaEventSynchronize(e[Right ? 1 : 0]);
  if (PICK(h) == -1) std::puts("?");  // HERE: race_host
  cudaDeviceSynchronize();
  cudaFreeHost(h);
}

// ---- graphs made node by node

struct Graph {
  cudaGraph_t graph;
  cudaGraphExec_t exec = nullptr;
  Graph() { cudaGraphCreate(&graph, 0); }
  ~Graph() {
    cudaDeviceSynchronize();
    if (exec) cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
  }
  cudaGraphNode_t kernel(void (*f)(int*), int* p, const cudaGraphNode_t* after = nullptr, size_t n = 0) const {
    cudaKernelNodeParams k{};
    void* words[] = {&p};
    k.func = reinterpret_cast<void*>(f);
    k.gridDim = dim3(8);
    k.blockDim = dim3(128);
    k.kernelParams = words;
    cudaGraphNode_t node;
    cudaGraphAddKernelNode(&node, graph, after, n, &k);
    return node;
  }
  cudaGraphNode_t fill(int* p, const cudaGraphNode_t* after = nullptr, size_t n = 0) const {
    cudaMemsetParams m{};
    m.dst = p;
    m.elementSize = 4;
    m.width = kInts;
    m.height = 1;
    cudaGraphNode_t node;
    cudaGraphAddMemsetNode(&node, graph, after, n, &m);
    return node;
  }
  void captured(cudaStream_t s) {
    cudaGraphDestroy(graph);
    cudaStreamEndCapture(s, &graph);
  }
  cudaGraphExec_t ready() {
    if (!exec) cudaGraphInstantiate(&exec, graph, 0);
    return exec;
  }
};
STORES(beside_a_fill)  // HERE: race_streams
template <bool Right>
void nodes_without_an_edge() {
  const Memory p(device_ints());
  const Two s;
  Graph g;
  const cudaGraphNode_t filled = g.fill(p);
  g.kernel(beside_a_fill, p, Right ? &filled : nullptr, Right ? 1 : 0);
  cudaGraphLaunch(g.ready(), s.a);
}
// Memory that a stream allocates while it is captured is a node's.
template <bool Right>
void memory_node_freed_beside_its_user() {
  const Two s;
  const Event forked, joined;
  Graph g;
  int* p = nullptr;
  cudaStreamBeginCapture(s.a, cudaStreamCaptureModeGlobal);
  cudaMallocAsync(&p, kBytes, s.a);
  cudaEventRecord(forked, s.a);
  cudaStreamWaitEvent(s.b, forked, 0);
  RUN(first, s.b)(p);
  cudaEventRecord(joined, s.b);
  if (Right) cudaStreamWaitEvent(s.a, joined, 0);
  cudaFreeAsync(p, s.a);
  if (!Right) cudaStreamWaitEvent(s.a, joined, 0);
  g.captured(s.a);
  cudaGraphLaunch(g.ready(), s.a);  // HERE: race_streams
}
template <bool Right>
void memory_node_used_behind_the_graph() {
  const Two s;
  Graph g;
  int* p = nullptr;
  cudaStreamBeginCapture(s.a, cudaStreamCaptureModeGlobal);
  cudaMallocAsync(&p, kBytes, s.a);
  RUN(first, s.a)(p);
  g.captured(s.a);
  cudaGraphLaunch(g.ready(), s.a);
  if (Right) s.b_after_a();
  cudaMemsetAsync(p, 0, kBytes, s.b);  // HERE: race_streams
  cudaDeviceSynchronize();
  cudaFreeAsync(p, s.a);
}
template <bool Right>
void two_graphs_in_two_streams() {
  const Memory p(device_ints());
  const Two s;
  Graph g, h;
  g.kernel(first, p);
  h.fill(p);
  cudaGraphLaunch(g.ready(), s.a);
  if (Right) s.b_after_a();
  cudaGraphLaunch(h.ready(), s.b);  // HERE: race_streams
}
template <bool Right>
void host_node_beside_a_copy() {
  const Memory p(device_ints());
  static int* h;
  cudaMallocHost(&h, kBytes);
  const Two s;
  {
    Graph g;
    cudaGraphNode_t copied, told;
    cudaGraphAddMemcpyNode1D(&copied, g.graph, nullptr, 0, h, p, kBytes, cudaMemcpyDeviceToHost);
    cudaHostNodeParams n{};
    n.fn = [](void*) { h[3] = 1; };  // HERE: race_host
    cudaGraphAddHostNode(&told, g.graph, Right ? &copied : nullptr, Right ? 1 : 0, &n);
    cudaGraphLaunch(g.ready(), s.a);
  }
  cudaFreeHost(h);
}

// ---- managed memory that is fetched ahead

template <bool Right>
void fetched_to_the_host_and_read() {
  const Memory p(managed());
  const Two s;
  RUN(first, s.a)(p);
  cudaMemLocation host{};
  host.type = cudaMemLocationTypeHost;
  cudaMemPrefetchAsync(p, kBytes, host, 0, s.a);
  if (Right) cudaStreamSynchronize(s.a);
  if (PICK(p + 5) == -1) std::puts("?");  // HERE: race_host
}
ADDS(reads_what_is_fetched)
template <bool Right>
void fetched_ahead_and_written_by_the_host() {
  const Memory p(managed()), q(device_ints());
  const Two s;
  cudaMemLocation device{};
  device.type = cudaMemLocationTypeDevice;
  cudaMemPrefetchAsync(p, kBytes, device, 0, s.a);
  RUN(reads_what_is_fetched, s.a)(p, q);
  if (Right) cudaStreamSynchronize(s.a);
  p[7] = 1;  // HERE: race_host
}

const HostCase kCases[] = {
    HOST_CASE(event_recorded_again_elsewhere),
    HOST_CASE(waits_before_the_event_is_recorded_again),
    HOST_CASE(the_more_urgent_stream_is_taken_to_be_first),
    HOST_CASE(event_of_an_earlier_round_is_waited_for),
    HOST_CASE(nodes_without_an_edge),
    HOST_CASE(memory_node_freed_beside_its_user),
    HOST_CASE(memory_node_used_behind_the_graph),
    HOST_CASE(two_graphs_in_two_streams),
    HOST_CASE(host_node_beside_a_copy),
    HOST_CASE(fetched_to_the_host_and_read),
    HOST_CASE(fetched_ahead_and_written_by_the_host),
};

int main(int argc, char** argv) { return run_host_cases(kCases, argc, argv); }
