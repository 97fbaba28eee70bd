// Copies and fills, in one dimension to three, with arrays or without.
#include "cudart/driver/copy.h"

#include "cudart/api/array.h"
#include "cudart/api/capture.h"
#include "cudart/api/stream.h"
#include "cudart/driver/runtime_api.h"
#include "cudart/driver/state.h"

namespace coalesce::cudart {
namespace {

CUresult copy(CUdeviceptr to, CUdeviceptr from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  return in_context([&] {
    return stream == nullptr ? cudaMemcpy(pointer_of(to), pointer_of(from), bytes, kind)
                             : cudaMemcpyAsync(pointer_of(to), pointer_of(from), bytes, kind, stream);
  });
}
CUdeviceptr number_of(const void* host) { return reinterpret_cast<uintptr_t>(host); }

// One side of a box: where its bytes lie. False: no such memory.
struct Side {
  CUmemorytype type;
  const void* host;
  CUdeviceptr device;
  const cudaArray* array;
  size_t x, y, z, pitch, height;
};

cudaError_t layout_of(const Side& s, const Box& box, Layout& out) {
  if (s.type == CU_MEMORYTYPE_ARRAY) {
    if (!is_array(s.array)) return cudaErrorInvalidResourceHandle;
    const size_t texel = texel_bytes(s.array->format);
    if (s.x % texel != 0 || box.width % texel != 0) return cudaErrorInvalidValue;
    const bool fits =
        layout_of_array(*s.array, {s.x / texel, s.y, s.z}, {box.width / texel, box.height, box.depth}, out);
    return fits ? cudaSuccess : cudaErrorInvalidValue;
  }
  if (s.type < CU_MEMORYTYPE_HOST || s.type > CU_MEMORYTYPE_UNIFIED) return cudaErrorInvalidValue;
  const uint64_t base = s.type == CU_MEMORYTYPE_HOST ? number_of(s.host) : s.device;
  const size_t pitch = s.pitch != 0 ? s.pitch : box.width + s.x;
  const size_t slice = pitch * (s.height != 0 ? s.height : box.height + s.y);
  out = {base + s.z * slice + s.y * pitch + s.x, pitch, slice};
  return cudaSuccess;
}

cudaMemcpyKind kind_of(CUmemorytype from, CUmemorytype to) {
  if (from == CU_MEMORYTYPE_UNIFIED || to == CU_MEMORYTYPE_UNIFIED) return cudaMemcpyDefault;
  const bool from_host = from == CU_MEMORYTYPE_HOST, to_host = to == CU_MEMORYTYPE_HOST;
  return from_host ? to_host ? cudaMemcpyHostToHost : cudaMemcpyHostToDevice
         : to_host ? cudaMemcpyDeviceToHost
                   : cudaMemcpyDeviceToDevice;
}

CUresult copy_box(const CUDA_MEMCPY3D* p, cudaStream_t stream) {
  return in_context([&] {
    return call([&](Runtime& r) {
      CopyOperation c;
      if (const cudaError_t error = copy_of(p, c); error != cudaSuccess) return error;
      if (!is_stream(stream)) return cudaErrorInvalidResourceHandle;
      return submit(r, stream, c);
    });
  });
}

CUresult copy_plane(const CUDA_MEMCPY2D* p, cudaStream_t stream) {
  if (p == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CUDA_MEMCPY3D same{};
  same.srcXInBytes = p->srcXInBytes;
  same.srcY = p->srcY;
  same.srcMemoryType = p->srcMemoryType;
  same.srcHost = p->srcHost;
  same.srcDevice = p->srcDevice;
  same.srcArray = p->srcArray;
  same.srcPitch = p->srcPitch;
  same.dstXInBytes = p->dstXInBytes;
  same.dstY = p->dstY;
  same.dstMemoryType = p->dstMemoryType;
  same.dstHost = p->dstHost;
  same.dstDevice = p->dstDevice;
  same.dstArray = p->dstArray;
  same.dstPitch = p->dstPitch;
  same.WidthInBytes = p->WidthInBytes;
  same.Height = p->Height;
  same.Depth = 1;
  return copy_box(&same, stream);
}

CUresult fill(CUdeviceptr to, size_t pitch, unsigned value, uint32_t element, size_t width, size_t height,
              cudaStream_t stream) {
  if (height > 1 && pitch < width * element) return CUDA_ERROR_INVALID_VALUE;
  return in_context([&] {
    return call([&](Runtime& r) {
      if (!is_stream(stream)) return cudaErrorInvalidResourceHandle;
      return submit(r, stream, FillOperation{{width * element, height}, {to, pitch}, value, element});
    });
  });
}

}  // namespace

cudaError_t copy_of(const CUDA_MEMCPY3D* p, CopyOperation& out) {
  if (p == nullptr || p->srcLOD != 0 || p->dstLOD != 0) return cudaErrorInvalidValue;
  out.box = {p->WidthInBytes, p->Height, p->Depth};
  out.kind = kind_of(p->srcMemoryType, p->dstMemoryType);
  const Side from{p->srcMemoryType, p->srcHost, p->srcDevice, p->srcArray, p->srcXInBytes,
                  p->srcY,          p->srcZ,    p->srcPitch,  p->srcHeight};
  const Side to{p->dstMemoryType, p->dstHost, p->dstDevice, p->dstArray, p->dstXInBytes,
                p->dstY,          p->dstZ,    p->dstPitch,  p->dstHeight};
  const cudaError_t error = layout_of(from, out.box, out.from);
  return error != cudaSuccess ? error : layout_of(to, out.box, out.to);
}

COALESCE_API CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return copy(to, from, bytes, cudaMemcpyDefault, nullptr);
}
COALESCE_ALIAS(cuMemcpy_ptds, cuMemcpy);
COALESCE_API CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, cudaStream_t stream) {
  return copy(to, from, bytes, cudaMemcpyDefault, stream);
}
COALESCE_ALIAS(cuMemcpyAsync_ptsz, cuMemcpyAsync);
COALESCE_API CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, size_t bytes) {
  return copy(to, number_of(from), bytes, cudaMemcpyHostToDevice, nullptr);
}
COALESCE_ALIAS(cuMemcpyHtoD_v2_ptds, cuMemcpyHtoD_v2);
COALESCE_API CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, size_t bytes, cudaStream_t stream) {
  return copy(to, number_of(from), bytes, cudaMemcpyHostToDevice, stream);
}
COALESCE_ALIAS(cuMemcpyHtoDAsync_v2_ptsz, cuMemcpyHtoDAsync_v2);
COALESCE_API CUresult cuMemcpyDtoH_v2(void* to, CUdeviceptr from, size_t bytes) {
  return copy(number_of(to), from, bytes, cudaMemcpyDeviceToHost, nullptr);
}
COALESCE_ALIAS(cuMemcpyDtoH_v2_ptds, cuMemcpyDtoH_v2);
COALESCE_API CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, size_t bytes, cudaStream_t stream) {
  return copy(number_of(to), from, bytes, cudaMemcpyDeviceToHost, stream);
}
COALESCE_ALIAS(cuMemcpyDtoHAsync_v2_ptsz, cuMemcpyDtoHAsync_v2);
COALESCE_API CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return copy(to, from, bytes, cudaMemcpyDeviceToDevice, nullptr);
}
COALESCE_ALIAS(cuMemcpyDtoD_v2_ptds, cuMemcpyDtoD_v2);
COALESCE_API CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, cudaStream_t stream) {
  return copy(to, from, bytes, cudaMemcpyDeviceToDevice, stream);
}
COALESCE_ALIAS(cuMemcpyDtoDAsync_v2_ptsz, cuMemcpyDtoDAsync_v2);
// Addresses say whose memory it is; contexts have to be some.
static CUresult copy_peer(CUdeviceptr to, CUcontext target, CUdeviceptr from, CUcontext source, size_t bytes,
                          cudaStream_t stream) {
  unsigned version = 0;
  for (const CUcontext context : {target, source})
    if (const CUresult r = cuCtxGetApiVersion(context, &version); r != CUDA_SUCCESS) return r;
  return copy(to, from, bytes, cudaMemcpyDeviceToDevice, stream);
}
COALESCE_API CUresult cuMemcpyPeer(CUdeviceptr to, CUcontext target, CUdeviceptr from, CUcontext source, size_t bytes) {
  return copy_peer(to, target, from, source, bytes, nullptr);
}
COALESCE_ALIAS(cuMemcpyPeer_ptds, cuMemcpyPeer);
COALESCE_API CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext target, CUdeviceptr from, CUcontext source,
                                        size_t bytes, cudaStream_t stream) {
  return copy_peer(to, target, from, source, bytes, stream);
}
COALESCE_ALIAS(cuMemcpyPeerAsync_ptsz, cuMemcpyPeerAsync);

