// The limits of the GPU's memory, measured like everything else: a kernel that only reads, and one that copies.
//
//   limit [--only REGEX] [--seconds S]
//   limit --list                         the cases of grid.h, a line of JSON each, for torch_reductions.py
#include "grid.h"
#include "read.h"

namespace {

using bench::i64;

// Reads like bench::read and writes `written` of each 1024 vectors, side by side: the cost of stores. Blocks follow the
// order of memory. With ReadsFirst, what was read leaves L2 first; the faster choice depends on `written`
// (docs/internals/library-kernels.md).
template <bool ReadsFirst>
__global__ void __launch_bounds__(256) mixed(const uint4* data, int written, uint4* out) {
  const i64 tile = blockIdx.x;
  uint4 v[4];
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const uint4* const from = data + tile * 1024 + k * 256 + threadIdx.x;
    v[k] = ReadsFirst ? __ldcs(from) : *from;
  }
  uint4 all = make_uint4(0, 0, 0, 0);  // so that all is waited for
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    all.x ^= v[k].x ^ v[k].y ^ v[k].z ^ v[k].w;
    const int i = k * 256 + static_cast<int>(threadIdx.x);
    if (i < written) out[tile * written + i] = v[k];
  }
  if (all.x == 0x12345678u) out[0] = all;
}

// The same for ragged segments: with each 4096 vectors of elements `ends` vectors of ends are read, at most
// 1536, and `results` written.
__global__ void __launch_bounds__(512)
    ragged(const uint4* data, int tiles, const uint4* of_ends, int ends, uint4* out, int results) {
  for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    uint4 v[8], all = make_uint4(0, 0, 0, 0);
    unsigned int e[3];
#pragma unroll
    for (int k = 0; k < 3; ++k) {
      const int i = k * 512 + static_cast<int>(threadIdx.x);
      e[k] = i < ends ? __ldcs(of_ends + static_cast<i64>(tile) * ends + i).x : 0;
    }
#pragma unroll
    for (int k = 0; k < 8; ++k) v[k] = __ldcs(data + static_cast<i64>(tile) * 4096 + k * 512 + threadIdx.x);
#pragma unroll
    for (int k = 0; k < 8; ++k) all.x ^= v[k].x ^ v[k].y ^ v[k].z ^ v[k].w;
    all.x ^= e[0] ^ e[1] ^ e[2];
    for (int i = threadIdx.x; i < results; i += 512) out[static_cast<i64>(tile) * results + i] = all;
    if (all.x == 0x12345678u) out[0] = all;
  }
}

// Rows that begin anywhere, by the vectors of 16 bytes that they lie in: blocks of 64 threads side by side, each at a
// row of every four, go down tiles of 252 columns and a slice of the rows.
template <int Loads, int Blocks>
__global__ void __launch_bounds__(256, Blocks)
    crooked(const float* data, i64 rows, i64 columns, int slices, i64 rows_of_slice, unsigned int* out) {
  const int x = threadIdx.x % 64, y = threadIdx.x / 64, slice = static_cast<int>(blockIdx.x) % slices;
  const i64 first = blockIdx.x / slices * i64{252}, end = min(rows, (slice + 1) * rows_of_slice);
  i64 row = slice * rows_of_slice + y;
  const int shift = static_cast<int>((row * columns + first) % 4),
            wide = static_cast<int>(min(i64{252}, columns - first));
  if (x * 4 >= wide + shift) return;
  unsigned int all = 0;
  const float* at = data + row * columns + first - shift + x * 4;
#pragma unroll 1
  for (; row < end; row += 4 * Loads, at += 4 * Loads * columns) {
    uint4 v[Loads];
#pragma unroll
    for (int k = 0; k < Loads; ++k) {
      v[k] = row + 4 * k < end ? __ldcs(reinterpret_cast<const uint4*>(at + 4 * k * columns)) : make_uint4(0, 0, 0, 0);
    }
#pragma unroll
    for (int k = 0; k < Loads; ++k) all |= v[k].x ^ v[k].y ^ v[k].z ^ v[k].w;
  }
  if (all == 0x12345678u) *out = all;
}

void print(const bench::Case& c) {
  std::printf(
      "{\"part\": \"%s\", \"op\": \"%s\", \"type\": \"%s\", \"shape\": \"%s\", \"axes\": \"%s\", \"offset\": %d, "
      "\"bytes\": %lld}\n",
      c.part.c_str(), c.op.c_str(), c.type.c_str(), c.shape.c_str(), c.axes.c_str(), c.offset,
      static_cast<long long>(c.bytes));
}

