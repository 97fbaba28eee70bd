// One call after the other, each with what it may load: the sectors its input lies in, and how many in a thousand more.
// tests/end_to_end/library_test.cpp compares the lines printed here with the launches counted.
#include <coalesce/copy.cuh>
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
  CHECK(cudaDeviceSynchronize());
}
