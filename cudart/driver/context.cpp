// Initialisation and contexts. All contexts of a device share what it has: memory, modules and streams of one are those
// of all. What a program's own context has allocated ends with it.
#include <algorithm>
#include <map>
#include <memory>
#include <vector>

#include "cudart/driver/runtime_api.h"
#include "cudart/driver/state.h"

namespace coalesce::cudart {

struct Context {
  unsigned flags = 0;
  unsigned version = 3020;  // of the API by which it was made
  unsigned long long id = 1;
  unsigned device = 0;
  std::map<CUdeviceptr, uint32_t> memory;  // address, serial number of the allocation: of own contexts alone
};

namespace {

constexpr unsigned kContextFlags = 0xff;

// Outlives cudaDeviceReset. Under the lock.
struct Driver {
  bool initialised = false;
  bool made_machine = false;                        // false: where there is a machine, the runtime's API has made it
  std::vector<std::unique_ptr<Context>> primaries;  // of each device
  std::vector<unsigned> primary_users;
  std::vector<std::unique_ptr<Context>> own;
  unsigned long long next_id = 1;

  Driver() : primary_users(runtime().devices()) {
    for (unsigned device = 0; device < runtime().devices(); ++device) {
      primaries.push_back(std::make_unique<Context>());
      primaries.back()->id = next_id++;
      primaries.back()->device = device;
    }
  }
  Context& primary(unsigned device) { return *primaries[device]; }
  bool is_primary(CUcontext c) const {
    return std::ranges::any_of(primaries, [=](const auto& o) { return o.get() == c; });
  }
  bool lives(CUcontext c) const {
    return is_primary(c) || std::ranges::any_of(own, [=](const auto& o) { return o.get() == c; });
  }
};
Driver& driver() { return runtime().process().get<Driver>(); }

// The contexts of a thread, the current one last. Without a destructor, as programs call from static objects' ones.
struct Stack {
  CUcontext entries[64];
  unsigned size;
};
thread_local Stack stack{};

// Whether the runtime's API uses the device's primary context.
bool has_begun(const Driver& d, unsigned device) {
  return runtime().has_begun(device) || (runtime().has_machine() && !d.made_machine);
}

// Null: none. A thread that has made none current has the primary one where the runtime's API is in use.
CUcontext current(Driver& d) {
  const CUcontext top = stack.size != 0 ? stack.entries[stack.size - 1] : nullptr;
  // cudaSetDevice makes the primary context of its device current.
  if (top != nullptr && (!d.lives(top) || top->device == thread_device())) return top;
  if (top != nullptr) return &d.primary(thread_device());
  return has_begun(d, thread_device()) ? &d.primary(thread_device()) : nullptr;
}

// The thread's calls go to the device of its current context from now on.
void follow(Driver& d) {
  const CUcontext top = stack.size != 0 ? stack.entries[stack.size - 1] : nullptr;
  if (top != nullptr && d.lives(top)) set_thread_device(top->device);
}

template <typename Body>
CUresult with_driver(Body&& body) {
  const std::lock_guard lock(runtime().mutex);
  Driver& d = driver();
  d.initialised |= runtime().is_used();  // the runtime initialises the driver
  return d.initialised ? body(d) : CUDA_ERROR_NOT_INITIALIZED;
}

CUresult push(CUcontext c) {
  if (stack.size == std::size(stack.entries)) return CUDA_ERROR_INVALID_VALUE;
  stack.entries[stack.size++] = c;
  set_thread_device(c->device);
  return CUDA_SUCCESS;
}

CUresult create(CUcontext* out, unsigned flags, CUdevice device, unsigned version) {
  return with_driver([&](Driver& d) {
    if (out == nullptr || (flags & ~kContextFlags) != 0) return CUDA_ERROR_INVALID_VALUE;
    if (!runtime().is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
    d.own.push_back(std::make_unique<Context>(Context{flags, version, d.next_id++, static_cast<unsigned>(device), {}}));
    *out = d.own.back().get();
    return push(*out);
  });
}

}  // namespace

CUresult initialised() {
  return with_driver([](Driver&) { return CUDA_SUCCESS; });
}

CUresult current_context() {
  return with_driver([](Driver& d) {
    const CUcontext c = current(d);
    if (c == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    if (!d.lives(c)) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    if (!runtime().has_machine()) d.made_machine = true;
    return CUDA_SUCCESS;
  });
}

CUresult without_context() {
  return with_driver([](Driver& d) {
    if (!runtime().has_machine()) d.made_machine = true;
    return CUDA_SUCCESS;
  });
}

COALESCE_API CUresult cuInit(unsigned flags) {
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (runtime().device() == nullptr) return CUDA_ERROR_NO_DEVICE;
  const std::lock_guard lock(runtime().mutex);
  driver().initialised = true;
  return CUDA_SUCCESS;
}

COALESCE_API CUresult cuCtxCreate_v2(CUcontext* out, unsigned flags, CUdevice device) {
  return create(out, flags, device, 3020);
}
COALESCE_API CUresult cuCtxCreate_v3(CUcontext* out, void*, int affinities, unsigned flags, CUdevice device) {
  return affinities != 0 ? CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY : create(out, flags, device, 11040);
}
COALESCE_API CUresult cuCtxCreate_v4(CUcontext* out, void*, unsigned flags, CUdevice device) {
  return create(out, flags, device, 12050);
}

void belongs_to_context(CUdeviceptr address) {
  with_driver([&](Driver& d) {
    const CUcontext c = current(d);
    const machine::Allocation* a = runtime().memory().find(address);
    if (c != nullptr && !d.is_primary(c) && a != nullptr) c->memory[address] = a->serial;
    return CUDA_SUCCESS;
  });
}

COALESCE_API CUresult cuCtxDestroy_v2(CUcontext context) {
  std::map<CUdeviceptr, uint32_t> memory;
  const CUresult result = with_driver([&](Driver& d) {
    if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (d.is_primary(context) || !d.lives(context)) return CUDA_ERROR_INVALID_CONTEXT;
    // A place that is freed, and may be another allocation since, has another serial number.
    for (const auto& [address, serial] : context->memory)
      if (const machine::Allocation* a = runtime().memory().find(address); a != nullptr && a->serial == serial)
        memory.emplace(address, serial);
    std::erase_if(d.own, [=](const auto& o) { return o.get() == context; });
    if (stack.size != 0 && stack.entries[stack.size - 1] == context) --stack.size;
    follow(d);
    return CUDA_SUCCESS;
  });
  for (const auto& [address, serial] : memory) quietly([&] { return cudaFree(pointer_of(address)); });
  return result;
}
COALESCE_ALIAS(cuCtxDestroy, cuCtxDestroy_v2);
COALESCE_ALIAS(cuCtxDetach, cuCtxDestroy_v2);

COALESCE_API CUresult cuCtxPushCurrent_v2(CUcontext context) {
  return with_driver([&](Driver& d) {
    if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return d.lives(context) ? push(context) : CUDA_ERROR_INVALID_CONTEXT;
  });
}
COALESCE_API CUresult cuCtxPopCurrent_v2(CUcontext* out) {
  return with_driver([&](Driver& d) {
    if (stack.size == 0) return CUDA_ERROR_INVALID_CONTEXT;
    --stack.size;
    if (out != nullptr) *out = stack.entries[stack.size];
    follow(d);
    return CUDA_SUCCESS;
  });
}
COALESCE_API CUresult cuCtxSetCurrent(CUcontext context) {
  return with_driver([&](Driver& d) {
    if (context != nullptr && !d.lives(context)) return CUDA_ERROR_INVALID_CONTEXT;
    if (stack.size != 0) --stack.size;
    return context != nullptr ? push(context) : CUDA_SUCCESS;
  });
}
COALESCE_API CUresult cuCtxGetCurrent(CUcontext* out) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return with_driver([&](Driver& d) {
    *out = current(d);
    return CUDA_SUCCESS;
  });
}

namespace {

// For questions about a context; null: the current one.
template <typename Body>
CUresult about(CUcontext context, Body&& body) {
  return with_driver([&](Driver& d) {
    const CUcontext c = context != nullptr ? context : current(d);
    if (c == nullptr || (context != nullptr && !d.lives(c))) return CUDA_ERROR_INVALID_CONTEXT;
    return d.lives(c) ? body(*c) : CUDA_ERROR_CONTEXT_IS_DESTROYED;
  });
}

template <typename T, typename Value>
CUresult tell(T* out, CUcontext context, Value&& value) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return about(context, [&](const Context& c) {
    *out = value(c);
    return CUDA_SUCCESS;
  });
}

}  // namespace

COALESCE_API CUresult cuCtxGetDevice(CUdevice* out) {
  return tell(out, nullptr, [](const Context& c) { return static_cast<int>(c.device); });
}
// Clients from before CUDA 13 that look for "_v2" by habit (Numba) call this form, and cuCtxSynchronize_v2, without the
// context. All contexts have the same device and wait for the same work, so the current one stands for an unknown one.
COALESCE_API CUresult cuCtxGetDevice_v2(CUdevice* out, CUcontext) { return cuCtxGetDevice(out); }
COALESCE_API CUresult cuCtxGetFlags(unsigned* out) {
  return tell(out, nullptr, [](const Context& c) { return c.flags; });
}
COALESCE_API CUresult cuCtxSetFlags(unsigned flags) {
  if ((flags & ~kContextFlags) != 0) return CUDA_ERROR_INVALID_VALUE;
  return about(nullptr, [&](Context& c) {
    c.flags = flags;
    return CUDA_SUCCESS;
  });
}
COALESCE_API CUresult cuCtxGetId(CUcontext context, unsigned long long* out) {
  return tell(out, context, [](const Context& c) { return c.id; });
}
COALESCE_API CUresult cuCtxGetApiVersion(CUcontext context, unsigned* out) {
  return tell(out, context, [](const Context& c) { return c.version; });
}
COALESCE_API CUresult cuCtxSynchronize() { return in_context(cudaDeviceSynchronize); }
COALESCE_API CUresult cuCtxSynchronize_v2(CUcontext) { return cuCtxSynchronize(); }
COALESCE_API CUresult cuCtxGetLimit(size_t* value, cudaLimit limit) {
  return in_context([&] { return cudaDeviceGetLimit(value, limit); });
}
COALESCE_API CUresult cuCtxSetLimit(cudaLimit limit, size_t value) {
  return in_context([&] { return cudaDeviceSetLimit(limit, value); });
}
COALESCE_API CUresult cuCtxGetCacheConfig(int* preference) {
  return in_context([&] { return cudaDeviceGetCacheConfig(preference); });
}
COALESCE_API CUresult cuCtxSetCacheConfig(int preference) {
  return in_context([&] { return cudaDeviceSetCacheConfig(preference); });
}
COALESCE_API CUresult cuCtxGetSharedMemConfig(int* config) {
  return in_context([&] { return cudaDeviceGetSharedMemConfig(config); });
}
COALESCE_API CUresult cuCtxSetSharedMemConfig(int config) {
  return in_context([&] { return cudaDeviceSetSharedMemConfig(config); });
}
COALESCE_API CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  return in_context([&] { return cudaDeviceGetStreamPriorityRange(least, greatest); });
}
COALESCE_API CUresult cuCtxResetPersistingL2Cache() { return in_context(cudaCtxResetPersistingL2Cache); }

