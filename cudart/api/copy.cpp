// Copies: every form becomes one box of bytes.
#include <cstring>
#include <string_view>
#include <vector>

#include "cudart/api/array.h"
#include "cudart/api/capture.h"
#include "cudart/api/stream.h"
#include "cudart/core/registry.h"

namespace coalesce::cudart {
namespace {

using record::CopyPath;

// Tells `check` of the copy, which has been found to be possible, before it happens.
void check_copy(Runtime& r, const CopyOperation& c, Where to, Where from, bool to_device, bool from_device) {
  HostCheck& check = *r.check();
  check.begin_work(c.call, false);
  std::vector<HostCheck::Range> ranges;
  uint64_t unwritten = 0, first = 0;
  for (size_t z = c.box.depth; z-- > 0;) {
    for (size_t y = c.box.height; y-- > 0;) {
      const uint64_t source = c.from.address + z * c.from.slice + y * c.from.pitch;
      if (on_device(from)) ranges.push_back({source, c.box.width, false});
      if (on_device(to)) ranges.push_back({c.to.address + z * c.to.slice + y * c.to.pitch, c.box.width, true});
      if (from_device && !to_device) unwritten += r.machine().unwritten(source, c.box.width, first);
    }
  }
  check.used(ranges);
  if (unwritten != 0) check.unwritten(c.call, first, unwritten, c.box.bytes());
  // CUDA's rules: a copy within the device returns at once, and one to pageable memory does not.
  const bool pageable = to == Where::pageable;
  if ((c.waits && !(to_device && from_device)) || pageable) check.host_waits_for_work();
}

// The device whose memory the address lies in, where kernels can reach it.
unsigned device_of(Runtime& r, uint64_t address) {
  const machine::Allocation* a = r.memory().find(address);
  return a == nullptr || a->origin == machine::Origin::host || a->origin == machine::Origin::managed ? r.number()
                                                                                                     : a->device;
}

// Tells `check` why the copy is not possible.
cudaError_t refuse_copy(Runtime& r, const CopyOperation& c, uint64_t address, uint64_t bytes, const char* why) {
  if (r.check() != nullptr) r.check()->bad_copy(c.call, address, bytes, why);
  return cudaErrorInvalidValue;
}
cudaError_t refuse_rows(Runtime& r, const CopyOperation& c) {
  refuse_copy(r, c, c.to.address, c.box.width, "has rows that are longer than the distance between them");
  return cudaErrorInvalidPitchValue;
}
constexpr CopyPath kPaths[2][2] = {{CopyPath::h2h, CopyPath::h2d},
                                   {CopyPath::d2h, CopyPath::d2d}};  // [from][to] device?

}  // namespace

cudaError_t run(Runtime& r, const CopyOperation& c) {
  if (c.kind < cudaMemcpyHostToHost || c.kind > cudaMemcpyDefault) return cudaErrorInvalidMemcpyDirection;
  if (c.box.empty()) return cudaSuccess;
  if ((c.box.height > 1 || c.box.depth > 1) && (c.box.width > c.to.pitch || c.box.width > c.from.pitch)) {
    return refuse_rows(r, c);
  }
  uint64_t to_bytes = 0, from_bytes = 0;
  if (!box_span(c.box, c.to, to_bytes) || !box_span(c.box, c.from, from_bytes)) return cudaErrorInvalidValue;
  Where to{}, from{};
  if (c.to.address == 0 || !classify(r, c.to.address, to_bytes, to))
    return refuse_copy(r, c, c.to.address, to_bytes, "writes past the end of an allocation, or where none is");
  if (c.from.address == 0 || !classify(r, c.from.address, from_bytes, from))
    return refuse_copy(r, c, c.from.address, from_bytes, "reads past the end of an allocation, or where none is");
  // Memory that the kind calls the device's must be memory that the device reaches. What it calls the host may be the
  // device's, too, as on an H100 (tests/truth/error_codes.txt); `check` says so.
  bool to_device = on_device(to), from_device = on_device(from);
  if (c.kind != cudaMemcpyDefault) {
    to_device = c.kind == cudaMemcpyHostToDevice || c.kind == cudaMemcpyDeviceToDevice;
    from_device = c.kind == cudaMemcpyDeviceToHost || c.kind == cudaMemcpyDeviceToDevice;
    if (!(to_device ? on_device(to) : on_host(to))) {
      const cudaError_t error =
          refuse_copy(r, c, c.to.address, to_bytes, "goes to memory of the other side than its kind says");
      if (to_device) return error;
      to_device = true;
    }
    if (!(from_device ? on_device(from) : on_host(from))) {
      const cudaError_t error =
          refuse_copy(r, c, c.from.address, from_bytes, "comes from memory of the other side than its kind says");
      if (from_device) return error;
      from_device = true;
    }
  }
  if (r.check() != nullptr) check_copy(r, c, to, from, to_device, from_device);
  auto* destination = reinterpret_cast<char*>(c.to.address);
  const auto* source = reinterpret_cast<const char*>(c.from.address);
  for (size_t z = 0; z < c.box.depth; ++z) {
    for (size_t y = 0; y < c.box.height; ++y) {
      std::memmove(destination + z * c.to.slice + y * c.to.pitch, source + z * c.from.slice + y * c.from.pitch,
                   c.box.width);
      const uint64_t to_row = c.to.address + z * c.to.slice + y * c.to.pitch;
      const uint64_t from_row = c.from.address + z * c.from.slice + y * c.from.pitch;
      if (to_device && from_device) r.machine().copied(to_row, from_row, c.box.width);
      if (to_device && !from_device) r.machine().wrote(to_row, c.box.width);
    }
  }
  const bool peers = to_device && from_device && device_of(r, c.to.address) != device_of(r, c.from.address);
  r.record().copy(peers ? CopyPath::p2p : kPaths[from_device][to_device], c.box.bytes());
  return cudaSuccess;
}

namespace {

// Submits the copy, or what hinders it.
cudaError_t submit_copy(Runtime& r, const CopyOperation& c, cudaStream_t stream) {
  if (c.kind < cudaMemcpyHostToHost || c.kind > cudaMemcpyDefault) return cudaErrorInvalidMemcpyDirection;
  if (!is_stream(stream)) return cudaErrorInvalidResourceHandle;
  return submit(r, stream, c);
}
cudaError_t copy(const CopyOperation& c, cudaStream_t stream) {
  return call([&](Runtime& r) { return submit_copy(r, c, stream); });
}

// The copy that a call of that name asks for; those called Async do not wait.
CopyOperation named(CopyOperation c, const char* call) {
  c.call = call;
  c.waits = std::string_view(call).find("Async") == std::string_view::npos;
  return c;
}

cudaError_t copy_line(const char* call, void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                      cudaStream_t stream) {
  return copy(named({{bytes}, {address_of(to)}, {address_of(from)}, kind}, call), stream);
}

cudaError_t copy_2d(const char* call_name, void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                    size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  // Unlike a one-row box elsewhere, the 2D calls check their pitches always.
  const CopyOperation c =
      named({{width, height}, {address_of(to), to_pitch}, {address_of(from), from_pitch}, kind}, call_name);
  if (width <= to_pitch && width <= from_pitch) return copy(c, stream);
  return call([&](Runtime& r) { return refuse_rows(r, c); });
}

Layout layout_of(const cudaPitchedPtr& p, const cudaPos& at) {
  const size_t slice = p.pitch * p.ysize;
  return {address_of(p.ptr) + at.z * slice + at.y * p.pitch + at.x, p.pitch, slice};
}

}  // namespace

cudaError_t copy_of(const cudaMemcpy3DParms* p, CopyOperation& out) {
  if (p == nullptr) return cudaErrorInvalidValue;
  const cudaArray *from = p->srcArray, *to = p->dstArray;
  for (const cudaArray* array : {from, to}) {
    if (array != nullptr && !is_array(array)) return cudaErrorInvalidResourceHandle;
  }
  if ((from == nullptr) == (p->srcPtr.ptr == nullptr) || (to == nullptr) == (p->dstPtr.ptr == nullptr)) {
    return cudaErrorInvalidValue;
  }
  if (p->kind < cudaMemcpyHostToHost || p->kind > cudaMemcpyDefault) return cudaErrorInvalidMemcpyDirection;
  Box box{p->extent.width, p->extent.height, p->extent.depth};
  // With an array the extent is in its texels, and so are places in arrays.
  if (from != nullptr || to != nullptr) box.width *= texel_bytes((from != nullptr ? from : to)->format);
  out = {box, layout_of(p->dstPtr, p->dstPos), layout_of(p->srcPtr, p->srcPos), p->kind};
  if (from != nullptr && !layout_of_array(*from, p->srcPos, p->extent, out.from)) return cudaErrorInvalidValue;
  if (to != nullptr && !layout_of_array(*to, p->dstPos, p->extent, out.to)) return cudaErrorInvalidValue;
  return cudaSuccess;
}

cudaMemcpy3DParms parameters_of(const CopyOperation& c) {
  const auto pitched = [&](const Layout& l) {
    const size_t pitch = l.pitch != 0 ? l.pitch : c.box.width;
    const size_t rows = pitch != 0 && l.slice != 0 ? l.slice / pitch : c.box.height;
    return cudaPitchedPtr{reinterpret_cast<void*>(l.address), pitch, c.box.width, rows};
  };
  cudaMemcpy3DParms p{};
  p.srcPtr = pitched(c.from);
  p.dstPtr = pitched(c.to);
  p.extent = {c.box.width, c.box.height, c.box.depth};
  p.kind = c.kind;
  return p;
}

namespace {

cudaError_t copy_3d(const char* call_name, const cudaMemcpy3DParms* p, cudaStream_t stream) {
  return call([&](Runtime& r) {
    CopyOperation c;
    const cudaError_t error = copy_of(p, c);
    return error != cudaSuccess ? error : submit_copy(r, named(c, call_name), stream);
  });
}

cudaError_t copy_peer(void* to, int to_device, const void* from, int from_device, size_t bytes, cudaStream_t stream) {
  if (!runtime().is_device(to_device) || !runtime().is_device(from_device)) return note(cudaErrorInvalidDevice);
  return copy_line("cudaMemcpyPeer", to, from, bytes, cudaMemcpyDeviceToDevice, stream);
}

}  // namespace

cudaError_t copy_of_symbol(Runtime& r, const char* call, const void* symbol, size_t offset, bool to_symbol, void* other,
                           size_t bytes, cudaMemcpyKind kind, CopyOperation& out) {
  out.call = call;
  const Variable* variable = nullptr;
  const cudaError_t unknown = r.registry().find_variable(symbol, variable);
  if (kind == (to_symbol ? cudaMemcpyDeviceToHost : cudaMemcpyHostToDevice) || kind == cudaMemcpyHostToHost) {
    if (unknown == cudaSuccess)
      refuse_copy(r, out, variable->info->address, bytes, "goes another way than its kind says");
    return cudaErrorInvalidMemcpyDirection;
  }
  if (unknown != cudaSuccess) return unknown;
  const Layout ours{variable->info->address + offset}, theirs{address_of(other)};
  if (bytes != 0 && (offset > variable->info->size || bytes > variable->info->size - offset))
    return refuse_copy(r, out, variable->info->address, bytes,
                       to_symbol ? "writes past the end of a variable" : "reads past the end of a variable");
  out = {{bytes}, to_symbol ? ours : theirs, to_symbol ? theirs : ours, kind};
  return cudaSuccess;
}

namespace {

cudaError_t copy_symbol(const char* call_name, const void* symbol, size_t offset, bool to_symbol, void* other,
                        size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  return call([&](Runtime& r) {
    CopyOperation c;
    const cudaError_t error = copy_of_symbol(r, call_name, symbol, offset, to_symbol, other, bytes, kind, c);
    return error != cudaSuccess ? error : submit_copy(r, named(c, call_name), stream);
  });
}

}  // namespace

COALESCE_API cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  return copy_line("cudaMemcpy", to, from, bytes, kind, nullptr);
}
COALESCE_API cudaError_t cudaMemcpy_ptds(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  return copy_line("cudaMemcpy", to, from, bytes, kind, of_thread(nullptr));
}

