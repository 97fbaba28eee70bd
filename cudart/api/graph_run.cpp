// Executable graphs: a graph's copy with its order fixed, run any number of times.
#include <algorithm>

#include "cudart/api/capture.h"
#include "cudart/api/graph.h"
#include "cudart/api/graph_abi.h"
#include "cudart/api/launch.h"
#include "cudart/api/stream.h"
#include "cudart/api/version.h"
#include "cudart/core/config.h"

namespace coalesce::cudart {

namespace {

constexpr uint32_t kMostSide = 65535;  // of a grid's y and z
constexpr unsigned long long kFreeOnLaunch = 1, kUpload = 2, kAllFlags = 15;

struct Execs {
  std::unordered_map<GraphExec*, std::shared_ptr<GraphExec>> all;
};
auto& execs() { return held<Execs>().all; }

// The node of an executable graph that a kernel may change; null: there is none. A graph that has one is instantiated
// once only.
Node* updatable_twin(uint64_t id, const GraphExec*& exec) {
  for (const auto& [handle, kept] : execs())
    if (Node* node = find_node(*handle->graph, id); node != nullptr && node->updatable) return exec = handle, node;
  return nullptr;
}

// `result`: a value of cudaGraphInstantiateResult.
cudaError_t instantiate(cudaGraphExec_t* out, cudaGraph_t graph, unsigned long long flags, int& result) {
  result = 1;
  if (out == nullptr || (flags & ~kAllFlags) != 0) return note(cudaErrorInvalidValue);
  if ((flags & kDeviceLaunch) != 0 && (flags & kFreeOnLaunch) != 0) return note(cudaErrorInvalidValue);
  return call([&](Runtime&) {
    if (!is_graph(graph)) return cudaErrorInvalidValue;
    const GraphExec* earlier = nullptr;
    for (const auto& node : graph->nodes)
      if (node->updatable && updatable_twin(node->id, earlier) != nullptr) return cudaErrorNotSupported;
    auto made = std::make_shared<GraphExec>();
    made->graph = clone(*graph);
    if (has_cycle(*made->graph)) return cudaErrorInvalidValue;
    made->order = order_of(*made->graph);
    made->flags = flags;
    if ((flags & kDeviceLaunch) != 0) {
      result = refusal_of_device(*made->graph);
      if (result != 0) return cudaErrorInvalidValue;
    }
    made->uploaded = (flags & kUpload) != 0;
    *out = made.get();
    execs()[*out] = std::move(made);
    result = 0;
    return cudaSuccess;
  });
}

// `a` still has its memory from an earlier run: CUDA calls that an error, unless told to free it.
cudaError_t ready(const GraphExec& exec) {
  for (const Node* node : exec.order) {
    const auto* a = std::get_if<AllocateOperation>(&node->operation);
    if (a == nullptr || !a->memory->live) continue;
    if ((exec.flags & kFreeOnLaunch) == 0) return cudaErrorInvalidValue;
    a->memory->live = false;
  }
  return cudaSuccess;
}

cudaError_t run_nodes(const std::vector<Node*>& order, const Needs& roots);

// The nodes that `check` takes to come before it: `roots`, if it needs none.
Needs needs_of(const Node& node, const Needs& roots) {
  Needs needs(node.needs.begin(), node.needs.end());
  return needs.empty() ? roots : needs;
}

// A while node whose body has run without a kernel, which alone could change the condition.
cudaError_t never_ends(Runtime& r) {
  machine::Diagnostic d;
  d.fault = machine::Fault::deadlock;
  d.message = "a while node of a graph never ends: its body runs no kernel that could set its condition to 0";
  r.record().diagnostic(d);
  if (const Config& settings = config(); !settings.check || settings.record.empty()) show(d);
  r.fail(cudaErrorLaunchTimeout);
  return cudaErrorLaunchTimeout;
}

// One node. Host functions run without the lock, so that they may take their time; CUDA lets them call nothing of it.
cudaError_t run_node(const Node& node, const Needs& roots) {
  now_runs(node);
  const auto begin = [&](const Needs& needs) {
    if (runtime().check() != nullptr) runtime().check()->act_as_node(&node, needs);
  };
  if (const auto* host = std::get_if<HostOperation>(&node.operation)) {
    const cudaError_t error = call([&](Runtime& r) {
      begin(needs_of(node, roots));
      if (r.check() != nullptr) r.check()->function_runs();
      return cudaSuccess;
    });
    if (error != cudaSuccess) return error;
    const Callback callback;
    host->function(host->data);
    return cudaSuccess;
  }
  if (const auto* child = std::get_if<ChildOperation>(&node.operation)) {
    const std::vector<Node*> order = order_of(*child->graph);
    if (const cudaError_t error = run_nodes(order, needs_of(node, roots)); error != cudaSuccess) return error;
    return call([&](Runtime&) {
      Needs all = needs_of(node, roots);
      all.insert(all.end(), order.begin(), order.end());
      return begin(all), cudaSuccess;
    });
  }
  if (const auto* c = std::get_if<ConditionalOperation>(&node.operation)) {
    Needs all = needs_of(node, roots);
    const InLoop in_loop;
    for (bool again = true; again; again = again && repeats(*c)) {
      const uint64_t kernels = loops().kernels;
      const Graph* body = nullptr;
      const cudaError_t known = call([&](Runtime&) { return body = chosen_body(*c), cudaSuccess; });
      if (known != cudaSuccess) return known;
      again = body != nullptr;
      if (body == nullptr) continue;
      const std::vector<Node*> order = order_of(*body);
      if (const cudaError_t error = run_nodes(order, all); error != cudaSuccess) return error;
      if (repeats(*c) && loops().kernels == kernels) return call([](Runtime& r) { return never_ends(r); });
      all.insert(all.end(), order.begin(), order.end());
      std::ranges::sort(all);
      all.erase(std::ranges::unique(all).begin(), all.end());
    }
    return call([&](Runtime&) { return begin(all), cudaSuccess; });
  }
  return call([&](Runtime& r) {
    begin(needs_of(node, roots));
    return std::visit(
        [&](const auto& operation) {
          using T = std::decay_t<decltype(operation)>;
          if constexpr (std::is_same_v<T, RecordOperation>) {
            if (!is_event(operation.event)) return cudaErrorInvalidResourceHandle;
            record_now(operation.event);
            return cudaSuccess;
          } else if constexpr (std::is_same_v<T, EmptyOperation> || std::is_same_v<T, WaitOperation> ||
                               std::is_same_v<T, HostOperation> || std::is_same_v<T, ChildOperation> ||
                               std::is_same_v<T, ConditionalOperation>) {
            return cudaSuccess;  // what a wait waits for is done already
          } else {
            return run(r, operation);
          }
        },
        node.operation);
  });
}

cudaError_t run_nodes(const std::vector<Node*>& order, const Needs& roots) {
  for (const Node* node : order) {
    if (!node->enabled) {  // its order stays
      if (runtime().check() != nullptr)
        call([&](Runtime& r) { return r.check()->act_as_node(node, needs_of(*node, roots)), cudaSuccess; });
      continue;
    }
    if (const cudaError_t error = run_node(*node, roots); error != cudaSuccess) return error;
    if (const cudaError_t error = run_fired(run_nodes); error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

// The nodes of an update's graph in the executable graph's order; why not, otherwise.
struct Update {
  enum Result { success = 0, error = 1, topology_changed = 2, type_changed = 3 };
  Result result = success;
  Node* node = nullptr;  // of the updating graph
};

Update update(const GraphExec& exec, const Graph& graph) {
  const auto& ours = exec.graph->nodes;
  const auto& theirs = graph.nodes;
  if (ours.size() != theirs.size()) return {Update::topology_changed};
  std::unordered_map<const Node*, size_t> place, their_place;
  for (size_t i = 0; i < ours.size(); ++i) {
    place[ours[i].get()] = i;
    their_place[theirs[i].get()] = i;
  }
  for (size_t i = 0; i < ours.size(); ++i) {
    if (ours[i]->type() != theirs[i]->type()) return {Update::type_changed, theirs[i].get()};
    std::vector<size_t> a, b;
    for (const Node* need : ours[i]->needs) a.push_back(place[need]);
    for (const Node* need : theirs[i]->needs) b.push_back(their_place[need]);
    std::ranges::sort(a);
    std::ranges::sort(b);
    if (a != b) return {Update::topology_changed, theirs[i].get()};
  }
  for (size_t i = 0; i < ours.size(); ++i) {
    if (ours[i]->type() == NodeType::allocate || ours[i]->type() == NodeType::free) continue;  // theirs own memory
    Operation operation = theirs[i]->operation;
    clone_bodies(operation);
    ours[i]->operation = std::move(operation);
    ours[i]->copy = theirs[i]->copy;
  }
  return {};
}

template <typename Body>
cudaError_t with(cudaGraphExec_t exec, Body&& body) {
  return call([&](Runtime& r) { return is_exec(exec) ? body(r, *exec) : cudaErrorInvalidValue; });
}

template <typename Body>
cudaError_t with_node(cudaGraphExec_t exec, cudaGraphNode_t node, Body&& body) {
  return with(exec, [&](Runtime&, GraphExec& e) {
    if (!is_node(node)) return cudaErrorInvalidValue;
    Node* twin = find_node(*e.graph, node->id);
    return twin != nullptr ? body(*twin) : cudaErrorInvalidValue;
  });
}

}  // namespace

bool is_exec(cudaGraphExec_t exec) { return execs().contains(exec); }
std::shared_ptr<GraphExec> shared_exec(cudaGraphExec_t exec) {
  const auto found = execs().find(exec);
  return found == execs().end() ? nullptr : found->second;
}
uint32_t change_node(const machine::NodeChange& change) {
  using Field = machine::NodeChange::Field;
  const GraphExec* exec = nullptr;
  Node* const node = updatable_twin(change.node, exec);
  if (node == nullptr || !exec->uploaded) return cudaErrorInvalidValue;
  auto& kernel = std::get<KernelOperation>(node->operation);
  const auto [x, y, z] = change.grid;
  const size_t room = kernel.packed.size(), size = change.bytes.size();
  const bool good = change.field == Field::grid
                        ? x != 0 && y != 0 && z != 0 && x <= INT32_MAX && y <= kMostSide && z <= kMostSide
                    : change.field == Field::parameter ? size <= room && change.offset <= room - size
                                                       : change.field == Field::enabled;
  if (!good) return cudaErrorInvalidValue;
  if (change.asks) return cudaSuccess;
  if (change.field == Field::grid) kernel.launch.grid = dim3(x, y, z);
  if (change.field == Field::parameter)
    std::ranges::copy(change.bytes, kernel.packed.begin() + static_cast<std::ptrdiff_t>(change.offset));
  if (change.field == Field::enabled) node->enabled = change.enabled;
  return cudaSuccess;
}
cudaError_t begin_exec(const GraphExec& exec) {
  begin_conditions(*exec.graph);
  return ready(exec);
}

// CUDA 11 gives the place for a failing node and a log in place of flags.
COALESCE_API cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long flags) {
  int result;
  return instantiate(exec, graph, runtime_version() >= 12000 ? flags : 0, result);
}
COALESCE_API cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* exec, cudaGraph_t graph,
                                                       unsigned long long flags) {
  int result;
  return instantiate(exec, graph, flags, result);
}
COALESCE_API cudaError_t cudaGraphInstantiateWithParams(cudaGraphExec_t* exec, cudaGraph_t graph,
                                                        cudaGraphInstantiateParams* p) {
  if (p == nullptr) return note(cudaErrorInvalidValue);
  p->errNode_out = nullptr;
  return instantiate(exec, graph, p->flags, p->result_out);
}
COALESCE_ALIAS(cudaGraphInstantiateWithParams_ptsz, cudaGraphInstantiateWithParams);

COALESCE_API cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  return call([&](Runtime&) { return execs().erase(exec) == 1 ? cudaSuccess : cudaErrorInvalidValue; });
}
COALESCE_API cudaError_t cudaGraphExecGetFlags(cudaGraphExec_t exec, unsigned long long* flags) {
  if (flags == nullptr) return note(cudaErrorInvalidValue);
  return with(exec, [&](Runtime&, const GraphExec& e) {
    *flags = e.flags;
    return cudaSuccess;
  });
}
COALESCE_API cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t stream) {
  return with(exec, [&](Runtime&, GraphExec& e) {
    if (!is_stream(stream)) return cudaErrorInvalidResourceHandle;
    e.uploaded = true;
    return cudaSuccess;
  });
}
COALESCE_ALIAS(cudaGraphUpload_ptsz, cudaGraphUpload);

