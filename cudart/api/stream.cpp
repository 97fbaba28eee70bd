#include "cudart/api/stream.h"

#include <algorithm>
#include <memory>
#include <unordered_map>
#include <vector>

#include "cudart/api/capture.h"
#include "cudart/api/range.h"
#include "cudart/core/runtime.h"

namespace coalesce::cudart {

struct Stream {
  unsigned long long id;
  unsigned flags;
  int priority;
  unsigned device;
};

namespace {

constexpr int kGreatestPriority = -5, kLeastPriority = 0;

struct Streams {
  std::unordered_map<cudaStream_t, std::unique_ptr<Stream>> all;
  unsigned long long next_id = 3;  // 1 and 2 are the default streams'
};
auto& streams() { return held<Streams>().all; }

cudaError_t create(cudaStream_t* stream, unsigned flags, int priority) {
  if (stream == nullptr || flags > cudaStreamNonBlocking) return note(cudaErrorInvalidValue);
  return call([&](Runtime&) {
    auto made = std::make_unique<Stream>(Stream{
        held<Streams>().next_id++, flags, std::clamp(priority, kGreatestPriority, kLeastPriority), runtime().number()});
    *stream = made.get();
    streams()[*stream] = std::move(made);
    if (runtime().check() != nullptr) runtime().check()->order().created(*stream);
    return cudaSuccess;
  });
}

// For the calls that only need the stream to exist.
template <typename Body>
cudaError_t with(cudaStream_t stream, Body&& body) {
  return call([&](Runtime&) {
    if (!is_stream(stream)) return cudaErrorInvalidResourceHandle;
    return body();
  });
}
cudaError_t touch(cudaStream_t stream) {
  return with(stream, [] { return cudaSuccess; });
}

template <typename T>
cudaError_t get(cudaStream_t stream, T* out, T of_default, T Stream::* member) {
  if (out == nullptr) return note(cudaErrorInvalidValue);
  return with(stream, [&] {
    *out = is_default(stream) ? of_default : streams()[stream].get()->*member;
    return cudaSuccess;
  });
}

}  // namespace

bool is_blocking(cudaStream_t stream) {
  return is_default(stream) || (streams()[stream]->flags & cudaStreamNonBlocking) == 0;
}

bool is_default(cudaStream_t stream) { return reinterpret_cast<uintptr_t>(stream) <= 2; }

unsigned device_of(cudaStream_t stream) { return is_default(stream) ? runtime().number() : streams()[stream]->device; }

bool is_stream(cudaStream_t stream) { return is_default(stream) || streams().contains(stream); }

COALESCE_API cudaError_t cudaStreamCreate(cudaStream_t* stream) { return create(stream, 0, 0); }
COALESCE_API cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return create(stream, flags, 0);
}
COALESCE_API cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
  return create(stream, flags, priority);
}

static void end(cudaStream_t stream) {
  forget_stream_capture(stream);
  streams().erase(stream);
  if (runtime().check() != nullptr) runtime().check()->order().forget_stream(stream);
}

COALESCE_API cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return call([&](Runtime&) {
    if (!streams().contains(stream)) return cudaErrorInvalidResourceHandle;
    end(stream);
    return cudaSuccess;
  });
}

void end_streams_of(unsigned device) {
  std::vector<cudaStream_t> gone;
  for (const auto& [stream, made] : streams())
    if (made->device == device) gone.push_back(stream);
  for (const cudaStream_t stream : gone) end(stream);
}

namespace {

// The host waits for the stream's work, or has asked and been told that it is done.
cudaError_t wait_for(cudaStream_t stream) {
  return with(stream, [&] {
    const cudaError_t error = may_wait(stream);
    if (HostCheck* check = runtime().check(); check != nullptr && error == cudaSuccess) {
      check->order().host_waits(stream, is_blocking(stream));
      check->settle();
    }
    return error;
  });
}

}  // namespace

COALESCE_API cudaError_t cudaStreamSynchronize(cudaStream_t stream) { return wait_for(stream); }
COALESCE_API cudaError_t cudaStreamSynchronize_ptsz(cudaStream_t stream) { return wait_for(of_thread(stream)); }
COALESCE_API cudaError_t cudaStreamQuery(cudaStream_t stream) {
  return runtime().goes_on() ? cudaErrorNotReady : wait_for(stream);
}
COALESCE_API cudaError_t cudaStreamQuery_ptsz(cudaStream_t stream) { return cudaStreamQuery(of_thread(stream)); }

