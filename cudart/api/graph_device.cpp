// Executable graphs that kernels launch. What a kernel has fired runs as soon as the kernel has ended, as the graph's
// child or its sibling, with all that it launches itself; a graph's tail comes after the graph, one after the other.
// That is one of the orders CUDA allows. A graph may launch itself in its tail without end, so tails are not nested.
#include <algorithm>
#include <cstring>
#include <optional>

#include "cudart/api/graph.h"

namespace coalesce::cudart {

namespace {

// The streams that name when a graph runs.
constexpr uint64_t kTail = uint64_t{1} << 56, kFire = uint64_t{2} << 56, kSibling = uint64_t{3} << 56;
// The most that one run of a graph may launch, as CUDA documents: by fire and forget; in its tail.
constexpr uint32_t kMostFired = 120, kMostInTail = 255;
// cudaGraphInstantiateResult's values: for a graph without nodes, for a node that the device cannot run.
constexpr int kNoNodes = 1, kNodeNotSupported = 3;

struct Asked {
  std::shared_ptr<GraphExec> exec;
  const Node* by = nullptr;
};

// A run of an executable graph.
struct GraphRun {
  GraphExec* exec = nullptr;
  const Node* node = nullptr;
  uint32_t launched_by_fire = 0, launched_in_tail = 0;
  std::vector<Asked> fired = {}, tail = {};
  Needs* all = nullptr;  // the nodes that have run so far, of all graphs
};
thread_local GraphRun* running = nullptr;

// Whether a kernel may launch the graph, of which the run is told. Under the lock, which the kernel's launch holds. An
// H100 refuses a graph that still waits for its turn, and one that runs, but in its own tail.
cudaError_t ask(GraphRun& run, uint64_t handle, uint64_t stream) {
  const std::shared_ptr<GraphExec> exec = shared_exec(reinterpret_cast<cudaGraphExec_t>(handle));
  if (exec != nullptr && (exec->flags & kDeviceLaunch) == 0) return cudaErrorIllegalAddress;
  if (exec == nullptr || !exec->uploaded || exec->waits) return cudaErrorInvalidValue;
  const bool tail = stream == kTail;
  if (!tail && ((stream != kFire && stream != kSibling) || exec->runs)) return cudaErrorInvalidValue;
  uint32_t& launched = tail ? run.launched_in_tail : run.launched_by_fire;
  if (launched == (tail ? kMostInTail : kMostFired)) return cudaErrorLaunchPendingCountExceeded;
  ++launched;
  exec->waits = true;
  return cudaSuccess;
}

// One graph without its tail, which is added to `tails`.
cudaError_t run_without_tail(const std::shared_ptr<GraphExec>& exec, const Needs& roots, RunNodes run_nodes, Needs& all,
                             std::vector<Asked>& tails) {
  GraphRun run;
  run.exec = exec.get();
  run.all = &all;
  GraphRun* const outer = std::exchange(running, &run);
  exec->waits = false;
  exec->runs = true;
  const cudaError_t error = run_nodes(exec->order, roots);
  exec->runs = false;
  running = outer;
  all.insert(all.end(), exec->order.begin(), exec->order.end());
  std::ranges::sort(all);
  all.erase(std::ranges::unique(all).begin(), all.end());
  tails.insert(tails.end(), run.tail.rbegin(), run.tail.rend());
  return error;
}

// With all that it launches; `roots`: what comes before it.
cudaError_t run_launched(const Asked& first, Needs roots, RunNodes run_nodes, Needs& all) {
  const InLoop in_loop;  // one budget for all graphs that kernels launch
  std::vector<Asked> pile{first};
  while (!pile.empty()) {
    const Asked next = std::move(pile.back());
    pile.pop_back();
    const cudaError_t begins = call([&](Runtime& r) {
      if (r.context() != cudaSuccess) return r.context();
      return begin_exec(*next.exec);
    });
    if (begins != cudaSuccess) return begins;
    if (const cudaError_t error = run_without_tail(next.exec, roots, run_nodes, all, pile); error != cudaSuccess)
      return error;
    roots = all;
  }
  return cudaSuccess;
}

}  // namespace

machine::GraphAround graph_around() {
  GraphRun* const run = running;
  if (run == nullptr) return {.change = change_node};
  return {reinterpret_cast<uint64_t>(run->exec),
          [run](uint64_t exec, uint64_t stream) { return static_cast<uint32_t>(ask(*run, exec, stream)); },
          change_node};
}

void launched_by_device(const machine::DeviceWork& work) {
  if (running == nullptr) return;
  std::vector<Asked>& to = work.stream == kTail ? running->tail : running->fired;
  to.push_back({shared_exec(reinterpret_cast<cudaGraphExec_t>(work.graph)), running->node});
}

void now_runs(const Node& node) {
  if (running != nullptr) running->node = &node;
}

cudaError_t run_fired(RunNodes run_nodes) {
  if (running == nullptr) return cudaSuccess;
  for (const Asked& a : std::exchange(running->fired, {}))
    if (const cudaError_t error = run_launched(a, {a.by}, run_nodes, *running->all); error != cudaSuccess) return error;
  return cudaSuccess;
}

int refusal_of_device(const Graph& graph) {
  if (graph.nodes.empty()) return kNoNodes;
  for (const auto& node : graph.nodes) {
    const NodeType type = node->type();
    if (type != NodeType::kernel && type != NodeType::copy && type != NodeType::fill && type != NodeType::child)
      return kNodeNotSupported;
    for (const auto& body : bodies_of(*node))
      if (const int refusal = refusal_of_device(*body); refusal != 0) return refusal;
  }
  return 0;
}

cudaError_t run_graphs(const std::shared_ptr<GraphExec>& first, RunNodes run_nodes) {
  Needs all;
  std::vector<Asked> tails;
  if (const cudaError_t error = run_without_tail(first, {}, run_nodes, all, tails); error != cudaSuccess) return error;
  for (auto tail = tails.rbegin(); tail != tails.rend(); ++tail)
    if (const cudaError_t error = run_launched(*tail, all, run_nodes, all); error != cudaSuccess) return error;
  return cudaSuccess;
}

}  // namespace coalesce::cudart
