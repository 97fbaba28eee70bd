// Graphs: operations and what each waits for. A graph runs in the order in which its nodes were made, refined by its
// edges; that is one of the orders CUDA allows, and the same every time.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "cudart/api/graph_abi.h"
#include "cudart/api/operation.h"

namespace coalesce::cudart {

// cudaGraphNodeType's values.
enum class NodeType : int {
  kernel = 0,
  copy = 1,
  fill = 2,
  host = 3,
  child = 4,
  empty = 5,
  wait = 6,
  record = 7,
  allocate = 10,
  free = 11,
  conditional = 13,
};

struct Node {
  Graph* graph = nullptr;
  uint64_t id = 0;  // the same in clones and executable graphs
  Operation operation;
  std::vector<Node*> needs;
  bool enabled = true;           // in executable graphs
  bool updatable = false;        // a kernel may change it, there; such graphs are not copied
  std::vector<void*> arguments;  // what cudaGraphKernelNodeGetParams pointed at
  cudaMemcpy3DParms copy{};      // a copy node as it was described, for cudaGraphMemcpyNodeGetParams
  NodeType type() const;
};

struct Graph {
  std::vector<std::unique_ptr<Node>> nodes;  // in order of creation
  std::vector<std::shared_ptr<Condition>> conditions;
  Graph() = default;
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph();
};

struct GraphExec {
  std::shared_ptr<Graph> graph;
  std::vector<Node*> order;
  unsigned long long flags = 0;
  bool uploaded = false;  // kernels may launch it, if its flags say so
  bool waits = false;     // a kernel has launched it, and it has not begun
  bool runs = false;
};
inline constexpr unsigned long long kDeviceLaunch = 4;  // of the flags

// Graphs that kernels launch: graph_device.cpp. The nodes that `check` takes to come before a node.
using Needs = std::vector<const void*>;
// Why the device cannot launch such a graph: a value of cudaGraphInstantiateResult; 0: it can.
int refusal_of_device(const Graph& graph);
// Runs a graph, and the ones that its kernels launch. `run_nodes` runs the nodes of one, and after each run_fired().
using RunNodes = cudaError_t (*)(const std::vector<Node*>& order, const Needs& roots);
cudaError_t run_graphs(const std::shared_ptr<GraphExec>& first, RunNodes run_nodes);
cudaError_t run_fired(RunNodes run_nodes);
uint32_t change_node(const machine::NodeChange& change);  // by a kernel, under the lock: CUDA's error
void now_runs(const Node& node);                          // of the graph that this thread runs

// Under the lock, all of these.
bool is_graph(cudaGraph_t graph);
bool is_node(cudaGraphNode_t node);
bool is_exec(cudaGraphExec_t exec);
std::shared_ptr<GraphExec> shared_exec(cudaGraphExec_t exec);  // null: it is none
cudaError_t begin_exec(const GraphExec& exec);                 // before its nodes run
bool is_graph_memory(const void* pointer);
std::shared_ptr<Graph> make_graph();         // not yet known to the program
void publish(std::shared_ptr<Graph> graph);  // now it is: is_graph() holds
void withdraw(cudaGraph_t graph);            // is_graph() no longer holds
std::shared_ptr<Graph> shared(cudaGraph_t graph);
Node* add_node(Graph& graph, Operation operation, std::vector<Node*> needs, uint64_t id = 0);
// cudaErrorInvalidValue: a node is not of that graph, or stands twice.
cudaError_t add_node(cudaGraphNode_t* out, cudaGraph_t graph, const cudaGraphNode_t* needs, size_t count,
                     Operation operation);
std::shared_ptr<Graph> clone(const Graph& graph);
bool is_updatable(const Graph& graph);    // one of its nodes is
void clone_bodies(Operation& operation);  // an operation gets graphs of its own
Node* find_node(const Graph& graph, uint64_t id);
// All nodes, each after what it needs. Empty, for a graph that has nodes: it has a cycle.
std::vector<Node*> order_of(const Graph& graph);
bool has_cycle(const Graph& graph);  // it, or a graph inside it

// The graphs within a node: a child node's, a conditional node's bodies.
std::vector<std::shared_ptr<Graph>> bodies_of(const Node& node);

// Conditional nodes: conditional.cpp. Before a graph runs: its conditions, and those of the graphs in it.
void begin_conditions(const Graph& graph);
const Graph* chosen_body(const ConditionalOperation& c);  // null: none
bool repeats(const ConditionalOperation& c);              // as long as there is one
cudaError_t add_conditional(cudaGraphNode_t* out, cudaGraph_t graph, const cudaGraphNode_t* needs, size_t count,
                            struct cudaConditionalNodeParams* p);

// Memory of allocation nodes: see graph_memory.cpp.
struct GraphMemory {
  void* pointer = nullptr;
  size_t bytes = 0;
  bool live = false;  // between its allocation node and whatever frees it
  ~GraphMemory();
};
cudaError_t make_graph_memory(Runtime& r, size_t bytes, std::shared_ptr<GraphMemory>& out);
cudaError_t run(Runtime& r, const AllocateOperation& a);
cudaError_t run(Runtime& r, const FreeOperation& f);
// cudaFree and cudaFreeAsync ask first whether the memory is a graph's: true, it was, and `error` is the answer.
bool release_graph_memory(void* pointer, cudaError_t& error);

}  // namespace coalesce::cudart
