#include "cudart/api/capture.h"

#include <algorithm>
#include <thread>
#include <unordered_set>

#include "cudart/api/graph.h"
#include "cudart/api/stream.h"
#include "cudart/api/version.h"

namespace coalesce::cudart {

struct Capture {
  std::shared_ptr<Graph> graph;
  cudaStream_t origin = nullptr;
  int mode = 0;
  unsigned long long id = 0;
  bool invalid = false;
  bool owns_graph = false;  // false: cudaStreamBeginCaptureToGraph's
  std::thread::id thread;
};

namespace {

enum Mode { global = 0, thread_local_mode = 1, relaxed = 2 };

// The nodes that the next work of a stream (or of what waits for an event) depends on.
struct Point {
  Capture* capture = nullptr;
  std::vector<Node*> after;
};

struct Captures {
  std::vector<std::unique_ptr<Capture>> active;
  std::unordered_map<cudaStream_t, Point> streams;
  std::unordered_map<cudaEvent_t, Point> events;
  unsigned long long next_id = 1;
};
Captures& captures() { return held<Captures>(); }
thread_local int thread_mode = global;

Point* point_of(cudaStream_t stream) {
  const auto at = captures().streams.find(stream);
  return at != captures().streams.end() ? &at->second : nullptr;
}
Point* point_of(cudaEvent_t event) {
  const auto at = captures().events.find(event);
  return at != captures().events.end() ? &at->second : nullptr;
}

void unite(std::vector<Node*>& into, const std::vector<Node*>& more) {
  for (Node* node : more) {
    if (std::ranges::find(into, node) == into.end()) into.push_back(node);
  }
}

// True: every stream's last nodes lead to the origin's.
bool joined(const Capture& capture) {
  std::unordered_set<const Node*> reached;
  std::vector<const Node*> todo;
  for (const Node* node : captures().streams[capture.origin].after) todo.push_back(node);
  while (!todo.empty()) {
    const Node* node = todo.back();
    todo.pop_back();
    if (!reached.insert(node).second) continue;
    todo.insert(todo.end(), node->needs.begin(), node->needs.end());
  }
  return std::ranges::all_of(captures().streams, [&](const auto& entry) {
    const Point& p = entry.second;
    return p.capture != &capture ||
           std::ranges::all_of(p.after, [&](const Node* node) { return reached.contains(node); });
  });
}

void end(const Capture* capture) {
  std::erase_if(captures().streams, [&](const auto& entry) { return entry.second.capture == capture; });
  std::erase_if(captures().events, [&](const auto& entry) { return entry.second.capture == capture; });
  std::erase_if(captures().active, [&](const auto& c) { return c.get() == capture; });
}

cudaError_t spoil(Capture& capture, cudaError_t error) {
  capture.invalid = true;
  return error;
}

bool is_legacy(cudaStream_t stream) { return reinterpret_cast<uintptr_t>(stream) <= 1; }

// The capture that the legacy stream would have to wait for: it waits for all blocking streams.
Capture* in_the_way_of_legacy() {
  for (const auto& [stream, point] : captures().streams) {
    if (is_blocking(stream)) return point.capture;
  }
  return nullptr;
}

// `graph` null: a new one, which the program may look into while it grows.
cudaError_t begin(cudaStream_t stream, std::shared_ptr<Graph> graph, std::vector<Node*> after, int mode) {
  if (mode < global || mode > relaxed) return cudaErrorInvalidValue;
  if (!is_stream(stream)) return cudaErrorInvalidResourceHandle;
  if (is_legacy(stream)) return cudaErrorStreamCaptureUnsupported;
  if (point_of(stream) != nullptr) return cudaErrorIllegalState;
  const bool owns = graph == nullptr;
  if (owns) publish(graph = make_graph());
  auto made = std::make_unique<Capture>(
      Capture{std::move(graph), stream, mode, captures().next_id++, false, owns, std::this_thread::get_id()});
  captures().streams[stream] = {made.get(), std::move(after)};
  captures().active.push_back(std::move(made));
  return cudaSuccess;
}

}  // namespace

Going going(cudaStream_t stream) {
  if (captures().active.empty()) return {};
  if (const Point* p = point_of(stream)) {
    if (p->capture->invalid) return {nullptr, cudaErrorStreamCaptureInvalidated};
    return {p->capture};
  }
  return {nullptr, is_legacy(stream) ? may_use_legacy() : cudaSuccess};
}

void captured(Capture& capture, cudaStream_t stream, Operation operation) {
  Point& p = captures().streams[stream];
  cudaMemcpy3DParms copy{};
  if (const auto* c = std::get_if<CopyOperation>(&operation)) copy = parameters_of(*c);
  Node* node = add_node(*capture.graph, std::move(operation), std::move(p.after));
  node->copy = copy;
  p.after = {node};
}

bool capture_record(cudaEvent_t event, cudaStream_t stream, cudaError_t& error) {
  const Going to = going(stream);
  error = to.error;
  if (to.error != cudaSuccess) return true;
  if (to.capture == nullptr) {
    captures().events.erase(event);
    return false;
  }
  captures().events[event] = captures().streams[stream];
  return true;
}

bool capture_wait(cudaEvent_t event, cudaStream_t stream, cudaError_t& error) {
  const Point* from = point_of(event);
  Point* to = point_of(stream);
  if (from == nullptr && to == nullptr) return false;
  error = cudaSuccess;
  if (to != nullptr && to->capture->invalid) {
    error = cudaErrorStreamCaptureInvalidated;
  } else if (from == nullptr) {
    // An event that was never recorded is nothing to wait for; any other is of the world outside.
    if (was_recorded(event)) error = spoil(*to->capture, cudaErrorStreamCaptureIsolation);
  } else if (is_legacy(stream)) {
    error = spoil(*from->capture, cudaErrorStreamCaptureImplicit);
  } else if (to == nullptr) {
    const Point copy = *from;
    captures().streams[stream] = copy;
  } else if (to->capture != from->capture) {
    from->capture->invalid = true;
    error = spoil(*to->capture, cudaErrorStreamCaptureMerge);
  } else {
    unite(to->after, from->after);
  }
  return true;
}

cudaError_t may_wait(cudaStream_t stream) {
  if (Point* p = point_of(stream)) return spoil(*p->capture, cudaErrorStreamCaptureUnsupported);
  if (const cudaError_t error = may_disturb_captures(); error != cudaSuccess) return error;
  return is_legacy(stream) ? may_use_legacy() : cudaSuccess;
}
cudaError_t may_wait(cudaEvent_t event) {
  if (Point* p = point_of(event)) return spoil(*p->capture, cudaErrorCapturedEvent);
  return may_disturb_captures();
}
// A capture in mode global forbids them to all threads, one in mode thread-local to its own; a thread's own mode
// (cudaThreadExchangeStreamCaptureMode) narrows that.
cudaError_t may_disturb_captures() {
  cudaError_t error = cudaSuccess;
  for (const auto& c : captures().active) {
    const bool own = c->thread == std::this_thread::get_id();
    const bool forbids =
        own ? c->mode != relaxed && thread_mode != relaxed : c->mode == global && thread_mode == global;
    if (forbids) error = spoil(*c, cudaErrorStreamCaptureUnsupported);
  }
  return error;
}
void spoil_capture(cudaStream_t stream) {
  if (Point* p = point_of(stream)) p->capture->invalid = true;
}
cudaError_t may_wait_for_device() {
  if (captures().active.empty()) return cudaSuccess;
  return spoil(*captures().active.front(), cudaErrorStreamCaptureUnsupported);
}
cudaError_t may_use_legacy() {
  Capture* capture = in_the_way_of_legacy();
  return capture != nullptr ? spoil(*capture, cudaErrorStreamCaptureImplicit) : cudaSuccess;
}

void forget_stream_capture(cudaStream_t stream) {
  const Point* p = point_of(stream);
  if (p == nullptr) return;
  if (p->capture->origin == stream) {
    if (p->capture->owns_graph) withdraw(p->capture->graph.get());
    end(p->capture);
  } else {
    captures().streams.erase(stream);
  }
}
void forget_event_capture(cudaEvent_t event) { captures().events.erase(event); }

COALESCE_API cudaError_t cudaStreamBeginCapture(cudaStream_t stream, int mode) {
  return call([&](Runtime&) { return begin(stream, nullptr, {}, mode); });
}
COALESCE_ALIAS(cudaStreamBeginCapture_ptsz, cudaStreamBeginCapture);
COALESCE_ALIAS(cudaStreamBeginCapture_v2, cudaStreamBeginCapture);

COALESCE_API cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph,
                                                       const cudaGraphNode_t* needs, const void*, size_t count,
                                                       int mode) {
  return call([&](Runtime&) {
    auto owner = shared(graph);
    if (owner == nullptr || (needs == nullptr && count != 0)) return cudaErrorInvalidValue;
    for (size_t i = 0; i < count; ++i) {
      if (!is_node(needs[i]) || needs[i]->graph != graph) return cudaErrorInvalidValue;
    }
    return begin(stream, std::move(owner), {needs, needs + count}, mode);
  });
}
COALESCE_ALIAS(cudaStreamBeginCaptureToGraph_ptsz, cudaStreamBeginCaptureToGraph);

