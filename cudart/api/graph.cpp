#include "cudart/api/graph.h"

#include <algorithm>
#include <unordered_set>

#include "cudart/api/version.h"

namespace coalesce::cudart {
namespace {

struct Graphs {
  std::unordered_map<Graph*, std::shared_ptr<Graph>> all;
};
// Every node of every graph there is, the program's or an executable one's.
struct Nodes {
  std::unordered_set<const Node*> all;
  uint64_t next_id = 1;
};
auto& graphs() { return held<Graphs>().all; }
auto& all_nodes() { return held<Nodes>().all; }

}  // namespace

NodeType Node::type() const {
  constexpr NodeType kTypes[] = {NodeType::kernel,   NodeType::copy,  NodeType::fill,       NodeType::host,
                                 NodeType::child,    NodeType::empty, NodeType::wait,       NodeType::record,
                                 NodeType::allocate, NodeType::free,  NodeType::conditional};
  static_assert(std::size(kTypes) == std::variant_size_v<Operation>);
  return kTypes[operation.index()];
}

Graph::~Graph() {
  for (const auto& node : nodes) all_nodes().erase(node.get());
}

// Graphs within nodes are graphs that programs may look into, and add to.
static std::shared_ptr<Graph> within(const Graph& outer, const Graph* wanted) {
  for (const auto& node : outer.nodes) {
    for (const auto& body : bodies_of(*node)) {
      if (body.get() == wanted) return body;
      if (auto found = within(*body, wanted)) return found;
    }
  }
  return nullptr;
}

bool is_graph(cudaGraph_t graph) { return shared(graph) != nullptr; }
bool is_node(cudaGraphNode_t node) { return all_nodes().contains(node); }

std::shared_ptr<Graph> make_graph() { return std::make_shared<Graph>(); }
void publish(std::shared_ptr<Graph> graph) {
  Graph* key = graph.get();
  graphs()[key] = std::move(graph);
}
void withdraw(cudaGraph_t graph) { graphs().erase(graph); }
std::shared_ptr<Graph> shared(cudaGraph_t graph) {
  const auto at = graphs().find(graph);
  if (at != graphs().end()) return at->second;
  for (const auto& [known, owner] : graphs())
    if (auto found = within(*owner, graph)) return found;
  return nullptr;
}

Node* add_node(Graph& graph, Operation operation, std::vector<Node*> needs, uint64_t id) {
  auto node = std::make_unique<Node>();
  node->graph = &graph;
  node->id = id != 0 ? id : held<Nodes>().next_id++;
  node->operation = std::move(operation);
  node->needs = std::move(needs);
  Node* made = node.get();
  all_nodes().insert(made);
  graph.nodes.push_back(std::move(node));
  return made;
}

cudaError_t add_node(cudaGraphNode_t* out, cudaGraph_t graph, const cudaGraphNode_t* needs, size_t count,
                     Operation operation) {
  if (out == nullptr || !is_graph(graph) || (needs == nullptr && count != 0)) return cudaErrorInvalidValue;
  std::vector<Node*> list(needs, needs + count);
  for (size_t i = 0; i < count; ++i) {
    if (!is_node(list[i]) || list[i]->graph != graph) return cudaErrorInvalidValue;
    if (std::find(list.begin(), list.begin() + static_cast<ptrdiff_t>(i), list[i]) !=
        list.begin() + static_cast<ptrdiff_t>(i)) {
      return cudaErrorInvalidValue;
    }
  }
  *out = add_node(*graph, std::move(operation), std::move(list));
  return cudaSuccess;
}

void clone_bodies(Operation& operation) {
  if (auto* child = std::get_if<ChildOperation>(&operation)) child->graph = clone(*child->graph);
  auto* c = std::get_if<ConditionalOperation>(&operation);
  if (c == nullptr) return;
  c->list = std::make_shared<std::vector<Graph*>>();
  for (auto& body : c->bodies) c->list->push_back((body = clone(*body)).get());
}

std::shared_ptr<Graph> clone(const Graph& graph) {
  auto copy = make_graph();
  copy->conditions = graph.conditions;
  std::unordered_map<const Node*, Node*> twin;
  for (const auto& node : graph.nodes) {
    Operation operation = node->operation;
    clone_bodies(operation);
    Node* made = add_node(*copy, std::move(operation), {}, node->id);
    made->copy = node->copy;
    made->enabled = node->enabled;
    made->updatable = node->updatable;
    twin[node.get()] = made;
  }
  for (const auto& node : graph.nodes) {
    for (const Node* need : node->needs) twin[node.get()]->needs.push_back(twin[need]);
  }
  return copy;
}

bool is_updatable(const Graph& graph) {
  return std::ranges::any_of(graph.nodes, [](const auto& node) { return node->updatable; });
}

Node* find_node(const Graph& graph, uint64_t id) {
  const auto at = std::ranges::find_if(graph.nodes, [&](const auto& node) { return node->id == id; });
  return at != graph.nodes.end() ? at->get() : nullptr;
}

std::vector<Node*> order_of(const Graph& graph) {
  // Passes over the nodes in order of creation; nearly always every edge points backwards and one pass does.
  std::vector<Node*> order;
  std::unordered_set<const Node*> done;
  for (bool moved = true; moved && order.size() < graph.nodes.size();) {
    moved = false;
    for (const auto& node : graph.nodes) {
      if (done.contains(node.get())) continue;
      if (!std::ranges::all_of(node->needs, [&](const Node* need) { return done.contains(need); })) continue;
      done.insert(node.get());
      order.push_back(node.get());
      moved = true;
    }
  }
  if (order.size() < graph.nodes.size()) order.clear();
  return order;
}

bool has_cycle(const Graph& graph) {
  if (order_of(graph).size() < graph.nodes.size()) return true;
  return std::ranges::any_of(graph.nodes, [](const auto& node) {
    if (const auto* child = std::get_if<ChildOperation>(&node->operation)) return has_cycle(*child->graph);
    const auto* c = std::get_if<ConditionalOperation>(&node->operation);
    return c != nullptr && std::ranges::any_of(c->bodies, [](const auto& body) { return has_cycle(*body); });
  });
}

namespace {

template <typename Body>
cudaError_t with(cudaGraph_t graph, Body&& body) {
  return call([&](Runtime&) { return is_graph(graph) ? body(*graph) : cudaErrorInvalidValue; });
}
template <typename Body>
cudaError_t with(cudaGraphNode_t node, Body&& body) {
  return call([&](Runtime&) { return is_node(node) ? body(*node) : cudaErrorInvalidValue; });
}

// CUDA's way to return a list: without room only its length; in a larger room the rest is null and the length given.
cudaError_t give(const std::vector<Node*>& list, cudaGraphNode_t* room, size_t* count) {
  if (count == nullptr) return cudaErrorInvalidValue;
  if (room != nullptr) {
    for (size_t i = 0; i < *count; ++i) room[i] = i < list.size() ? list[i] : nullptr;
    *count = std::min(*count, list.size());
  } else {
    *count = list.size();
  }
  return cudaSuccess;
}

std::vector<Node*> dependents_of(const Node& node) {
  std::vector<Node*> list;
  for (const auto& other : node.graph->nodes) {
    if (std::ranges::find(other->needs, &node) != other->needs.end()) list.push_back(other.get());
  }
  return list;
}

}  // namespace

COALESCE_API cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned flags) {
  if (graph == nullptr || flags != 0) return note(cudaErrorInvalidValue);
  return call([&](Runtime&) {
    auto made = make_graph();
    *graph = made.get();
    publish(std::move(made));
    return cudaSuccess;
  });
}

