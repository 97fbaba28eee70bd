// Events hold the host's time at which they were recorded: elapsed times are what the machine really took.
#include <chrono>
#include <memory>
#include <unordered_map>
#include <vector>

#include "cudart/api/capture.h"
#include "cudart/api/graph.h"
#include "cudart/api/stream.h"
#include "cudart/core/runtime.h"

namespace coalesce::cudart {

struct Event {
  unsigned flags;
  bool recorded = false;
  std::chrono::steady_clock::time_point time;
  unsigned device = 0;
};

namespace {

// The flag of cudaEventRecordWithFlags and cudaStreamWaitEvent for a node of the graph being captured, where 0 orders
// its nodes.
constexpr unsigned kExternal = 1;

struct Events {
  std::unordered_map<cudaEvent_t, std::unique_ptr<Event>> all;
};
auto& events() { return held<Events>().all; }

template <typename Body>
cudaError_t with(cudaEvent_t event, Body&& body) {
  return call([&](Runtime&) {
    if (!events().contains(event)) return cudaErrorInvalidResourceHandle;
    return body(*event);
  });
}

// A node of its own, where `stream` is being captured: what kExternal asks for.
cudaError_t capture_external(cudaStream_t stream, Operation operation) {
  const Going to = going(stream);
  if (to.capture == nullptr) return cudaErrorIllegalState;
  captured(*to.capture, stream, std::move(operation));
  return to.error;
}

}  // namespace

unsigned* event_flags(cudaEvent_t event) { return is_event(event) ? &event->flags : nullptr; }
bool is_event(cudaEvent_t event) { return events().contains(event); }
bool was_recorded(cudaEvent_t event) { return events()[event]->recorded; }
void record_now(cudaEvent_t event) {
  Event& e = *events()[event];
  e.recorded = true;
  e.time = std::chrono::steady_clock::now();
}

COALESCE_API cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  if (event == nullptr || flags > cudaEventMask) return note(cudaErrorInvalidValue);
  if ((flags & cudaEventInterprocess) != 0 && (flags & cudaEventDisableTiming) == 0) return note(cudaErrorInvalidValue);
  return call([&](Runtime&) {
    auto made = std::make_unique<Event>(Event{flags, false, {}, runtime().number()});
    *event = made.get();
    events()[*event] = std::move(made);
    return cudaSuccess;
  });
}

COALESCE_API cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, 0); }

static bool end(cudaEvent_t event) {
  forget_event_capture(event);
  if (runtime().check() != nullptr) runtime().check()->order().forget_event(event);
  return events().erase(event) == 1;
}

COALESCE_API cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return call([&](Runtime&) { return end(event) ? cudaSuccess : cudaErrorInvalidResourceHandle; });
}

void end_events_of(unsigned device) {
  std::vector<cudaEvent_t> gone;
  for (const auto& [event, made] : events())
    if (made->device == device) gone.push_back(event);
  for (const cudaEvent_t event : gone) end(event);
}

COALESCE_API cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags) {
  if (flags > 1) return note(cudaErrorInvalidValue);
  return with(event, [&](Event& e) {
    if (!is_stream(stream) || device_of(stream) != e.device) return cudaErrorInvalidResourceHandle;
    if (flags == kExternal) return capture_external(stream, RecordOperation{event});
    cudaError_t error = cudaSuccess;
    if (!capture_record(event, stream, error)) {
      record_now(event);
      if (HostCheck* check = runtime().check()) check->order().record(event, stream, is_blocking(stream));
    }
    return error;
  });
}
COALESCE_API cudaError_t cudaEventRecordWithFlags_ptsz(cudaEvent_t event, cudaStream_t stream, unsigned flags) {
  return cudaEventRecordWithFlags(event, of_thread(stream), flags);
}

COALESCE_API cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return cudaEventRecordWithFlags(event, stream, 0);
}
COALESCE_API cudaError_t cudaEventRecord_ptsz(cudaEvent_t event, cudaStream_t stream) {
  return cudaEventRecordWithFlags(event, of_thread(stream), 0);
}

namespace {

// The host waits for the event, or has asked and been told that it has happened.
cudaError_t wait_for_event(cudaEvent_t event) {
  return with(event, [&](Event&) {
    const cudaError_t error = may_wait(event);
    if (HostCheck* check = runtime().check(); check != nullptr && error == cudaSuccess) {
      check->order().host_waits_for_event(event);
      check->settle();
    }
    return error;
  });
}

}  // namespace

COALESCE_API cudaError_t cudaEventQuery(cudaEvent_t event) {
  return runtime().goes_on() ? cudaErrorNotReady : wait_for_event(event);
}
COALESCE_API cudaError_t cudaEventSynchronize(cudaEvent_t event) { return wait_for_event(event); }

COALESCE_API cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
  if (flags > 1) return note(cudaErrorInvalidValue);
  return with(event, [&](Event&) {
    if (!is_stream(stream)) return cudaErrorInvalidResourceHandle;
    if (flags == kExternal) return capture_external(stream, WaitOperation{event});
    cudaError_t error = cudaSuccess;
    if (!capture_wait(event, stream, error) && runtime().check() != nullptr)
      runtime().check()->order().wait(stream, is_blocking(stream), event);
    return error;
  });
}
COALESCE_API cudaError_t cudaStreamWaitEvent_ptsz(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
  return cudaStreamWaitEvent(of_thread(stream), event, flags);
}

COALESCE_API cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  if (milliseconds == nullptr) return note(cudaErrorInvalidValue);
  return with(start, [&](Event& a) {
    if (!events().contains(end)) return cudaErrorInvalidResourceHandle;
    const Event& b = *end;
    if (a.device != b.device) return cudaErrorInvalidResourceHandle;
    if (!a.recorded || !b.recorded || ((a.flags | b.flags) & cudaEventDisableTiming) != 0) {
      return cudaErrorInvalidResourceHandle;
    }
    *milliseconds = std::chrono::duration<float, std::milli>(b.time - a.time).count();
    return cudaSuccess;
  });
}
COALESCE_ALIAS(cudaEventElapsedTime_v2, cudaEventElapsedTime);

}  // namespace coalesce::cudart