COALESCE_API cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                                         cudaStream_t stream) {
  return copy_line("cudaMemcpyAsync", to, from, bytes, kind, stream);
}
COALESCE_API cudaError_t cudaMemcpyAsync_ptsz(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                                              cudaStream_t stream) {
  return cudaMemcpyAsync(to, from, bytes, kind, of_thread(stream));
}

COALESCE_API cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                                      size_t height, cudaMemcpyKind kind) {
  return copy_2d("cudaMemcpy2D", to, to_pitch, from, from_pitch, width, height, kind, nullptr);
}
COALESCE_ALIAS(cudaMemcpy2D_ptds, cudaMemcpy2D);

COALESCE_API cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                                           size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  return copy_2d("cudaMemcpy2DAsync", to, to_pitch, from, from_pitch, width, height, kind, stream);
}
COALESCE_ALIAS(cudaMemcpy2DAsync_ptsz, cudaMemcpy2DAsync);

COALESCE_API cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* p) { return copy_3d("cudaMemcpy3D", p, nullptr); }
COALESCE_ALIAS(cudaMemcpy3D_ptds, cudaMemcpy3D);
COALESCE_API cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* p, cudaStream_t stream) {
  return copy_3d("cudaMemcpy3DAsync", p, stream);
}
COALESCE_ALIAS(cudaMemcpy3DAsync_ptsz, cudaMemcpy3DAsync);