COALESCE_API cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  return call([&](Runtime&) { return graphs().erase(graph) == 1 ? cudaSuccess : cudaErrorInvalidValue; });
}

COALESCE_API cudaError_t cudaGraphClone(cudaGraph_t* out, cudaGraph_t graph) {
  if (out == nullptr) return note(cudaErrorInvalidValue);
  return with(graph, [&](const Graph& g) {
    if (is_updatable(g)) return cudaErrorNotSupported;
    auto made = clone(g);
    *out = made.get();
    publish(std::move(made));
    return cudaSuccess;
  });
}

COALESCE_API cudaError_t cudaGraphNodeFindInClone(cudaGraphNode_t* out, cudaGraphNode_t original, cudaGraph_t in) {
  if (out == nullptr) return note(cudaErrorInvalidValue);
  return with(in, [&](const Graph& g) {
    if (!is_node(original)) return cudaErrorInvalidValue;
    *out = find_node(g, original->id);
    return *out != nullptr ? cudaSuccess : cudaErrorInvalidValue;
  });
}

COALESCE_API cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, int* type) {
  if (type == nullptr) return note(cudaErrorInvalidValue);
  return with(node, [&](const Node& n) {
    *type = static_cast<int>(n.type());
    return cudaSuccess;
  });
}

COALESCE_API cudaError_t cudaGraphDestroyNode(cudaGraphNode_t node) {
  return with(node, [&](Node& n) {
    if (n.updatable) return cudaErrorNotSupported;
    Graph& graph = *n.graph;
    for (const auto& other : graph.nodes) std::erase(other->needs, &n);
    all_nodes().erase(&n);
    std::erase_if(graph.nodes, [&](const auto& other) { return other.get() == &n; });
    return cudaSuccess;
  });
}

COALESCE_API cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* room, size_t* count) {
  return with(graph, [&](const Graph& g) {
    std::vector<Node*> list;
    for (const auto& node : g.nodes) list.push_back(node.get());
    return give(list, room, count);
  });
}

