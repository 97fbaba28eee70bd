// The cost of copies to the device and back: from which host memory, in how many calls, and beside which work.
//
//   transfer [--n N] [--rung NAME]     N floats, from 0 to 2^30 (default 2^22)
//
// The machine counts calls and bytes and times nothing: rungs 1, 2 and 3 are equal, and rung 4 makes a thousand calls.
// A GPU gives their speed.
#include "../program.h"

// The device's work on the data, to overlap with copies.
__global__ void add_one(float* data, size_t n) {
  const size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) data[i] += 1.0f;
}

constexpr unsigned int kBlock = 256;

void there_and_back(float* device, const float* from, float* to, size_t n) {
  if (!n) return;
  CHECK(cudaMemcpy(device, from, n * sizeof(float), cudaMemcpyHostToDevice));
  add_one<<<blocks_for(n, kBlock), kBlock>>>(device, n);
  CHECK_KERNEL();
  CHECK(cudaMemcpy(to, device, n * sizeof(float), cudaMemcpyDeviceToHost));
}

// Rung pageable. Host memory from malloc: the driver copies it to memory of its own first, as the system may move or
// page out what we gave it.
void pageable(float* device, const float* in, float* out, size_t n) { there_and_back(device, in, out, n); }

// Rung pinned. Host memory from cudaHostAlloc stays where it is, so the device fetches it itself. Same calls, same
// bytes.
void pinned(float* device, const float* in, float* out, size_t n) {
  float* fixed = nullptr;
  CHECK(cudaHostAlloc(reinterpret_cast<void**>(&fixed), (n + 1) * sizeof(float), cudaHostAllocDefault));
  std::copy(in, in + n, fixed);
  there_and_back(device, fixed, fixed, n);
  std::copy(fixed, fixed + n, out);
  CHECK(cudaFreeHost(fixed));
}

// Rung registered. Memory that is there already, pinned afterwards: no second copy in host memory, but pinning takes
// time.
void registered(float* device, const float* in, float* out, size_t n) {
  std::copy(in, in + n, out);
  if (n) CHECK(cudaHostRegister(out, n * sizeof(float), cudaHostRegisterDefault));
  there_and_back(device, out, out, n);
  if (n) CHECK(cudaHostUnregister(out));
}

// Rung small_copies. The same bytes in a thousand calls each way: what every call costs, a thousand times.
void small_copies(float* device, const float* in, float* out, size_t n) {
  constexpr size_t kPieces = 1000;
  const auto pieces = [&](float* to, const float* from, cudaMemcpyKind kind) {
    for (size_t k = 0; k < kPieces; ++k) {
      const size_t first = n * k / kPieces, last = n * (k + 1) / kPieces;
      if (last > first) CHECK(cudaMemcpy(to + first, from + first, (last - first) * sizeof(float), kind));
    }
  };
  pieces(device, in, cudaMemcpyHostToDevice);
  if (n) add_one<<<blocks_for(n, kBlock), kBlock>>>(device, n);
  CHECK_KERNEL();
  pieces(out, device, cudaMemcpyDeviceToHost);
}

// Rung one_copy. The thousand pieces gathered on the host first, and sent in one call.
void one_copy(float* device, const float* in, float* out, size_t n) { there_and_back(device, in, out, n); }

// Rung overlapped. Pinned memory in 8 chunks on two streams: one chunk travels while another is worked on. 8 calls each
// way; on the machine everything happens one after the other.
void overlapped(float* device, const float* in, float* out, size_t n) {
  constexpr size_t kChunks = 8;
  float* fixed = nullptr;
  CHECK(cudaHostAlloc(reinterpret_cast<void**>(&fixed), (n + 1) * sizeof(float), cudaHostAllocDefault));
  std::copy(in, in + n, fixed);
  cudaStream_t streams[2];
  for (cudaStream_t& stream : streams) CHECK(cudaStreamCreate(&stream));
  for (size_t k = 0; k < kChunks; ++k) {
    const size_t first = n * k / kChunks, count = n * (k + 1) / kChunks - first, bytes = count * sizeof(float);
    if (!count) continue;
    const cudaStream_t stream = streams[k % 2];
    CHECK(cudaMemcpyAsync(device + first, fixed + first, bytes, cudaMemcpyHostToDevice, stream));
    add_one<<<blocks_for(count, kBlock), kBlock, 0, stream>>>(device + first, count);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpyAsync(fixed + first, device + first, bytes, cudaMemcpyDeviceToHost, stream));
  }
  for (cudaStream_t stream : streams) {
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaStreamDestroy(stream));
  }
  std::copy(fixed, fixed + n, out);
  CHECK(cudaFreeHost(fixed));
}

struct Rung {
  const char* name;
  void (*run)(float*, const float*, float*, size_t);
};

const Rung kRungs[] = {{"pageable", pageable},         {"pinned", pinned},     {"registered", registered},
                       {"small_copies", small_copies}, {"one_copy", one_copy}, {"overlapped", overlapped}};

int main(int argc, char** argv) {
  Program program(argc, argv, {{"--n", 1 << 22, 0, 1 << 30, Option::any}});
  const size_t n = program["--n"];
  std::vector<float> in(n), expected(n);
  for (size_t i = 0; i < n; ++i) expected[i] = (in[i] = static_cast<float>(element(i))) + 1;
  Array<float> device(n);
  for (const Rung& rung : kRungs) {
    if (!program.wants(rung.name)) continue;
    std::vector<float> out(n, -1000.0f);
    rung.run(device.get(), in.data(), out.data(), n);
    program.result(rung.name, out == expected);
  }
  return program.end();
}