COALESCE_API cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  std::shared_ptr<GraphExec> mine;  // stays while it runs, whatever other threads destroy
  bool now = true;
  const cudaError_t error = with(exec, [&](Runtime&, const GraphExec& e) {
    if (!is_stream(stream)) return cudaErrorInvalidResourceHandle;
    const Going to = going(stream);
    if (to.error != cudaSuccess) return to.error;
    if (to.capture != nullptr) {
      captured(*to.capture, stream, ChildOperation{clone(*e.graph)});
      now = false;
      return cudaSuccess;
    }
    mine = execs()[exec];
    mine->uploaded = true;
    return begin_exec(e);
  });
  if (error != cudaSuccess || !now) return error;
  if (runtime().check() == nullptr) return run_graphs(mine, run_nodes);
  const auto tell = [&](bool begins) {
    const Entered entered(runtime());
    if (begins)
      runtime().check()->order().begin_graph(stream, is_blocking(stream));
    else
      runtime().check()->order().end_graph();
  };
  tell(true);
  const cudaError_t ended = run_graphs(mine, run_nodes);
  tell(false);
  return ended;
}
COALESCE_API cudaError_t cudaGraphLaunch_ptsz(cudaGraphExec_t exec, cudaStream_t stream) {
  return cudaGraphLaunch(exec, of_thread(stream));
}

