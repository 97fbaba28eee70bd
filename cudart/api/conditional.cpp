// Conditional nodes of graphs: if, while, switch. The condition is a word of device memory, whose address is the handle
// that programs get; kernels set it by cudaGraphSetConditional.
#include <algorithm>
#include <cstring>

#include "cudart/api/graph.h"
#include "cudart/api/graph_abi.h"

namespace coalesce::cudart {

namespace {

// cudaGraphConditionalNodeType's values.
enum Conditional { kIf = 0, kWhile = 1, kSwitch = 2 };
constexpr unsigned kAssignDefault = 1;

struct Conditions {
  std::unordered_map<uint64_t, std::weak_ptr<Condition>> all;  // by handle
};

void set(const Condition& c, uint32_t value) { std::memcpy(reinterpret_cast<void*>(c.address), &value, sizeof value); }

}  // namespace

Condition::~Condition() {
  held<Conditions>().all.erase(address);
  if (runtime().has_machine()) runtime().memory().release(address);
}

uint32_t Condition::value() const {
  uint32_t value;
  std::memcpy(&value, reinterpret_cast<const void*>(address), sizeof value);
  return value;
}

// CUDA leaves a condition without a default undefined until a kernel sets it. Here it is 0.
void begin_conditions(const Graph& graph) {
  for (const auto& c : graph.conditions) set(*c, c->assigns ? c->initial : 0);
  for (const auto& node : graph.nodes)
    for (const auto& body : bodies_of(*node)) begin_conditions(*body);
}

std::vector<std::shared_ptr<Graph>> bodies_of(const Node& node) {
  if (const auto* child = std::get_if<ChildOperation>(&node.operation)) return {child->graph};
  if (const auto* c = std::get_if<ConditionalOperation>(&node.operation)) return c->bodies;
  return {};
}

const Graph* chosen_body(const ConditionalOperation& c) {
  const uint32_t value = c.condition->value();
  std::size_t body = 0;
  switch (c.type) {
    case kIf:
      body = value != 0 ? 0 : 1;
      break;
    case kWhile:
      body = value != 0 ? 0 : c.bodies.size();
      break;
    default:
      body = value;
      break;
  }
  return body < c.bodies.size() ? c.bodies[body].get() : nullptr;
}

bool repeats(const ConditionalOperation& c) { return c.type == kWhile; }

cudaError_t add_conditional(cudaGraphNode_t* out, cudaGraph_t graph, const cudaGraphNode_t* needs, size_t count,
                            cudaConditionalNodeParams* p) {
  return call([&](Runtime&) {
    const auto known = held<Conditions>().all.find(p->handle);
    if (known == held<Conditions>().all.end() || known->second.expired()) return cudaErrorInvalidValue;
    const bool fits = p->type == kIf      ? p->size == 1 || p->size == 2
                      : p->type == kWhile ? p->size == 1
                                          : p->type == kSwitch && p->size != 0;
    if (!fits) return cudaErrorInvalidValue;
    ConditionalOperation c;
    c.type = p->type;
    c.condition = known->second.lock();
    c.list = std::make_shared<std::vector<Graph*>>();
    for (unsigned k = 0; k < p->size; ++k) {
      c.bodies.push_back(make_graph());
      c.list->push_back(c.bodies.back().get());
    }
    Graph** const list = c.list->data();
    const cudaError_t error = add_node(out, graph, needs, count, std::move(c));
    if (error == cudaSuccess) p->phGraph_out = list;
    return error;
  });
}

COALESCE_API cudaError_t cudaGraphConditionalHandleCreate(unsigned long long* handle, cudaGraph_t graph,
                                                          unsigned initial, unsigned flags) {
  if (handle == nullptr || (flags & ~kAssignDefault) != 0) return note(cudaErrorInvalidValue);
  return call([&](Runtime& r) {
    if (!is_graph(graph)) return cudaErrorInvalidValue;
    const machine::Allocation* a =
        r.memory().allocate(sizeof(uint32_t), machine::Origin::heap, "the condition of a graph's node");
    if (a == nullptr) return cudaErrorMemoryAllocation;
    auto made = std::make_shared<Condition>();
    made->address = a->base;
    made->initial = initial;
    made->assigns = (flags & kAssignDefault) != 0;
    held<Conditions>().all[a->base] = made;
    graph->conditions.push_back(std::move(made));
    *handle = a->base;
    return cudaSuccess;
  });
}

}  // namespace coalesce::cudart