COALESCE_API cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t* room, size_t* count) {
  return with(graph, [&](const Graph& g) {
    std::vector<Node*> list;
    for (const auto& node : g.nodes) {
      if (node->needs.empty()) list.push_back(node.get());
    }
    return give(list, room, count);
  });
}

// The edges' data (which port of a node, which kind of dependency) tells apart launches that overlap; ours never do.
// What the program gets back is the ordinary edge, all zeros.
struct EdgeData {
  unsigned char bytes[8];
};
static_assert(sizeof(EdgeData) == 8);

namespace {

cudaError_t edges(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to, EdgeData* data, size_t* count) {
  return with(graph, [&](const Graph& g) {
    std::vector<Node*> starts, ends;
    for (const auto& node : g.nodes) {
      for (Node* need : node->needs) {
        starts.push_back(need);
        ends.push_back(node.get());
      }
    }
    if (count == nullptr || (from == nullptr) != (to == nullptr)) return cudaErrorInvalidValue;
    size_t room = *count;
    if (data != nullptr) std::fill_n(data, std::min(room, starts.size()), EdgeData{});
    give(ends, to, &room);
    return give(starts, from, count);
  });
}

cudaError_t neighbours(cudaGraphNode_t node, bool before, cudaGraphNode_t* room, EdgeData* data, size_t* count) {
  return with(node, [&](const Node& n) {
    const std::vector<Node*> list = before ? n.needs : dependents_of(n);
    if (count != nullptr && data != nullptr) std::fill_n(data, std::min(*count, list.size()), EdgeData{});
    return give(list, room, count);
  });
}

cudaError_t connect(cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to, size_t count, bool add) {
  return with(graph, [&](const Graph& g) {
    if (count != 0 && (from == nullptr || to == nullptr)) return cudaErrorInvalidValue;
    for (size_t i = 0; i < count; ++i) {
      if (!is_node(from[i]) || !is_node(to[i]) || from[i]->graph != &g || to[i]->graph != &g || from[i] == to[i]) {
        return cudaErrorInvalidValue;
      }
      const bool there = std::ranges::find(to[i]->needs, from[i]) != to[i]->needs.end();
      if (there == add) return cudaErrorInvalidValue;
      if (add) {  // what is a cycle then is refused by cudaGraphInstantiate
        to[i]->needs.push_back(from[i]);
      } else {
        std::erase(to[i]->needs, from[i]);
      }
    }
    return cudaSuccess;
  });
}

}  // namespace

// CUDA 13 gave these names the edges' data before the count; 12 calls that form _v2 and leaves the data out here.
#define COALESCE_COUNT(data, count) ((runtime_version() >= 13000) ? (count) : reinterpret_cast<decltype(count)>(data))

COALESCE_API cudaError_t cudaGraphGetEdges_v2(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to,
                                              EdgeData* data, size_t* count) {
  return edges(graph, from, to, data, count);
}
COALESCE_API cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to,
                                           EdgeData* data, size_t* count) {
  return edges(graph, from, to, (runtime_version() >= 13000) ? data : nullptr, COALESCE_COUNT(data, count));
}

COALESCE_API cudaError_t cudaGraphNodeGetDependencies_v2(cudaGraphNode_t node, cudaGraphNode_t* room, EdgeData* data,
                                                         size_t* count) {
  return neighbours(node, true, room, data, count);
}
COALESCE_API cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t* room, EdgeData* data,
                                                      size_t* count) {
  return neighbours(node, true, room, (runtime_version() >= 13000) ? data : nullptr, COALESCE_COUNT(data, count));
}
COALESCE_API cudaError_t cudaGraphNodeGetDependentNodes_v2(cudaGraphNode_t node, cudaGraphNode_t* room, EdgeData* data,
                                                           size_t* count) {
  return neighbours(node, false, room, data, count);
}
COALESCE_API cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t* room, EdgeData* data,
                                                        size_t* count) {
  return neighbours(node, false, room, (runtime_version() >= 13000) ? data : nullptr, COALESCE_COUNT(data, count));
}

COALESCE_API cudaError_t cudaGraphAddDependencies_v2(cudaGraph_t graph, const cudaGraphNode_t* from,
                                                     const cudaGraphNode_t* to, const EdgeData*, size_t count) {
  return connect(graph, from, to, count, true);
}
COALESCE_API cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from,
                                                  const cudaGraphNode_t* to, const EdgeData* data, size_t count) {
  return connect(graph, from, to, COALESCE_COUNT(data, count), true);
}
COALESCE_API cudaError_t cudaGraphRemoveDependencies_v2(cudaGraph_t graph, const cudaGraphNode_t* from,
                                                        const cudaGraphNode_t* to, const EdgeData*, size_t count) {
  return connect(graph, from, to, count, false);
}
COALESCE_API cudaError_t cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t* from,
                                                     const cudaGraphNode_t* to, const EdgeData* data, size_t count) {
  return connect(graph, from, to, COALESCE_COUNT(data, count), false);
}

}  // namespace coalesce::cudart
