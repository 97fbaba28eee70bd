// Copies whose elements are not aligned for the warp: off by a few elements, strided, in rows of an odd
// width, or as members of structures.
//
//   alignment [--n N] [--block B] [--rung NAME]     n >= 0 floats (default 2^24), B from 1 to 1024 (256)
#include "../program.h"

__device__ inline size_t own_index() { return static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x; }

// Rungs 1-7. Element i is copied from i + Offset; the last Offset elements of the output stay as they are.
// Counters: 32 floats from a multiple of 8 elements on fill 4 sectors; from anywhere else they reach into a fifth.
// Nothing else changes, and the fifth is shared with the next warp: a cache makes most of it good.
template <int Offset>
__global__ void offset_copy(const float* in, float* out, size_t n) {
  const size_t i = own_index();
  if (i + Offset < n) out[i] = in[i + Offset];
}

// Rungs 8-13. Element i is copied from i * Stride: n / Stride of them.
// Counters: a load touches 4 sectors at stride 1, 8 at stride 2, and from stride 8 on one for each lane; each of the n
// / Stride elements is then 32 bytes moved for 4 wanted.
template <int Stride>
__global__ void stride_copy(const float* in, float* out, size_t n) {
  const size_t i = own_index();
  if (i * Stride < n) out[i] = in[i * Stride];
}

// Rung 14. Rows of 1001 floats one after the other, a block for each row.
// Counters: a row begins at any element, seven times in eight not at a sector's, so most warps touch a fifth sector.
__global__ void rows_packed(const float* in, float* out, size_t width, size_t pitch) {
  const size_t row = blockIdx.x * pitch;
  for (size_t x = threadIdx.x; x < width; x += blockDim.x) out[row + x] = in[row + x];
}

// Rung 15. The same rows in memory from cudaMallocPitch, which begins each at an address that suits the hardware.
// Counters: every full warp touches 4 sectors, for 2.3 % more memory.
__global__ void rows_pitched(const float* in, float* out, size_t width, size_t pitch) {
  const size_t row = blockIdx.x * pitch;
  for (size_t x = threadIdx.x; x < width; x += blockDim.x) out[row + x] = in[row + x];
}

struct Particle {
  float x, y, z, mass;
};

// Rung 16. n / 4 particles as an array of structures, of which only x is wanted.
// Counters: lanes are 16 bytes apart: 16 sectors a load, three quarters of them not wanted.
__global__ void structures(const Particle* in, float* out, size_t count) {
  const size_t i = own_index();
  if (i < count) out[i] = in[i].x;
}

// Rung 17. The same as a structure of arrays: all x lie together.
// Counters: 4 sectors a load, a quarter of rung 16's.
__global__ void arrays(const float* x, float* out, size_t count) {
  const size_t i = own_index();
  if (i < count) out[i] = x[i];
}

struct Shape {
  size_t n;
  unsigned int block;
  const std::vector<float>& host;
  const float* in;
  Array<float>& out;
};

constexpr float kUntouched = -1;

template <int Offset>
void run_offset(Program& program, const Shape& s) {
  const std::string name = "offset_copy<" + std::to_string(Offset) + ">";
  if (!program.wants(name)) return;
  s.out.upload(std::vector<float>(s.n, kUntouched));
  if (s.n) offset_copy<Offset><<<blocks_for(s.n, s.block), s.block>>>(s.in, s.out.get(), s.n);
  CHECK_KERNEL();
  const std::vector<float> result = s.out.download();
  bool right = true;
  for (size_t i = 0; i < s.n; ++i) right = right && result[i] == (i + Offset < s.n ? s.host[i + Offset] : kUntouched);
  program.result(name, right);
}

template <int Stride>
void run_stride(Program& program, const Shape& s) {
  const std::string name = "stride_copy<" + std::to_string(Stride) + ">";
  if (!program.wants(name)) return;
  const size_t count = (s.n + Stride - 1) / Stride;
  s.out.spoil();
  if (count) stride_copy<Stride><<<blocks_for(count, s.block), s.block>>>(s.in, s.out.get(), s.n);
  CHECK_KERNEL();
  const std::vector<float> result = s.out.download(count);
  bool right = true;
  for (size_t i = 0; i < count; ++i) right = right && result[i] == s.host[i * Stride];
  program.result(name, right);
}