COALESCE_API cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  if (graph != nullptr) *graph = nullptr;
  return call([&](Runtime&) {
    Point* p = point_of(stream);
    if (p == nullptr) return graph == nullptr ? cudaErrorInvalidValue : cudaErrorIllegalState;
    Capture& capture = *p->capture;
    if (graph == nullptr && capture.owns_graph) return cudaErrorInvalidValue;  // else the program has it
    if (capture.origin != stream) return spoil(capture, cudaErrorStreamCaptureUnmatched);
    if (capture.mode != relaxed && capture.thread != std::this_thread::get_id()) {
      return spoil(capture, cudaErrorStreamCaptureWrongThread);
    }
    const cudaError_t error = capture.invalid    ? cudaErrorStreamCaptureInvalidated
                              : !joined(capture) ? cudaErrorStreamCaptureUnjoined
                                                 : cudaSuccess;
    if (error == cudaSuccess) {
      if (graph != nullptr) *graph = capture.graph.get();
    } else if (capture.owns_graph) {
      withdraw(capture.graph.get());
    }
    end(&capture);
    return error;
  });
}
COALESCE_ALIAS(cudaStreamEndCapture_ptsz, cudaStreamEndCapture);

namespace {

enum Status { none = 0, active = 1, invalidated = 2 };

cudaError_t info(cudaStream_t stream, int* status, unsigned long long* id, cudaGraph_t* graph,
                 const cudaGraphNode_t** after, const void** edges, size_t* count) {
  if (status == nullptr) return note(cudaErrorInvalidValue);
  return call([&](Runtime&) {
    if (!is_stream(stream)) return cudaErrorInvalidResourceHandle;
    *status = none;
    const Point* p = point_of(stream);
    if (p == nullptr) return is_legacy(stream) ? may_use_legacy() : cudaSuccess;
    *status = p->capture->invalid ? invalidated : active;
    if (id != nullptr) *id = p->capture->id;
    if (graph != nullptr) *graph = p->capture->graph.get();
    if (after != nullptr) *after = p->after.data();
    if (edges != nullptr) *edges = nullptr;  // all are ordinary
    if (count != nullptr) *count = p->after.size();
    return cudaSuccess;
  });
}

cudaError_t change(cudaStream_t stream, const cudaGraphNode_t* nodes, size_t count, unsigned flags) {
  if (flags > 1 || (nodes == nullptr && count != 0)) return note(cudaErrorInvalidValue);
  return call([&](Runtime&) {
    Point* p = point_of(stream);
    if (p == nullptr) return cudaErrorIllegalState;
    for (size_t i = 0; i < count; ++i) {
      if (!is_node(nodes[i]) || nodes[i]->graph != p->capture->graph.get()) return cudaErrorInvalidValue;
    }
    if (flags == 1) p->after.clear();
    unite(p->after, {nodes, nodes + count});
    return cudaSuccess;
  });
}

}  // namespace

