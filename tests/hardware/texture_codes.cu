// Prints the codes of textures of memory that is no array, and of ways to read arrays: runtime/driver for each offset,
// pitch, size and format. nvcc -std=c++17 -arch=sm_90 texture_codes.cu -lcuda && ./a.out:
// tests/truth/texture_codes.txt.
#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>
struct Format {
  const char* name;
  cudaChannelFormatDesc d;
  CUarray_format f;
  unsigned n;
  int bytes;
};
static std::vector<Format> formats() {
  const auto U = cudaChannelFormatKindUnsigned;
  const auto F = cudaChannelFormatKindFloat;
  return {{"u8x1", cudaCreateChannelDesc(8, 0, 0, 0, U), CU_AD_FORMAT_UNSIGNED_INT8, 1, 1},
          {"u8x2", cudaCreateChannelDesc(8, 8, 0, 0, U), CU_AD_FORMAT_UNSIGNED_INT8, 2, 2},
          {"u8x4", cudaCreateChannelDesc(8, 8, 8, 8, U), CU_AD_FORMAT_UNSIGNED_INT8, 4, 4},
          {"u16x1", cudaCreateChannelDesc(16, 0, 0, 0, U), CU_AD_FORMAT_UNSIGNED_INT16, 1, 2},
          {"u16x2", cudaCreateChannelDesc(16, 16, 0, 0, U), CU_AD_FORMAT_UNSIGNED_INT16, 2, 4},
          {"u16x4", cudaCreateChannelDesc(16, 16, 16, 16, U), CU_AD_FORMAT_UNSIGNED_INT16, 4, 8},
          {"h16x1", cudaCreateChannelDesc(16, 0, 0, 0, F), CU_AD_FORMAT_HALF, 1, 2},
          {"u32x1", cudaCreateChannelDesc(32, 0, 0, 0, U), CU_AD_FORMAT_UNSIGNED_INT32, 1, 4},
          {"f32x1", cudaCreateChannelDesc(32, 0, 0, 0, F), CU_AD_FORMAT_FLOAT, 1, 4},
          {"f32x2", cudaCreateChannelDesc(32, 32, 0, 0, F), CU_AD_FORMAT_FLOAT, 2, 8},
          {"f32x4", cudaCreateChannelDesc(32, 32, 32, 32, F), CU_AD_FORMAT_FLOAT, 4, 16}};
}
static char* base;
static int linear(const Format& f, size_t off, size_t bytes) {
  cudaResourceDesc r{};
  r.resType = cudaResourceTypeLinear;
  r.res.linear.devPtr = base + off;
  r.res.linear.desc = f.d;
  r.res.linear.sizeInBytes = bytes;
  cudaTextureDesc t{};
  t.readMode = cudaReadModeElementType;
  cudaTextureObject_t o = 0;
  int c = cudaCreateTextureObject(&o, &r, &t, nullptr);
  cudaGetLastError();
  if (!c) cudaDestroyTextureObject(o);
  return c;
}
static int linear_driver(const Format& f, size_t off, size_t bytes) {
  CUDA_RESOURCE_DESC r{};
  r.resType = CU_RESOURCE_TYPE_LINEAR;
  r.res.linear.devPtr = (CUdeviceptr)(base + off);
  r.res.linear.format = f.f;
  r.res.linear.numChannels = f.n;
  r.res.linear.sizeInBytes = bytes;
  CUDA_TEXTURE_DESC t{};
  t.flags = CU_TRSF_READ_AS_INTEGER;
  CUtexObject o;
  int c = cuTexObjectCreate(&o, &r, &t, nullptr);
  if (!c) cuTexObjectDestroy(o);
  return c;
}
static int pitched(const Format& f, size_t off, size_t w, size_t h, size_t pitch, bool normalized = false) {
  cudaResourceDesc r{};
  r.resType = cudaResourceTypePitch2D;
  r.res.pitch2D.devPtr = base + off;
  r.res.pitch2D.desc = f.d;
  r.res.pitch2D.width = w;
  r.res.pitch2D.height = h;
  r.res.pitch2D.pitchInBytes = pitch;
  cudaTextureDesc t{};
  t.readMode = cudaReadModeElementType;
  t.normalizedCoords = normalized;
  cudaTextureObject_t o = 0;
  int c = cudaCreateTextureObject(&o, &r, &t, nullptr);
  cudaGetLastError();
  if (!c) cudaDestroyTextureObject(o);
  return c;
}
static int pitched_driver(const Format& f, size_t off, size_t w, size_t h, size_t pitch) {
  CUDA_RESOURCE_DESC r{};
  r.resType = CU_RESOURCE_TYPE_PITCH2D;
  r.res.pitch2D.devPtr = (CUdeviceptr)(base + off);
  r.res.pitch2D.format = f.f;
  r.res.pitch2D.numChannels = f.n;
  r.res.pitch2D.width = w;
  r.res.pitch2D.height = h;
  r.res.pitch2D.pitchInBytes = pitch;
  CUDA_TEXTURE_DESC t{};
  t.flags = CU_TRSF_READ_AS_INTEGER;
  CUtexObject o;
  int c = cuTexObjectCreate(&o, &r, &t, nullptr);
  if (!c) cuTexObjectDestroy(o);
  return c;
}
static int array_texture(cudaArray_t a, cudaTextureReadMode m, cudaTextureFilterMode f, cudaTextureAddressMode am,
                         int norm, int srgb = 0, int aniso = 0, float hi = 0) {
  cudaResourceDesc r{};
  r.resType = cudaResourceTypeArray;
  r.res.array.array = a;
  cudaTextureDesc t{};
  t.readMode = m;
  t.filterMode = f;
  t.normalizedCoords = norm;
  t.sRGB = srgb;
  t.maxAnisotropy = aniso;
  t.maxMipmapLevelClamp = hi;
  for (auto& x : t.addressMode) x = am;
  cudaTextureObject_t o = 0;
  int c = cudaCreateTextureObject(&o, &r, &t, nullptr);
  cudaGetLastError();
  if (!c) cudaDestroyTextureObject(o);
  return c;
}
int main() {
  cudaMalloc(&base, 4 << 20);
  cuInit(0);
  const size_t offsets[] = {0, 1, 2, 4, 8, 12, 16, 20, 24, 32, 48, 64, 96, 128, 160, 192, 256, 288, 384, 512, 544};
  for (const Format& f : formats()) {
    printf("linear %s:", f.name);
    for (size_t o : offsets) printf(" %zu=%d/%d", o, linear(f, o, 4096), linear_driver(f, o, 4096));
    printf("\npitch512 %s:", f.name);
    for (size_t o : offsets) printf(" %zu=%d/%d", o, pitched(f, o, 8, 8, 512), pitched_driver(f, o, 8, 8, 512));
    printf("\npitches %s:", f.name);
    for (size_t p : {0,   1,   8,   16,  24,  31,  32,  33,  36,  48,  64,  96,  100,  112,
                     127, 128, 129, 132, 160, 192, 256, 272, 288, 500, 512, 513, 1000, 1024})
      printf(" %zu=%d/%d", (size_t)p, pitched(f, 0, 1, 8, p), pitched_driver(f, 0, 1, 8, p));
    printf("\npitches of width 8 %s:", f.name);
    for (size_t p : {0, 8, 32, 64, 96, 128, 160})
      printf(" %zu=%d/%d", (size_t)p, pitched(f, 0, 8, 8, p), pitched_driver(f, 0, 8, 8, p));
    printf("\npitches of height 1 %s:", f.name);
    for (size_t p : {0, 8, 16, 32, 33, 48, 64, 100, 128})
      printf(" %zu=%d/%d", (size_t)p, pitched(f, 0, 8, 1, p), pitched_driver(f, 0, 8, 1, p));
    printf("\nsizes %s:", f.name);
    for (size_t s : {0, 1, 2, 3, 4, 5, 8, 15, 16, 17, 31, 4097})
      printf(" %zu=%d/%d", (size_t)s, linear(f, 0, s), linear_driver(f, 0, s));
    printf("\nlarge %s:", f.name);
    for (size_t n : {(size_t)1 << 27, ((size_t)1 << 27) + 1, ((size_t)1 << 28) - 1, (size_t)1 << 28,
                     ((size_t)1 << 28) + 1, (size_t)1 << 29, (size_t)1 << 31})
      printf(" %zu=%d/%d", n, linear(f, 0, n * f.bytes), linear_driver(f, 0, n * f.bytes));
    printf("\n");
  }
  const Format one = formats()[8];
  for (size_t w : {0, 1, 131072, 131073, 65536})
    printf("width %zu %d/%d\n", (size_t)w, pitched(one, 0, w, 1, w * 4), pitched_driver(one, 0, w, 1, w * 4));
  for (size_t w : {(size_t)131072, (size_t)2097120, (size_t)2097152, (size_t)2097184})
    printf("pitch %zu %d/%d\n", w, pitched(one, 0, 8, 1, w), pitched_driver(one, 0, 8, 1, w));
  for (size_t h : {0, 1, 8, 65000, 65001, 65535, 65536})
    printf("height %zu %d/%d\n", (size_t)h, pitched(one, 0, 8, h, 32), pitched_driver(one, 0, 8, h, 32));
  printf("beyond linear %d/%d\n", linear(one, (4 << 20) - 4096, 8192), linear_driver(one, (4 << 20) - 4096, 8192));
  printf("beyond pitch %d/%d\n", pitched(one, (4 << 20) - 4096, 128, 9, 512),
         pitched_driver(one, (4 << 20) - 4096, 128, 9, 512));
  char* keep = base;
  base = nullptr;
  printf("null linear %d/%d pitch %d/%d\n", linear(one, 0, 4096), linear_driver(one, 0, 4096),
         pitched(one, 0, 8, 8, 512), pitched_driver(one, 0, 8, 8, 512));
  base = (char*)aligned_alloc(512, 4096);
  printf("host linear %d/%d pitch %d/%d\n", linear(one, 0, 4096), linear_driver(one, 0, 4096),
         pitched(one, 0, 8, 8, 512), pitched_driver(one, 0, 8, 8, 512));
  char* pinned;
  cudaMallocHost(&pinned, 1 << 16);
  base = pinned;
  printf("pinned linear %d/%d pitch %d/%d\n", linear(one, 0, 4096), linear_driver(one, 0, 4096),
         pitched(one, 0, 8, 8, 512), pitched_driver(one, 0, 8, 8, 512));
  char* managed;
  cudaMallocManaged(&managed, 1 << 16);
  base = managed;
  printf("managed linear %d/%d pitch %d/%d\n", linear(one, 0, 4096), linear_driver(one, 0, 4096),
         pitched(one, 0, 8, 8, 512), pitched_driver(one, 0, 8, 8, 512));
  base = keep;
  cudaArray_t af, au, a3, al, ag, as, a16, a1;
  cudaChannelFormatDesc df = cudaCreateChannelDesc<float>(), du = cudaCreateChannelDesc<unsigned>(),
                        dc = cudaCreateChannelDesc<uchar4>(),
                        dh = cudaCreateChannelDesc(16, 0, 0, 0, cudaChannelFormatKindFloat);
  cudaMallocArray(&af, &df, 64, 64);
  cudaMallocArray(&au, &du, 64, 64);
  cudaMallocArray(&a3, &dc, 64, 64);
  cudaMallocArray(&a16, &dh, 64, 64);
  cudaMallocArray(&a1, &df, 64, 0);
  cudaMalloc3DArray(&al, &df, make_cudaExtent(64, 64, 4), cudaArrayLayered);
  cudaMallocArray(&ag, &df, 64, 64, cudaArrayTextureGather);
  cudaMallocArray(&as, &df, 64, 64, cudaArraySurfaceLoadStore);
  struct {
    const char* n;
    cudaArray_t a;
  } arrays[] = {{"f32", af}, {"u32", au},     {"u8x4", a3},   {"h16", a16},
                {"1d", a1},  {"layered", al}, {"gather", ag}, {"surface", as}};
  for (auto& a : arrays)
    for (int m = 0; m < 2; ++m)
      for (int f = 0; f < 2; ++f)
        for (int n = 0; n < 2; ++n) {
          printf("%s read %d filter %d normalized %d:", a.n, m, f, n);
          for (int am = 0; am < 5; ++am)
            printf(" %d",
                   array_texture(a.a, (cudaTextureReadMode)m, (cudaTextureFilterMode)f, (cudaTextureAddressMode)am, n));
          printf("\n");
        }
}