void list() {
  struct Type {
    const char* name;
    int size;
  };
  for (const Type& type : {Type{"int8", 1}, Type{"half", 2}, Type{"float", 4}, Type{"double", 8}}) {
    for (const bench::Case& c : bench::flat_cases(type.name, type.size, {"sum", "max", "argmax"})) print(c);
  }
  for (const char* axis : {"0", "1"}) {
    for (const bench::Case& c : bench::matrix_cases({"sum", "max", "argmin", "variance"}, axis)) print(c);
  }
  for (const bench::Block& b : bench::blocks()) print(bench::block_case(b, "sum"));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && !std::strcmp(argv[1], "--list")) {
    list();
    return 0;
  }
  bench::Program program(argc, argv, "limit");
  void *memory = nullptr, *copied = nullptr;
  unsigned int* out = nullptr;
  CHECK(cudaMalloc(&memory, bench::kLargest));
  CHECK(cudaMalloc(&copied, bench::kLargest));
  CHECK(cudaMalloc(&out, 4));
  bench::data<float>(memory, bench::kLargest / 4);
  int processors = 0;
  CHECK(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0));
  for (const i64 bytes : bench::flat_bytes()) {
    const int areas = static_cast<int>(std::min<i64>(32, bench::kLargest / bytes));
    bench::measure_read(program, memory, bytes, areas, bench::kLargest / areas, "limit");
    bench::Case c{"flat", "copy", "float", std::to_string(bytes / 4), "", 2 * bytes};
    if (program.wants(c)) {
      program.measure(c, areas, [&](int area) {
        const i64 place = area * (bench::kLargest / areas);
        CHECK(cudaMemcpyAsync(static_cast<char*>(copied) + place, static_cast<char*>(memory) + place, bytes,
                              cudaMemcpyDeviceToDevice, program.stream()));
      });
    }
  }
  for (int log2 = 0; log2 <= 8; ++log2) {
    const i64 bytes = i64{1} << 30, more = bytes >> log2;
    for (const bool first : {false, true}) {
      const bench::Case c{"mixed", first ? "read first+write" : "read+write",
                          "float", std::to_string(bytes) + "+" + std::to_string(more),
                          "",      bytes + more};
      if (!program.wants(c)) continue;
      program.measure(c, 1, [&](int) {
        const auto kernel = first ? mixed<true> : mixed<false>;
        kernel<<<static_cast<unsigned int>(bytes / 16 / 1024), 256, 0, program.stream()>>>(
            static_cast<const uint4*>(memory), 1024 >> log2, static_cast<uint4*>(copied));
      });
    }
  }
  for (const bench::Case& matrix : bench::matrix_cases({"crooked"}, "0")) {
    const std::size_t by = matrix.shape.find('x');
    const i64 rows = std::stoll(matrix.shape), columns = std::stoll(matrix.shape.substr(by + 1));
    if (columns < 10000 || columns % 4 == 0 || rows < 128) continue;
    for (const int rounds : {1, 2, 4}) {
      const i64 tiles = (columns + 251) / 252, wanted = std::max<i64>(1, i64{rounds} * 3 * processors / tiles);
      const i64 rows_of_slice = (rows + wanted * 4 - 1) / (wanted * 4) * 4,
                slices = (rows + rows_of_slice - 1) / rows_of_slice;
      bench::Case c = matrix;
      c.part = "mixed";
      c.bytes = rows * columns * 4;
      const auto measure = [&](const char* name, const auto& kernel) {
        c.op = name + std::to_string(rounds);
        if (!program.wants(c)) return;
        program.measure(c, 1, [&](int) {
          kernel<<<static_cast<unsigned int>(tiles * slices), 256, 0, program.stream()>>>(
              static_cast<const float*>(memory), rows, columns, static_cast<int>(slices), rows_of_slice, out);
        });
      };
      measure("crooked, 8 loads, rounds ", crooked<8, 3>);
      measure("crooked, 16 loads, rounds ", crooked<16, 2>);
    }
  }
  for (const char* kind : bench::ragged_kinds()) {
    const std::vector<i64> offsets = bench::ragged(kind);
    for (const char* type : {"int8", "float"}) {
      for (const char* op : {"sum", "max"}) {
        bench::Case c = bench::ragged_case(type, op, kind, offsets);
        c.part = "mixed";
        if (!program.wants(c)) continue;
        const i64 count = static_cast<i64>(offsets.size()) - 1;
        const int tiles = static_cast<int>(offsets.back() * bench::size_of(type) / 65536);
        const int ends = static_cast<int>(count / 4 / tiles);
        const int results = static_cast<int>(count * bench::result_bytes(type, op) / 16 / tiles);
        c.bytes = i64{tiles} * (4096 + ends + results) * 16;
        const uint4* in = static_cast<const uint4*>(memory);
        program.measure(c, 1, [&](int) {
          ragged<<<2 * processors, 512, 0, program.stream()>>>(in, tiles, in + i64{tiles} * 4096, ends,
                                                               static_cast<uint4*>(copied), results);
        });
      }
    }
  }
  return program.end();
}
