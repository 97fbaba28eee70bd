// cudaMemset and its forms.
#include <cstring>

#include "cudart/api/capture.h"
#include "cudart/api/stream.h"

namespace coalesce::cudart {

cudaError_t run(Runtime& r, const FillOperation& f) {
  const Box& box = f.box;
  if (box.empty()) return cudaSuccess;
  uint64_t bytes = 0;
  Where where{};
  if (!box_span(box, f.to, bytes) || !classify(r, f.to.address, bytes, where) || !on_device(where)) {
    if (r.check() != nullptr)
      r.check()->bad_copy(f.call, f.to.address, bytes, "writes past the end of an allocation, or where none is");
    return cudaErrorInvalidValue;
  }
  if (f.to.address % f.element != 0) return cudaErrorInvalidValue;
  if (HostCheck* check = r.check()) {
    check->begin_work(f.call, false);
    std::vector<HostCheck::Range> rows;
    for (size_t z = 0; z < box.depth; ++z)
      for (size_t y = 0; y < box.height; ++y)
        rows.push_back({f.to.address + z * f.to.slice + y * f.to.pitch, box.width, true});
    check->used(rows);
    if (where == Where::pinned) check->host_waits_for_work();
  }
  auto* destination = reinterpret_cast<char*>(f.to.address);
  for (size_t z = 0; z < box.depth; ++z) {
    for (size_t y = 0; y < box.height; ++y) {
      r.machine().wrote(f.to.address + z * f.to.slice + y * f.to.pitch, box.width);
      char* row = destination + z * f.to.slice + y * f.to.pitch;
      if (f.element == 1) {
        std::memset(row, static_cast<int>(f.value & 0xff), box.width);
        continue;
      }
      for (size_t x = 0; x + f.element <= box.width; x += f.element) std::memcpy(row + x, &f.value, f.element);
    }
  }
  return cudaSuccess;
}

namespace {

cudaError_t fill(const Box& box, const Layout& to, int value, cudaStream_t stream) {
  return call([&](Runtime& r) {
    if (!is_stream(stream)) return cudaErrorInvalidResourceHandle;
    return submit(r, stream, FillOperation{box, to, static_cast<uint32_t>(value), 1});
  });
}

}  // namespace

COALESCE_API cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream) {
  return fill({bytes}, {address_of(to)}, value, stream);
}
COALESCE_API cudaError_t cudaMemsetAsync_ptsz(void* to, int value, size_t bytes, cudaStream_t stream) {
  return cudaMemsetAsync(to, value, bytes, of_thread(stream));
}
COALESCE_API cudaError_t cudaMemset(void* to, int value, size_t bytes) {
  return cudaMemsetAsync(to, value, bytes, nullptr);
}
COALESCE_API cudaError_t cudaMemset_ptds(void* to, int value, size_t bytes) {
  return cudaMemsetAsync(to, value, bytes, of_thread(nullptr));
}

COALESCE_API cudaError_t cudaMemset2DAsync(void* to, size_t pitch, int value, size_t width, size_t height,
                                           cudaStream_t stream) {
  if (width > pitch && height > 1) return note(cudaErrorInvalidValue);
  return fill({width, height}, {address_of(to), pitch}, value, stream);
}
COALESCE_ALIAS(cudaMemset2DAsync_ptsz, cudaMemset2DAsync);
COALESCE_API cudaError_t cudaMemset2D(void* to, size_t pitch, int value, size_t width, size_t height) {
  return cudaMemset2DAsync(to, pitch, value, width, height, nullptr);
}
COALESCE_ALIAS(cudaMemset2D_ptds, cudaMemset2D);

COALESCE_API cudaError_t cudaMemset3DAsync(cudaPitchedPtr to, int value, cudaExtent extent, cudaStream_t stream) {
  if (extent.width > to.pitch && (extent.height > 1 || extent.depth > 1)) return note(cudaErrorInvalidValue);
  return fill({extent.width, extent.height, extent.depth}, {address_of(to.ptr), to.pitch, to.pitch * to.ysize}, value,
              stream);
}
COALESCE_ALIAS(cudaMemset3DAsync_ptsz, cudaMemset3DAsync);
COALESCE_API cudaError_t cudaMemset3D(cudaPitchedPtr to, int value, cudaExtent extent) {
  return cudaMemset3DAsync(to, value, extent, nullptr);
}
COALESCE_ALIAS(cudaMemset3D_ptds, cudaMemset3D);

}  // namespace coalesce::cudart