COALESCE_API cudaError_t cudaMemcpy3DPeerAsync(const cudaMemcpy3DPeerParms* p, cudaStream_t stream) {
  if (p == nullptr) return note(cudaErrorInvalidValue);
  if (!runtime().is_device(p->srcDevice) || !runtime().is_device(p->dstDevice)) return note(cudaErrorInvalidDevice);
  const cudaMemcpy3DParms same{p->srcArray, p->srcPos, p->srcPtr, p->dstArray,
                               p->dstPos,   p->dstPtr, p->extent, cudaMemcpyDeviceToDevice};
  return copy_3d("cudaMemcpy3DPeer", &same, stream);
}
COALESCE_ALIAS(cudaMemcpy3DPeerAsync_ptsz, cudaMemcpy3DPeerAsync);
COALESCE_API cudaError_t cudaMemcpy3DPeer(const cudaMemcpy3DPeerParms* p) { return cudaMemcpy3DPeerAsync(p, nullptr); }
COALESCE_ALIAS(cudaMemcpy3DPeer_ptds, cudaMemcpy3DPeer);

COALESCE_API cudaError_t cudaMemcpyPeer(void* to, int to_device, const void* from, int from_device, size_t bytes) {
  return copy_peer(to, to_device, from, from_device, bytes, nullptr);
}
COALESCE_API cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, size_t bytes,
                                             cudaStream_t stream) {
  return copy_peer(to, to_device, from, from_device, bytes, stream);
}

