// One call after the other, each with what it may load: the sectors its input lies in, and how many in a thousand more.
// tests/end_to_end/library_test.cpp compares the lines printed here with the launches counted.
#include <coalesce/copy.cuh>
#include <coalesce/reduce.cuh>
#include <coalesce/reverse.cuh>
#include <coalesce/transpose.cuh>

#include "test.h"

namespace {

// Announces a call that reads `bytes` from `data`.
void budget(const char* what, const void* data, i64 bytes, int per_mille) {
  const auto begin = reinterpret_cast<std::uintptr_t>(data), end = begin + bytes;
  const i64 sectors = bytes ? static_cast<i64>((end + 31) / 32 - begin / 32) : 0;
  std::printf("budget %s least %lld over %d\n", what, static_cast<long long>(sectors), per_mille);
}

template <class T>
void reverse_budget(const char* what, int shift, int per_mille) {
  const i64 count = 100000 / static_cast<i64>(sizeof(T));
  Array<T> in(count, shift), out(count);
  budget(what, in.get(), count * sizeof(T), per_mille);
  CALL(coalesce::reverse(in.get(), count, out.get()));
}

// The elements' bytes do not matter here: everything is guard bytes.
void copies() {
  using byte = unsigned char;
  Array<byte> in(200000, 0), out(200000, 0);
  budget("copy,aligned", in.get(), 131072, 0);
  CALL(coalesce::copy(in.get(), 131072, out.get(), 131072, 1, 131072));
  budget("copy,shifted", in.get() + 5, 131072, 10);
  CALL(coalesce::copy(in.get() + 5, 131072, out.get(), 131072, 1, 131072));
  budget("copy,aligned-rows", in.get(), 2048 * 60, 0);
  CALL(coalesce::copy(in.get(), 2048, out.get(), 2048 + 512, 60, 2048));
  budget("copy,short-rows", in.get(), 64 * 1000, 0);
  CALL(coalesce::copy(in.get(), 64, out.get(), 128, 1000, 64));
}

struct Triple {
  float x, y, z;
};

// Reductions. One per mille is what the last block reads of the other blocks' partial results.
void whole_arrays() {
  constexpr i64 count = i64{1} << 20;
  Array<float> in(count + 1), out(1);
  Array<std::int64_t> place(1);
  budget("sum", in.get(), count * 4, 1);
  CALL(coalesce::sum(in.get(), count, out.get()));
  budget("sum,shifted", in.get() + 1, count * 4, 10);
  CALL(coalesce::sum(in.get() + 1, count, out.get()));
  budget("argmin,int8", in.get(), count * 4, 1);
  CALL(coalesce::argmin(reinterpret_cast<const std::int8_t*>(in.get()), count * 4, place.get()));
}

// `rows` x `columns`, rows `stride` apart, over `axis`.
void matrix(const char* what, i64 rows, i64 columns, i64 stride, int axis, int per_mille) {
  Array<float> in(rows * stride), out(axis ? rows : columns);
  if (stride == columns) {
    budget(what, in.get(), rows * columns * 4, per_mille);
  } else {
    i64 sectors = 0;
    for (i64 r = 0; r < rows; ++r) sectors += (r * stride + columns + 7) / 8 - r * stride / 8;
    std::printf("budget %s least %lld over %d\n", what, static_cast<long long>(sectors), per_mille);
  }
  CALL(coalesce::sum(coalesce::view<float>(in.get(), {rows, columns}, {stride, 1}), {axis}, out.get()));
}

void matrices() {
  matrix("rows,long", 4, 65536, 65536, 1, 1);
  matrix("rows,256", 1024, 256, 256, 1, 0);
  matrix("rows,64", 4096, 64, 64, 1, 0);
  matrix("rows,16", 16384, 16, 16, 1, 0);
  matrix("rows,4", 65536, 4, 4, 1, 0);
  matrix("rows,7", 30000, 7, 7, 1, 0);
  matrix("rows,1000-of-1024", 256, 1000, 1024, 1, 0);
  matrix("rows,1001", 256, 1001, 1001, 1, 10);
  matrix("columns,4", 65536, 4, 4, 0, 10);
  matrix("columns,7", 30000, 7, 7, 0, 10);
  matrix("columns,256", 1024, 256, 256, 0, 5);  // partial results: 128 sectors
  matrix("columns,65536", 4, 65536, 65536, 0, 0);
  // 64 rows a block: its partial results are doubles; two tiles side by side.
  matrix("columns,1001", 256, 1001, 1001, 0, 65);
}

void middle_axis() {
  Array<float> in(64 * 64 * 64), out(64 * 64);
  budget("middle", in.get(), 64 * 64 * 64 * 4, 10);
  CALL(coalesce::sum(coalesce::view<float>(in.get(), {64, 64, 64}), {1}, out.get()));
}

void ragged() {
  Random random(1);
  std::vector<int> offsets = {0};
  while (offsets.size() <= 8000) offsets.push_back(offsets.back() + static_cast<int>(random.between(1, 64)));
  const i64 segments = static_cast<i64>(offsets.size()) - 1, elements = offsets.back();
  Array<float> in(elements), out(segments);
  const Array<int> device(offsets);
  // The search for portions loads 10 % more (docs/internals/library-kernels.md, Segments). 1000 times as many elements
  // cost 4 times as much.
  std::printf("budget segments least %lld over %d\n", static_cast<long long>((elements + 7) / 8 + (segments + 8) / 8),
              110);
  CALL(coalesce::sum(in.get(), device.get(), segments, out.get()));
}

template <class T>
void transpose_budget(const char* what) {
  Array<T> in(128 * 256), out(128 * 256);
  budget(what, in.get(), 128 * 256 * sizeof(T), 0);
  CALL(coalesce::transpose(in.get(), out.get(), 128, 256));
}

}  // namespace

int main() {
  copies();
  reverse_budget<unsigned char>("reverse,1-byte", 0, 0);
  reverse_budget<unsigned char>("reverse,1-byte,shifted", 3, 10);
  reverse_budget<unsigned short>("reverse,2-byte,shifted", 1, 10);
  reverse_budget<float>("reverse,4-byte", 0, 0);
  reverse_budget<float>("reverse,4-byte,shifted", 1, 10);
  reverse_budget<double>("reverse,8-byte,shifted", 1, 10);
  reverse_budget<double2>("reverse,16-byte", 1, 10);
  reverse_budget<Triple>("reverse,12-byte", 0, 0);
  transpose_budget<unsigned char>("transpose,1-byte");
  transpose_budget<unsigned short>("transpose,2-byte");
  transpose_budget<float>("transpose,4-byte");
  transpose_budget<double>("transpose,8-byte");
  transpose_budget<Triple>("transpose,12-byte");
  transpose_budget<double2>("transpose,16-byte");
  whole_arrays();
  matrices();
  middle_axis();
  ragged();
  CHECK(cudaDeviceSynchronize());
}
