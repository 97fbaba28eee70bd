// Stream capture: while a stream captures, what it is given becomes nodes of a graph. Under the lock, all of these.
#pragma once

#include <type_traits>

#include "cudart/api/operation.h"
#include "cudart/api/stream.h"

namespace coalesce::cudart {

struct Capture;

// The destination of a stream's work. `error` is set if there is none: the capture was invalidated before, or the
// legacy stream would have to wait for a capturing one.
struct Going {
  Capture* capture = nullptr;  // null: it runs now
  cudaError_t error = cudaSuccess;
};
Going going(cudaStream_t stream);
// Adds what a capturing stream was given after what it had.
void captured(Capture& capture, cudaStream_t stream, Operation operation);

// How `check` takes an operation in a stream.
template <typename T>
HostCheck::Acts acts(const T& operation) {
  if constexpr (std::is_same_v<T, KernelOperation>)
    return overlaps(operation.launch) ? HostCheck::Acts::overlaps : HostCheck::Acts::kernel;
  else
    return HostCheck::Acts::other;
}

// Runs an operation now, or captures it: every asynchronous call ends here.
template <typename T>
cudaError_t submit(Runtime& r, cudaStream_t stream, T operation) {
  const Going to = going(stream);
  if (to.error != cudaSuccess) return to.error;
  if (to.capture == nullptr) {
    if (r.check() != nullptr) r.check()->act_in(stream, is_blocking(stream), acts(operation));
    return run(r, operation);
  }
  captured(*to.capture, stream, std::move(operation));
  return cudaSuccess;
}

// True: the call was about a capture, and `error` is its answer.
bool capture_record(cudaEvent_t event, cudaStream_t stream, cudaError_t& error);
bool capture_wait(cudaEvent_t event, cudaStream_t stream, cudaError_t& error);

// For calls that wait, or ask whether work is done: not permitted of a capturing stream or its events; they end it.
cudaError_t may_wait(cudaStream_t stream);
cudaError_t may_wait(cudaEvent_t event);
cudaError_t may_wait_for_device();
// A synchronous call on the legacy stream while a capture is on that it would have to wait for.
cudaError_t may_use_legacy();

// For calls that order or wait for more than their streams (allocating, freeing, asking for what is not captured):
// while a capture is on whose mode forbids them to this thread, cudaErrorStreamCaptureUnsupported, and the capture
// ends.
cudaError_t may_disturb_captures();
// call(), for such a call.
template <typename Body>
cudaError_t call_outside_captures(Body&& body) {
  return call([&](Runtime& r) {
    const cudaError_t error = may_disturb_captures();
    return error != cudaSuccess ? error : body(r);
  });
}
// A launch into the stream was refused: its capture, if it has one, ends.
void spoil_capture(cudaStream_t stream);

void forget_stream_capture(cudaStream_t stream);
void forget_event_capture(cudaEvent_t event);

}  // namespace coalesce::cudart