COALESCE_API cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned* flags) {
  return get(stream, flags, 0u, &Stream::flags);
}
COALESCE_ALIAS(cudaStreamGetFlags_ptsz, cudaStreamGetFlags);
COALESCE_API cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority) {
  return get(stream, priority, 0, &Stream::priority);
}
COALESCE_ALIAS(cudaStreamGetPriority_ptsz, cudaStreamGetPriority);
COALESCE_API cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long* id) {
  return get(stream, id, reinterpret_cast<uintptr_t>(stream) == 2 ? 2ull : 1ull, &Stream::id);
}
COALESCE_ALIAS(cudaStreamGetId_ptsz, cudaStreamGetId);
COALESCE_API cudaError_t cudaStreamGetDevice(cudaStream_t stream, int* device) {
  if (device == nullptr) return note(cudaErrorInvalidValue);
  return with(stream, [&] {
    *device = 0;
    return cudaSuccess;
  });
}
COALESCE_ALIAS(cudaStreamGetDevice_ptsz, cudaStreamGetDevice);

COALESCE_API cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return query([&](Runtime&) {
    if (least != nullptr) *least = kLeastPriority;
    if (greatest != nullptr) *greatest = kGreatestPriority;
    return cudaSuccess;
  });
}

COALESCE_API cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void* pointer, size_t bytes, unsigned flags) {
  const cudaError_t error = touch(stream);
  if (error != cudaSuccess) return error;
  constexpr unsigned global = 1, host = 2, single = 4;
  return call([&](Runtime& r) {
    const machine::Allocation* a = r.memory().find(address_of(pointer));
    const bool whole = is_managed(r, pointer) && a->base == address_of(pointer) && (bytes == 0 || bytes == a->size);
    const bool known = flags == global || flags == host || (flags == single && stream != nullptr);
    return whole && known ? cudaSuccess : cudaErrorInvalidValue;
  });
}
COALESCE_ALIAS(cudaStreamAttachMemAsync_ptsz, cudaStreamAttachMemAsync);
COALESCE_API cudaError_t cudaStreamCopyAttributes(cudaStream_t to, cudaStream_t from) {
  const cudaError_t error = touch(to);
  return error != cudaSuccess ? error : touch(from);
}
COALESCE_ALIAS(cudaStreamCopyAttributes_ptsz, cudaStreamCopyAttributes);
COALESCE_API cudaError_t cudaStreamSetAttribute(cudaStream_t stream, int, const void*) { return touch(stream); }
COALESCE_ALIAS(cudaStreamSetAttribute_ptsz, cudaStreamSetAttribute);

static void function_runs(cudaStream_t stream) {
  HostCheck* const check = runtime().check();
  if (check == nullptr) return;
  check->act_in(stream, is_blocking(stream));
  check->function_runs();
}

// The functions of the program run here, without the lock: they may take as long as they like.
COALESCE_API cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  if (function == nullptr) return note(cudaErrorInvalidValue);
  bool now = true;
  const cudaError_t error = with(stream, [&] {
    const Going to = going(stream);
    if (to.capture != nullptr) captured(*to.capture, stream, HostOperation{function, data});
    now = to.capture == nullptr;
    if (to.error == cudaSuccess && now) function_runs(stream);
    return to.error;
  });
  if (error != cudaSuccess) return error;
  if (now) {
    const Callback callback;
    function(data);
  }
  return cudaSuccess;
}
COALESCE_API cudaError_t cudaLaunchHostFunc_ptsz(cudaStream_t stream, cudaHostFn_t function, void* data) {
  return cudaLaunchHostFunc(of_thread(stream), function, data);
}

COALESCE_API cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t function, void* data,
                                               unsigned flags) {
  if (function == nullptr || flags != 0) return note(cudaErrorInvalidValue);
  const cudaError_t error = with(stream, [&] {
    const cudaError_t may = may_wait(stream);  // graphs cannot hold callbacks
    if (may != cudaErrorStreamCaptureUnsupported) function_runs(stream);
    return may;
  });
  if (error == cudaErrorInvalidResourceHandle || error == cudaErrorStreamCaptureUnsupported) return error;
  const Callback callback;
  function(stream, error, data);  // it is told of earlier faults
  return error;
}
COALESCE_ALIAS(cudaStreamAddCallback_ptsz, cudaStreamAddCallback);

}  // namespace coalesce::cudart