COALESCE_API CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D* p) { return copy_plane(p, nullptr); }
COALESCE_ALIAS(cuMemcpy2D_v2_ptds, cuMemcpy2D_v2);
COALESCE_ALIAS(cuMemcpy2DUnaligned_v2, cuMemcpy2D_v2);
COALESCE_ALIAS(cuMemcpy2DUnaligned_v2_ptds, cuMemcpy2D_v2);
COALESCE_API CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D* p, cudaStream_t stream) { return copy_plane(p, stream); }
COALESCE_ALIAS(cuMemcpy2DAsync_v2_ptsz, cuMemcpy2DAsync_v2);
COALESCE_API CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D* p) { return copy_box(p, nullptr); }
COALESCE_ALIAS(cuMemcpy3D_v2_ptds, cuMemcpy3D_v2);
COALESCE_API CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D* p, cudaStream_t stream) { return copy_box(p, stream); }
COALESCE_ALIAS(cuMemcpy3DAsync_v2_ptsz, cuMemcpy3DAsync_v2);

#define COALESCE_FILL(bits, Value, element)                                                                      \
  COALESCE_API CUresult cuMemsetD##bits##_v2(CUdeviceptr to, Value value, size_t count) {                        \
    return fill(to, 0, value, element, count, 1, nullptr);                                                       \
  }                                                                                                              \
  COALESCE_ALIAS(cuMemsetD##bits##_v2_ptds, cuMemsetD##bits##_v2);                                               \
  COALESCE_API CUresult cuMemsetD##bits##Async(CUdeviceptr to, Value value, size_t count, cudaStream_t stream) { \
    return fill(to, 0, value, element, count, 1, stream);                                                        \
  }                                                                                                              \
  COALESCE_ALIAS(cuMemsetD##bits##Async_ptsz, cuMemsetD##bits##Async);                                           \
  COALESCE_API CUresult cuMemsetD2D##bits##_v2(CUdeviceptr to, size_t pitch, Value value, size_t width,          \
                                               size_t height) {                                                  \
    return fill(to, pitch, value, element, width, height, nullptr);                                              \
  }                                                                                                              \
  COALESCE_ALIAS(cuMemsetD2D##bits##_v2_ptds, cuMemsetD2D##bits##_v2);                                           \
  COALESCE_API CUresult cuMemsetD2D##bits##Async(CUdeviceptr to, size_t pitch, Value value, size_t width,        \
                                                 size_t height, cudaStream_t stream) {                           \
    return fill(to, pitch, value, element, width, height, stream);                                               \
  }                                                                                                              \
  COALESCE_ALIAS(cuMemsetD2D##bits##Async_ptsz, cuMemsetD2D##bits##Async)
COALESCE_FILL(8, unsigned char, 1);
COALESCE_FILL(16, unsigned short, 2);
COALESCE_FILL(32, unsigned, 4);
#undef COALESCE_FILL

}  // namespace coalesce::cudart
