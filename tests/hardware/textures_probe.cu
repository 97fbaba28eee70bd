// Texture reads at some 700,000 places, by all modes and of several formats: one line for each experiment, with a hash
// of everything read. By hand, on a GPU and on the machine, and the lines compared; FILE gets the values themselves:
//   nvcc -arch=native textures_probe.cu -o textures_probe && ./textures_probe [FILE]
//   coalesce run textures_probe.cu [FILE]
// Against an H200 (CUDA 13.0) 217 of 1,106,970 values differ, in 4 of the 93 lines: of three cube
// maps with interpolation, where the hardware divides a direction by its largest component we do not know how; and of a
// volume read beyond its edges with clamping.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                               \
  do {                                                            \
    if (const cudaError_t error_ = (call)) {                      \
      std::printf("%s: %s\n", #call, cudaGetErrorString(error_)); \
      std::exit(1);                                               \
    }                                                             \
  } while (0)

enum Shape { line, plane, solid, cube, gathered };

__global__ void read(Shape shape, cudaTextureObject_t t, const float* u, const float* v, const float* w, float4* out,
                     int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= n) return;
  switch (shape) {
    case line:
      out[i] = tex1D<float4>(t, u[i]);
      break;
    case plane:
      out[i] = tex2D<float4>(t, u[i], v[i]);
      break;
    case solid:
      out[i] = tex3D<float4>(t, u[i], v[i], w[i]);
      break;
    case cube:
      out[i] = texCubemap<float4>(t, u[i], v[i], w[i]);
      break;
    case gathered:
      out[i] = tex2Dgather<float4>(t, u[i], v[i], 0);
      break;
  }
}

uint32_t seed = 1;
uint32_t noise() {
  seed = seed * 1664525u + 1013904223u;
  uint32_t x = seed;
  x ^= x >> 15;
  x *= 2246822519u;
  return x ^ x >> 13;
}
float between(float low, float high) { return low + (high - low) * static_cast<float>(noise() >> 8) / 16777216.f; }
std::vector<float> places(int n, float low, float high) {
  std::vector<float> all(static_cast<std::size_t>(n));
  for (float& x : all) x = between(low, high);
  return all;
}
// Floats of exponents within `range` of 0, halves as bits, integers of all values.
std::vector<float> wild(int n, int range) {
  std::vector<float> all(static_cast<std::size_t>(n));
  for (float& x : all)
    x = std::ldexp(between(1, 2), static_cast<int>(noise() % (2 * static_cast<unsigned>(range))) - range) *
        (noise() & 1 ? 1.f : -1.f);
  return all;
}
template <class T>
std::vector<T> integers(int n) {
  std::vector<T> all(static_cast<std::size_t>(n));
  for (T& x : all) x = static_cast<T>(noise());
  return all;
}
std::vector<uint16_t> halves(int n) {
  std::vector<uint16_t> all = integers<uint16_t>(n);
  for (uint16_t& x : all)
    while ((x & 0x7c00) == 0x7c00) x = static_cast<uint16_t>(noise());
  return all;
}

struct Reading {
  int mode = cudaAddressModeClamp, second_mode = -1;  // of the other axes; -1: the same
  bool linear = true, normalised = false, fractions = false;
};

std::FILE* file = nullptr;

template <class Channel>
void probe(const char* name, Shape shape, cudaExtent e, const std::vector<Channel>& content,
           const cudaChannelFormatDesc& format, const Reading& how, const std::vector<float>& u,
           std::vector<float> v = {}, std::vector<float> w = {}) {
  static const unsigned flags[] = {0, 0, 0, cudaArrayCubemap, cudaArrayTextureGather};
  v.resize(u.size()), w.resize(u.size());
  const std::size_t n = u.size(), texel = static_cast<std::size_t>(format.x + format.y + format.z + format.w) / 8;
  cudaArray_t array;
  CHECK(cudaMalloc3DArray(&array, &format, e, flags[shape]));
  cudaMemcpy3DParms copy = {};
  copy.srcPtr =
      make_cudaPitchedPtr(const_cast<Channel*>(content.data()), e.width * texel, e.width, e.height + !e.height);
  copy.dstArray = array;
  copy.extent = make_cudaExtent(e.width, e.height + !e.height, e.depth + !e.depth);
  copy.kind = cudaMemcpyHostToDevice;
  CHECK(cudaMemcpy3D(&copy));
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaTextureDesc reading = {};
  for (auto& m : reading.addressMode)
    m = static_cast<cudaTextureAddressMode>(how.second_mode < 0 ? how.mode : how.second_mode);
  reading.addressMode[0] = static_cast<cudaTextureAddressMode>(how.mode);
  reading.filterMode = how.linear ? cudaFilterModeLinear : cudaFilterModePoint;
  reading.readMode = how.fractions ? cudaReadModeNormalizedFloat : cudaReadModeElementType;
  reading.normalizedCoords = how.normalised;
  reading.borderColor[0] = 0.25f;
  reading.borderColor[1] = -3;
  cudaTextureObject_t texture;
  CHECK(cudaCreateTextureObject(&texture, &resource, &reading, nullptr));
  float *at[3], *all;
  const std::vector<float>* from[] = {&u, &v, &w};
  for (int d = 0; d < 3; ++d) {
    CHECK(cudaMalloc(&at[d], n * 4));
    CHECK(cudaMemcpy(at[d], from[d]->data(), n * 4, cudaMemcpyHostToDevice));
  }
  CHECK(cudaMalloc(&all, n * 16));
  read<<<static_cast<unsigned>((n + 127) / 128), 128>>>(shape, texture, at[0], at[1], at[2],
                                                        reinterpret_cast<float4*>(all), static_cast<int>(n));
  std::vector<uint32_t> bits(4 * n);
  CHECK(cudaMemcpy(bits.data(), all, n * 16, cudaMemcpyDeviceToHost));
  uint32_t hash = 0;
  const std::size_t channels = shape == gathered ? 4 : texel / sizeof(Channel);
  for (std::size_t i = 0; i < 4 * n; ++i)
    if (i % 4 < channels) {
      hash = hash * 31 + bits[i];
      if (file) std::fwrite(&bits[i], 4, 1, file);
    }
  std::printf("%s, shape %d, %zu x %zu x %zu, modes %d %d, linear %d, normalised %d: %08x\n", name, shape, e.width,
              e.height, e.depth, how.mode, how.second_mode, how.linear, how.normalised, hash);
  CHECK(cudaDestroyTextureObject(texture));
  CHECK(cudaFreeArray(array));
  for (float* p : {at[0], at[1], at[2], all}) CHECK(cudaFree(p));
}