COALESCE_API cudaError_t cudaStreamIsCapturing(cudaStream_t stream, int* status) {
  return info(stream, status, nullptr, nullptr, nullptr, nullptr, nullptr);
}
COALESCE_ALIAS(cudaStreamIsCapturing_ptsz, cudaStreamIsCapturing);

// The names changed their meaning: until 12 (stream, status, id), in 13 what 12 calls _v3.
COALESCE_API cudaError_t cudaStreamGetCaptureInfo_v3(cudaStream_t stream, int* status, unsigned long long* id,
                                                     cudaGraph_t* graph, const cudaGraphNode_t** after,
                                                     const void** edges, size_t* count) {
  return info(stream, status, id, graph, after, edges, count);
}
COALESCE_ALIAS(cudaStreamGetCaptureInfo_v3_ptsz, cudaStreamGetCaptureInfo_v3);
COALESCE_API cudaError_t cudaStreamGetCaptureInfo_v2(cudaStream_t stream, int* status, unsigned long long* id,
                                                     cudaGraph_t* graph, const cudaGraphNode_t** after, size_t* count) {
  return info(stream, status, id, graph, after, nullptr, count);
}
COALESCE_ALIAS(cudaStreamGetCaptureInfo_v2_ptsz, cudaStreamGetCaptureInfo_v2);
COALESCE_API cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, int* status, unsigned long long* id,
                                                  cudaGraph_t* graph, const cudaGraphNode_t** after, const void** edges,
                                                  size_t* count) {
  if (runtime_version() < 13000) return info(stream, status, id, nullptr, nullptr, nullptr, nullptr);
  return info(stream, status, id, graph, after, edges, count);
}
COALESCE_ALIAS(cudaStreamGetCaptureInfo_ptsz, cudaStreamGetCaptureInfo);

COALESCE_API cudaError_t cudaStreamUpdateCaptureDependencies_v2(cudaStream_t stream, cudaGraphNode_t* nodes,
                                                                const void*, size_t count, unsigned flags) {
  return change(stream, nodes, count, flags);
}
COALESCE_ALIAS(cudaStreamUpdateCaptureDependencies_v2_ptsz, cudaStreamUpdateCaptureDependencies_v2);
COALESCE_API cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t* nodes,
                                                             const void* edges, size_t count, unsigned flags) {
  if (runtime_version() >= 13000) return change(stream, nodes, count, flags);
  return change(stream, nodes, reinterpret_cast<size_t>(edges), static_cast<unsigned>(count));
}
COALESCE_ALIAS(cudaStreamUpdateCaptureDependencies_ptsz, cudaStreamUpdateCaptureDependencies);

COALESCE_API cudaError_t cudaThreadExchangeStreamCaptureMode(int* mode) {
  if (mode == nullptr || *mode < global || *mode > relaxed) return note(cudaErrorInvalidValue);
  std::swap(*mode, thread_mode);
  return cudaSuccess;
}

}  // namespace coalesce::cudart