namespace {

template <typename Body>
CUresult with_peer(CUcontext peer, Body&& body) {
  int device = 0;
  if (const CUresult known = about(peer,
                                   [&](const Context& c) {
                                     device = static_cast<int>(c.device);
                                     return peer == nullptr ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS;
                                   });
      known != CUDA_SUCCESS)
    return known;
  return in_context([&] { return body(device); });
}

}  // namespace

COALESCE_API CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned flags) {
  return with_peer(peer, [&](int device) { return cudaDeviceEnablePeerAccess(device, flags); });
}
COALESCE_API CUresult cuCtxDisablePeerAccess(CUcontext peer) {
  return with_peer(peer, [&](int device) { return cudaDeviceDisablePeerAccess(device); });
}

COALESCE_API CUresult cuDevicePrimaryCtxRetain(CUcontext* out, CUdevice device) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return with_driver([&](Driver& d) {
    if (!runtime().is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
    const auto number = static_cast<unsigned>(device);
    ++d.primary_users[number];
    *out = &d.primary(number);
    return CUDA_SUCCESS;
  });
}
COALESCE_API CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  return with_driver([&](Driver& d) {
    if (!runtime().is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
    const auto number = static_cast<unsigned>(device);
    if (d.primary_users[number] == 0) return CUDA_ERROR_INVALID_CONTEXT;
    --d.primary_users[number];
    return CUDA_SUCCESS;
  });
}
COALESCE_ALIAS(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2);
COALESCE_API CUresult cuDevicePrimaryCtxReset_v2(CUdevice device) {
  return after_init([&] {
    if (!runtime().is_device(device)) return cudaErrorInvalidDevice;
    const unsigned before = thread_device();
    set_thread_device(static_cast<unsigned>(device));
    const cudaError_t error = cudaDeviceReset();
    set_thread_device(before);
    return error;
  });
}
COALESCE_ALIAS(cuDevicePrimaryCtxReset, cuDevicePrimaryCtxReset_v2);
COALESCE_API CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned* flags, int* active) {
  return with_driver([&](Driver& d) {
    if (!runtime().is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
    const auto number = static_cast<unsigned>(device);
    if (flags == nullptr || active == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *flags = d.primary(number).flags;
    *active = d.primary_users[number] != 0 || has_begun(d, number) ? 1 : 0;
    return CUDA_SUCCESS;
  });
}
COALESCE_API CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned flags) {
  return with_driver([&](Driver& d) {
    if (!runtime().is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
    const auto number = static_cast<unsigned>(device);
    if ((flags & ~kContextFlags) != 0) return CUDA_ERROR_INVALID_VALUE;
    d.primary(number).flags = flags;
    return CUDA_SUCCESS;
  });
}
COALESCE_ALIAS(cuDevicePrimaryCtxSetFlags, cuDevicePrimaryCtxSetFlags_v2);

}  // namespace coalesce::cudart