int main(int count, char** arguments) {
  if (count > 1) file = std::fopen(arguments[1], "wb");
  constexpr int kMany = 8192;
  const auto real = cudaCreateChannelDesc<float>();
  const auto extent = [](std::size_t x, std::size_t y = 0, std::size_t z = 0) { return make_cudaExtent(x, y, z); };
  for (int range : {1, 4, 20}) probe("float", line, extent(256), wild(256, range), real, {}, places(kMany, -2, 258));
  probe("half", line, extent(256), halves(256), cudaCreateChannelDescHalf(), {}, places(kMany, -2, 258));
  probe("uchar", line, extent(256), integers<uint8_t>(256), cudaCreateChannelDesc<unsigned char>(),
        {cudaAddressModeClamp, -1, true, false, true}, places(kMany, -2, 258));
  probe("char", line, extent(256), integers<int8_t>(256), cudaCreateChannelDesc<char1>(),
        {cudaAddressModeClamp, -1, true, false, true}, places(kMany, -2, 258));
  probe("ushort", line, extent(256), integers<uint16_t>(256), cudaCreateChannelDesc<unsigned short>(),
        {cudaAddressModeClamp, -1, true, false, true}, places(kMany, -2, 258));
  probe("short", line, extent(256), integers<int16_t>(256), cudaCreateChannelDesc<short>(),
        {cudaAddressModeClamp, -1, true, false, true}, places(kMany, -2, 258));
  probe("half", plane, extent(16, 16), halves(256), cudaCreateChannelDescHalf(), {}, places(kMany, -2, 18),
        places(kMany, -2, 18));
  probe("float", plane, extent(64, 64), wild(4096, 4), real, {}, places(kMany, -2, 66), places(kMany, -2, 66));
  probe("float", solid, extent(16, 16, 16), wild(4096, 4), real, {}, places(kMany, -1, 17), places(kMany, -1, 17),
        places(kMany, -1, 17));
  for (int mode = 0; mode < 4; ++mode)
    for (const bool linear : {false, true}) {
      const Reading how{mode, -1, linear, true, false};
      for (std::size_t size : {3, 13, 16, 1000})
        probe("float", line, extent(size), wild(static_cast<int>(size), 2), real, how, places(kMany, -2, 3));
      probe("float", plane, extent(13, 7), wild(91, 2), real, how, places(kMany, -2, 3), places(kMany, -2, 3));
      probe("float", solid, extent(13, 7, 5), wild(455, 2), real, how, places(kMany, -2, 3), places(kMany, -2, 3),
            places(kMany, -2, 3));
      probe("float", cube, extent(16, 16, 6), wild(1536, 2), real, how, places(kMany, -1, 1), places(kMany, -1, 1),
            places(kMany, -1, 1));
      probe("float", gathered, extent(13, 7), wild(91, 2), real, how, places(kMany, -2, 3), places(kMany, -2, 3));
      probe("char4", plane, extent(16, 16), integers<int8_t>(1024), cudaCreateChannelDesc<char4>(),
            {mode, -1, linear, true, true}, places(kMany, -2, 3), places(kMany, -2, 3));
    }
  for (int second = 0; second < 4; ++second)
    probe("float", line, extent(16), wild(16, 2), real, {cudaAddressModeBorder, second, true, true, false},
          places(kMany, -1, 2));
  // The borders of texels, and the floats around them.
  for (std::size_t size : {3, 5, 7, 13, 100, 1000}) {
    std::vector<float> u;
    for (int i = -10; i < 25; ++i) {
      float x = std::nextafter(std::nextafter(static_cast<float>(i) / static_cast<float>(size), -9.f), -9.f);
      for (int k = 0; k < 5; ++k, x = std::nextafter(x, 9.f)) u.push_back(x);
    }
    probe("borders", line, extent(size), wild(static_cast<int>(size), 2), real, {0, -1, false, true, false}, u);
  }
  if (file) std::fclose(file);
}