// Rows that begin every `pitch` floats at `in` and `out`.
void run_rows(Program& program, const char* name, void (*kernel)(const float*, float*, size_t, size_t), float* in,
              float* out, size_t width, size_t rows, size_t pitch, const Shape& s) {
  std::vector<float> result(width * rows);
  if (rows) {
    const size_t bytes = width * sizeof(float), pitch_bytes = pitch * sizeof(float);
    CHECK(cudaMemcpy2D(in, pitch_bytes, s.host.data(), bytes, bytes, rows, cudaMemcpyHostToDevice));
    kernel<<<static_cast<unsigned int>(rows), s.block>>>(in, out, width, pitch);
    CHECK_KERNEL();
    CHECK(cudaMemcpy2D(result.data(), bytes, out, pitch_bytes, bytes, rows, cudaMemcpyDeviceToHost));
  }
  program.result(name, std::vector<float>(s.host.begin(), s.host.begin() + static_cast<long>(width * rows)) == result);
}

int main(int argc, char** argv) {
  Program program(argc, argv, {{"--n", 1 << 24, 0, 1ull << 31, Option::any}, {"--block", 256, 1, 1024, Option::any}});
  const size_t n = program["--n"];
  const unsigned int block = static_cast<unsigned int>(program["--block"]);
  std::vector<float> host(n);
  for (size_t i = 0; i < n; ++i) host[i] = static_cast<float>(i % 16777213);
  const Array<float> in(host);
  Array<float> out(n);
  const Shape shape{n, block, host, in.get(), out};

  run_offset<0>(program, shape);
  run_offset<1>(program, shape);
  run_offset<2>(program, shape);
  run_offset<4>(program, shape);
  run_offset<8>(program, shape);
  run_offset<16>(program, shape);
  run_offset<32>(program, shape);
  run_stride<1>(program, shape);
  run_stride<2>(program, shape);
  run_stride<4>(program, shape);
  run_stride<8>(program, shape);
  run_stride<16>(program, shape);
  run_stride<32>(program, shape);

  const size_t width = 1001, rows = n / width;
  if (program.wants("rows_packed")) {
    Array<float> from(width * rows), to(width * rows);
    to.spoil();
    run_rows(program, "rows_packed", rows_packed, from.get(), to.get(), width, rows, width, shape);
  }
  if (program.wants("rows_pitched")) {
    float *from = nullptr, *to = nullptr;
    size_t pitch = width * sizeof(float);
    if (rows) {
      CHECK(cudaMallocPitch(reinterpret_cast<void**>(&from), &pitch, width * sizeof(float), rows));
      CHECK(cudaMallocPitch(reinterpret_cast<void**>(&to), &pitch, width * sizeof(float), rows));
    }
    run_rows(program, "rows_pitched", rows_pitched, from, to, width, rows, pitch / sizeof(float), shape);
    CHECK(cudaFree(from));
    CHECK(cudaFree(to));
  }

  const size_t count = n / 4;
  std::vector<Particle> particles(count);
  std::vector<float> xs(count);
  for (size_t i = 0; i < count; ++i) {
    xs[i] = host[i];
    particles[i] = {host[i], 1, 2, 3};
  }
  if (program.wants("structures")) {
    const Array<Particle> from(particles);
    out.spoil();
    if (count) structures<<<blocks_for(count, block), block>>>(from.get(), out.get(), count);
    CHECK_KERNEL();
    program.result("structures", out.download(count) == xs);
  }
  if (program.wants("arrays")) {
    const Array<float> from(xs);
    out.spoil();
    if (count) arrays<<<blocks_for(count, block), block>>>(from.get(), out.get(), count);
    CHECK_KERNEL();
    program.result("arrays", out.download(count) == xs);
  }
  return program.end();
}