COALESCE_API cudaError_t cudaGraphNodeSetEnabled(cudaGraphExec_t exec, cudaGraphNode_t node, unsigned enabled) {
  return with_node(exec, node, [&](Node& n) {
    const NodeType t = n.type();
    if (t != NodeType::kernel && t != NodeType::copy && t != NodeType::fill) return cudaErrorInvalidValue;
    n.enabled = enabled != 0;
    return cudaSuccess;
  });
}
COALESCE_API cudaError_t cudaGraphNodeGetEnabled(cudaGraphExec_t exec, cudaGraphNode_t node, unsigned* enabled) {
  if (enabled == nullptr) return note(cudaErrorInvalidValue);
  return with_node(exec, node, [&](const Node& n) {
    *enabled = n.enabled;
    return cudaSuccess;
  });
}

COALESCE_API cudaError_t cudaGraphExecChildGraphNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                              cudaGraph_t graph) {
  return with_node(exec, node, [&](Node& n) {
    auto* child = std::get_if<ChildOperation>(&n.operation);
    if (child == nullptr || !is_graph(graph)) return cudaErrorInvalidValue;
    if (graph->nodes.size() != child->graph->nodes.size()) return cudaErrorInvalidValue;
    child->graph = clone(*graph);
    return cudaSuccess;
  });
}