COALESCE_API cudaError_t cudaMemcpyToSymbolAsync(const void* symbol, const void* from, size_t bytes, size_t offset,
                                                 cudaMemcpyKind kind, cudaStream_t stream) {
  return copy_symbol("cudaMemcpyToSymbolAsync", symbol, offset, true, const_cast<void*>(from), bytes, kind, stream);
}
COALESCE_ALIAS(cudaMemcpyToSymbolAsync_ptsz, cudaMemcpyToSymbolAsync);
COALESCE_API cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* from, size_t bytes, size_t offset,
                                            cudaMemcpyKind kind) {
  return copy_symbol("cudaMemcpyToSymbol", symbol, offset, true, const_cast<void*>(from), bytes, kind, nullptr);
}
COALESCE_ALIAS(cudaMemcpyToSymbol_ptds, cudaMemcpyToSymbol);

COALESCE_API cudaError_t cudaMemcpyFromSymbolAsync(void* to, const void* symbol, size_t bytes, size_t offset,
                                                   cudaMemcpyKind kind, cudaStream_t stream) {
  return copy_symbol("cudaMemcpyFromSymbolAsync", symbol, offset, false, to, bytes, kind, stream);
}
COALESCE_ALIAS(cudaMemcpyFromSymbolAsync_ptsz, cudaMemcpyFromSymbolAsync);
COALESCE_API cudaError_t cudaMemcpyFromSymbol(void* to, const void* symbol, size_t bytes, size_t offset,
                                              cudaMemcpyKind kind) {
  return copy_symbol("cudaMemcpyFromSymbol", symbol, offset, false, to, bytes, kind, nullptr);
}
COALESCE_ALIAS(cudaMemcpyFromSymbol_ptds, cudaMemcpyFromSymbol);

COALESCE_API cudaError_t cudaGetSymbolAddress(void** address, const void* symbol) {
  return call([&](Runtime& r) {
    if (address == nullptr) return cudaErrorInvalidValue;
    const Variable* variable = nullptr;
    const cudaError_t error = r.registry().find_variable(symbol, variable);
    if (error == cudaSuccess) *address = reinterpret_cast<void*>(variable->info->address);
    return error;
  });
}

COALESCE_API cudaError_t cudaGetSymbolSize(size_t* size, const void* symbol) {
  return call([&](Runtime& r) {
    if (size == nullptr) return cudaErrorInvalidValue;
    const Variable* variable = nullptr;
    const cudaError_t error = r.registry().find_variable(symbol, variable);
    if (error == cudaSuccess) *size = variable->info->size;
    return error;
  });
}

}  // namespace coalesce::cudart
