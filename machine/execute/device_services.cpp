// The functions of the device's runtime, as kernels call them: one row each. Streams and events need no state, as all
// that a kernel gives the device runs in the order in which it was given.
#include <algorithm>
#include <cstring>
#include <utility>

#include "machine/execute/calls.h"
#include "machine/execute/device_runtime.h"
#include "machine/isa/service.h"

namespace coalesce::machine {

namespace {

using A = const uint64_t*;
using T = ServiceThread;

constexpr uint64_t kNonBlocking = 1, kDisableTiming = 2;  // flags of streams and events
constexpr uint32_t kRuntimeVersion = 13000;
constexpr uint64_t kMostParameterBytes = 32764;  // of a kernel

uint64_t thread_of(const T& t) { return t.block << 10 | t.thread; }

template <class V>
void store(T& t, uint64_t address, V value) {
  std::memcpy(t.at(address, sizeof value), &value, sizeof value);
}

uint64_t failed(T& t, DeviceError error) { return static_cast<uint64_t>(t.runtime->failed(thread_of(t), error)); }
uint64_t nothing(T&, A) { return 0; }

uint64_t buffer_v2(T& t, A a) { return t.runtime->parameter_buffer(thread_of(t), a[0], a + 1, a + 4, a[7]); }
uint64_t buffer(T& t, A a) { return t.runtime->raw_buffer((a[1] + a[0] - 1) / std::max<uint64_t>(1, a[0]) * a[0]); }
uint64_t launch_v2(T& t, A a) { return static_cast<uint64_t>(t.runtime->launch(thread_of(t), a[0], a[1])); }
uint64_t launch(T& t, A a) {
  return static_cast<uint64_t>(t.runtime->launch(thread_of(t), a[0], a[1], a + 2, a + 5, a[8], a[9]));
}

uint64_t get_last_error(T& t, A) { return static_cast<uint64_t>(t.runtime->last_error(thread_of(t), true)); }
uint64_t peek_last_error(T& t, A) { return static_cast<uint64_t>(t.runtime->last_error(thread_of(t), false)); }

struct ErrorText {
  DeviceError error;
  const char *name, *text;
};
constexpr ErrorText kErrors[] = {
    {DeviceError::success, "cudaSuccess", "no error"},
    {DeviceError::invalid_value, "cudaErrorInvalidValue", "invalid argument"},
    {DeviceError::memory_allocation, "cudaErrorMemoryAllocation", "out of memory"},
    {DeviceError::invalid_configuration, "cudaErrorInvalidConfiguration", "invalid configuration argument"},
    {DeviceError::pending_exceeded, "cudaErrorLaunchPendingCountExceeded",
     "launch would exceed maximum number of outstanding launches"},
    {DeviceError::invalid_device_function, "cudaErrorInvalidDeviceFunction", "invalid device function"},
    {DeviceError::not_supported, "cudaErrorNotSupported", "operation not supported"},
};
uint64_t error_text(T& t, A a, const char* ErrorText::* which) {
  for (const ErrorText& e : kErrors)
    if (static_cast<uint64_t>(e.error) == a[0]) return t.runtime->text(e.*which);
  return t.runtime->text("unrecognized error code");
}
uint64_t error_string(T& t, A a) { return error_text(t, a, &ErrorText::text); }
uint64_t error_name(T& t, A a) { return error_text(t, a, &ErrorText::name); }

uint64_t device_count(T& t, A a) { return store<int32_t>(t, a[0], 1), 0; }
uint64_t get_device(T& t, A a) { return store<int32_t>(t, a[0], 0), 0; }
uint64_t version(T& t, A a) { return store<int32_t>(t, a[0], kRuntimeVersion), 0; }
// An attribute has the number that cudaDeviceAttr gives it.
struct Attribute {
  uint64_t number;
  uint32_t Device::* value;
};
constexpr Attribute kAttributes[] = {
    {1, &Device::threads_per_block},           {8, &Device::shared_per_block}, {16, &Device::multiprocessors},
    {39, &Device::threads_per_multiprocessor}, {75, &Device::major},           {76, &Device::minor},
    {97, &Device::shared_per_block_optin}};
uint64_t get_attribute(T& t, A a) {
  if (a[2] != 0) return failed(t, DeviceError::invalid_value);
  if (a[1] == 10) return store<int32_t>(t, a[0], 32), 0;  // cudaDevAttrWarpSize
  const auto* const found =
      std::ranges::find_if(kAttributes, [&](const Attribute& attribute) { return attribute.number == a[1]; });
  if (found == std::end(kAttributes))
    t.fail("cudaDeviceGetAttribute in a kernel is not supported for attribute " + std::to_string(a[1]));
  return store(t, a[0], t.runtime->device().*found->value), 0;
}

uint64_t make_stream(T& t, A a) {
  if (a[1] > kNonBlocking) return failed(t, DeviceError::invalid_value);
  return store(t, a[0], t.runtime->next_handle()), 0;
}
uint64_t make_event(T& t, A a) {
  if (a[1] != kDisableTiming) return failed(t, DeviceError::invalid_value);
  return store(t, a[0], t.runtime->next_handle()), 0;
}

uint64_t allocate(T& t, A a) {
  const uint64_t at = a[1] ? t.heap->allocate(a[1]) : 0;
  if (at == 0 && a[1] != 0) return failed(t, DeviceError::memory_allocation);
  return store(t, a[0], at), 0;
}
uint64_t release(T& t, A a) { return a[0] == 0 || t.heap->release(a[0]) ? 0 : failed(t, DeviceError::invalid_value); }

uint64_t give(T& t, DeviceWork w, uint64_t stream) {
  if (w.bytes == 0 || w.rows == 0) return 0;
  for (uint64_t k = 0; k < w.rows; ++k) {
    t.at(w.to + k * w.to_pitch, w.bytes);
    if (w.kind == DeviceWork::Kind::copy) t.at(w.from + k * w.from_pitch, w.bytes);
  }
  return static_cast<uint64_t>(t.runtime->give(std::move(w), stream));
}
uint64_t copy(T& t, A a) {
  DeviceWork w;
  w.kind = DeviceWork::Kind::copy;
  w.to = a[0], w.from = a[1], w.bytes = a[2];
  return give(t, std::move(w), a[4]);
}
uint64_t copy_2d(T& t, A a) {
  DeviceWork w;
  w.kind = DeviceWork::Kind::copy;
  w.to = a[0], w.to_pitch = a[1], w.from = a[2], w.from_pitch = a[3], w.bytes = a[4], w.rows = a[5];
  if (w.rows > 1 && (w.bytes > w.to_pitch || w.bytes > w.from_pitch)) return failed(t, DeviceError::invalid_value);
  return give(t, std::move(w), a[7]);
}
uint64_t fill(T& t, A a) {
  DeviceWork w;
  w.kind = DeviceWork::Kind::fill;
  w.to = a[0], w.value = static_cast<uint8_t>(a[1]), w.bytes = a[2];
  return give(t, std::move(w), a[3]);
}
uint64_t fill_2d(T& t, A a) {
  DeviceWork w;
  w.kind = DeviceWork::Kind::fill;
  w.to = a[0], w.to_pitch = a[1], w.value = static_cast<uint8_t>(a[2]), w.bytes = a[3], w.rows = a[4];
  if (w.rows > 1 && w.bytes > w.to_pitch) return failed(t, DeviceError::invalid_value);
  return give(t, std::move(w), a[5]);
}

uint64_t launch_graph(T& t, A a) {
  const DeviceError error = t.runtime->launch_graph(thread_of(t), a[0], a[1]);
  if (error == DeviceError::illegal_address)
    t.astray("cudaGraphLaunch in a kernel, of a graph that was not instantiated for launches by the device");
  return static_cast<uint64_t>(error);
}

using Field = NodeChange::Field;
uint64_t change_node(T& t, const NodeChange& c) {
  return static_cast<uint64_t>(t.runtime->change_node(thread_of(t), c));
}
std::vector<uint8_t> bytes_at(T& t, uint64_t address, uint64_t count) {
  if (count > kMostParameterBytes) return std::vector<uint8_t>(kMostParameterBytes + 1);  // more than a kernel has
  const auto* from = reinterpret_cast<const uint8_t*>(t.read(address, count));
  return {from, from + count};
}
uint64_t set_node_parameter(T& t, A a) {
  return change_node(t, {.node = a[0], .field = Field::parameter, .offset = a[1], .bytes = bytes_at(t, a[2], a[3])});
}
uint64_t enable_node(T& t, A a) {
  return change_node(t, {.node = a[0], .field = Field::enabled, .enabled = (a[1] & 0xff) != 0});
}
uint64_t set_node_grid(T& t, A a) {
  const auto side = [&](int k) { return static_cast<uint32_t>(a[k]); };
  return change_node(t, {.node = a[0], .field = Field::grid, .grid = {side(1), side(2), side(3)}});
}

// cudaGraphKernelNodeUpdate
struct NodeParameter {
  uint64_t value, offset, size;
};
struct NodeUpdate {
  uint64_t node;
  uint32_t field, unused;
  union {
    uint32_t grid[3];
    NodeParameter parameter;
    uint32_t enabled;
  };
};
static_assert(sizeof(NodeUpdate) == 40);
NodeChange change_at(T& t, uint64_t address) {
  NodeUpdate u;
  std::memcpy(&u, t.at(address, sizeof u), sizeof u);
  NodeChange c{.node = u.node, .field = static_cast<Field>(u.field)};
  if (c.field == Field::grid) std::copy_n(u.grid, 3, c.grid.begin());
  if (c.field == Field::enabled) c.enabled = u.enabled != 0;
  if (c.field == Field::parameter) {
    c.offset = u.parameter.offset;
    c.bytes = bytes_at(t, u.parameter.value, u.parameter.size);
  }
  return c;
}
// All of them, or none if one is wrong.
uint64_t change_nodes(T& t, A a) {
  for (const bool asks : {true, false})
    for (uint64_t k = 0; k < a[1]; ++k) {
      NodeChange c = change_at(t, a[0] + k * sizeof(NodeUpdate));
      c.asks = asks;
      if (const uint64_t error = change_node(t, c); error != 0) return error;
    }
  return 0;
}

// The handle is where the condition lies.
uint64_t set_conditional(T& t, A a) { return store(t, a[0], static_cast<uint32_t>(a[1])), 0; }

constexpr Service kServices[] = {
    {"__cudaCDP2GetParameterBufferV2", "8dd4", '8', true, buffer_v2},
    {"__cudaCDP2GetParameterBuffer", "88", '8', true, buffer},
    {"__cudaCDP2LaunchDeviceV2", "88", '4', true, launch_v2},
    {"__cudaCDP2LaunchDeviceV2_ptsz", "88", '4', true, launch_v2},
    {"__cudaCDP2LaunchDevice", "88dd48", '4', true, launch},
    {"__cudaCDP2LaunchDevice_ptsz", "88dd48", '4', true, launch},
    {"__cudaCDP2GetLastError", "", '4', true, get_last_error},
    {"__cudaCDP2PeekAtLastError", "", '4', true, peek_last_error},
    {"__cudaCDP2GetErrorString", "4", '8', true, error_string},
    {"__cudaCDP2GetErrorName", "4", '8', true, error_name},
    {"__cudaCDP2GetDeviceCount", "8", '4', false, device_count},
    {"__cudaCDP2GetDevice", "8", '4', false, get_device},
    {"__cudaCDP2RuntimeGetVersion", "8", '4', false, version},
    {"__cudaCDP2DeviceGetAttribute", "844", '4', true, get_attribute},
    {"__cudaCDP2StreamCreateWithFlags", "84", '4', true, make_stream},
    {"__cudaCDP2StreamDestroy", "8", '4', false, nothing},
    {"__cudaCDP2StreamWaitEvent", "884", '4', false, nothing},
    {"__cudaCDP2StreamWaitEvent_ptsz", "884", '4', false, nothing},
    {"__cudaCDP2EventCreateWithFlags", "84", '4', true, make_event},
    {"__cudaCDP2EventRecord", "88", '4', false, nothing},
    {"__cudaCDP2EventRecord_ptsz", "88", '4', false, nothing},
    {"__cudaCDP2EventRecordWithFlags", "884", '4', false, nothing},
    {"__cudaCDP2EventRecordWithFlags_ptsz", "884", '4', false, nothing},
    {"__cudaCDP2EventDestroy", "8", '4', false, nothing},
    {"__cudaCDP2Malloc", "88", '4', true, allocate},
    {"__cudaCDP2Free", "8", '4', true, release},
    {"__cudaCDP2MemcpyAsync", "88848", '4', true, copy},
    {"__cudaCDP2MemcpyAsync_ptsz", "88848", '4', true, copy},
    {"__cudaCDP2Memcpy2DAsync", "88888848", '4', true, copy_2d},
    {"__cudaCDP2Memcpy2DAsync_ptsz", "88888848", '4', true, copy_2d},
    {"__cudaCDP2MemsetAsync", "8488", '4', true, fill},
    {"__cudaCDP2MemsetAsync_ptsz", "8488", '4', true, fill},
    {"__cudaCDP2Memset2DAsync", "884888", '4', true, fill_2d},
    {"__cudaCDP2Memset2DAsync_ptsz", "884888", '4', true, fill_2d},
    {"cudaGraphLaunch", "88", '4', true, launch_graph},
    {"cudaGraphKernelNodeSetParam", "8888", '4', true, set_node_parameter},
    {"cudaGraphKernelNodeSetEnabled", "84", '4', true, enable_node},
    {"cudaGraphKernelNodeSetGridDim", "8d", '4', true, set_node_grid},
    {"cudaGraphKernelNodeUpdatesApply", "88", '4', true, change_nodes},
    {"cudaGraphSetConditional", "84", '0', true, set_conditional},
};

}  // namespace

const Service* find_service(std::string_view name) {
  for (const Service& s : kServices)
    if (s.name == name) return &s;
  return find_bulk_service(name);
}

}  // namespace coalesce::machine