namespace {

template <typename T>
cudaError_t set_event(cudaGraphExec_t exec, cudaGraphNode_t node, cudaEvent_t event) {
  return with_node(exec, node, [&](Node& n) {
    auto* operation = std::get_if<T>(&n.operation);
    if (operation == nullptr || !is_event(event)) return cudaErrorInvalidValue;
    operation->event = event;
    return cudaSuccess;
  });
}

}  // namespace

COALESCE_API cudaError_t cudaGraphExecEventRecordNodeSetEvent(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                              cudaEvent_t event) {
  return set_event<RecordOperation>(exec, node, event);
}
COALESCE_API cudaError_t cudaGraphExecEventWaitNodeSetEvent(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                            cudaEvent_t event) {
  return set_event<WaitOperation>(exec, node, event);
}

// Since 12: (exec, graph, info). 11: (exec, graph, &node, &result).
COALESCE_API cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph, void* first, int* second) {
  if (first == nullptr || (runtime_version() < 12000 && second == nullptr)) return note(cudaErrorInvalidValue);
  return with(exec, [&](Runtime&, GraphExec& e) {
    if (is_updatable(*e.graph) || (is_graph(graph) && is_updatable(*graph))) return cudaErrorNotSupported;
    e.uploaded = false;  // the device has the graph as it was
    const Update u = is_graph(graph) ? update(e, *graph) : Update{Update::error};
    if (runtime_version() >= 12000) {
      *static_cast<cudaGraphExecUpdateResultInfo*>(first) = {u.result, u.node, nullptr};
    } else {
      *static_cast<cudaGraphNode_t*>(first) = u.node;
      *second = u.result;
    }
    return u.result == Update::success ? cudaSuccess : cudaErrorGraphExecUpdateFailure;
  });
}

}  // namespace coalesce::cudart
