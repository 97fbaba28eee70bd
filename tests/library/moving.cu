// transpose, reverse and copy: every element size, alignment and shape around the kernels' boundaries, then random
// ones, each against a loop on the host.
#include <coalesce/copy.cuh>
#include <coalesce/reverse.cuh>
#include <coalesce/transpose.cuh>

#include "test.h"

namespace {

// An element of Size bytes aligned to Align.
template <int Size, int Align>
struct alignas(Align) Element {
  unsigned char bytes[Size];
};

template <class T>
std::vector<T> noise(i64 count, Random& random) {
  std::vector<T> values(count);
  auto* bytes = reinterpret_cast<unsigned char*>(values.data());
  for (std::size_t i = 0; i < count * sizeof(T); ++i) bytes[i] = static_cast<unsigned char>(random.next());
  return values;
}

template <class T>
bool same(const T& a, const T& b) {
  return std::memcmp(&a, &b, sizeof(T)) == 0;
}

template <class T>
void check_reverse(i64 count, int in_shift, int out_shift, Random& random) {
  const std::vector<T> host = noise<T>(count, random);
  const Array<T> in(host, in_shift);
  Array<T> out(count, out_shift);
  CALL(coalesce::reverse(in.get(), count, out.get()));
  const std::vector<T> result = out.download();
  for (i64 i = 0; i < count; ++i) {
    EXPECT(same(result[count - 1 - i], host[i]), "reverse: %d-byte elements, count %lld, shifts %d %d, element %lld",
           static_cast<int>(sizeof(T)), static_cast<long long>(count), in_shift, out_shift, static_cast<long long>(i));
  }
}

template <class T>
void check_transpose(i64 rows, i64 columns, i64 in_gap, i64 out_gap, int in_shift, int out_shift, Random& random) {
  const i64 in_stride = columns + in_gap, out_stride = rows + out_gap;
  const std::vector<T> host = noise<T>(rows * in_stride, random), old = noise<T>(columns * out_stride, random);
  const Array<T> in(host, in_shift);
  Array<T> out(old, out_shift);
  CALL(coalesce::transpose(in.get(), in_stride, out.get(), out_stride, rows, columns));
  const std::vector<T> result = out.download();
  for (i64 c = 0; c < columns; ++c) {
    for (i64 r = 0; r < out_stride; ++r) {
      const T& expected = r < rows ? host[r * in_stride + c] : old[c * out_stride + r];  // gaps stay as they are
      EXPECT(same(result[c * out_stride + r], expected),
             "transpose: %d-byte elements, %lld x %lld, gaps %lld %lld, shifts %d %d, element %lld, %lld",
             static_cast<int>(sizeof(T)), static_cast<long long>(rows), static_cast<long long>(columns),
             static_cast<long long>(in_gap), static_cast<long long>(out_gap), in_shift, out_shift,
             static_cast<long long>(r), static_cast<long long>(c));
    }
  }
}

// Pitches in bytes of single-byte elements: what copy does with any other type.
void check_copy(i64 rows, i64 width, i64 in_pitch, i64 out_pitch, int in_shift, int out_shift, Random& random) {
  using byte = unsigned char;
  const std::vector<byte> host = noise<byte>((rows - 1) * std::llabs(in_pitch) + width, random);
  const std::vector<byte> old = noise<byte>(rows * out_pitch, random);
  const Array<byte> in(host, in_shift);
  Array<byte> out(old, out_shift);
  const i64 start = in_pitch < 0 ? -in_pitch * (rows - 1) : 0;
  CALL(coalesce::copy(in.get() + start, in_pitch, out.get(), out_pitch, rows, width));
  const std::vector<byte> result = out.download();
  for (i64 r = 0; r < rows; ++r) {
    for (i64 i = 0; i < out_pitch; ++i) {
      const byte expected = i < width ? host[start + r * in_pitch + i] : old[r * out_pitch + i];
      EXPECT(result[r * out_pitch + i] == expected,
             "copy: %lld x %lld bytes, pitches %lld %lld, shifts %d %d, byte %lld of row %lld",
             static_cast<long long>(rows), static_cast<long long>(width), static_cast<long long>(in_pitch),
             static_cast<long long>(out_pitch), in_shift, out_shift, static_cast<long long>(i),
             static_cast<long long>(r));
    }
  }
}

template <class T>
void check_type(Random& random) {
  for (const i64 count : {0, 1, 2, 3, 31, 33, 255, 1023, 1025}) check_reverse<T>(count, 0, 0, random);
  for (int shift = 1; shift < 17; shift += 3) check_reverse<T>(1000 + shift, shift, 16 - shift, random);
  check_reverse<T>(9000, 1, 0, random);
  for (const i64 side : {1, 31, 32, 33}) check_transpose<T>(side, 65 - side, 0, 0, 0, 0, random);
  check_transpose<T>(64, 128, 0, 0, 0, 0, random);
  check_transpose<T>(63, 130, 0, 0, 0, 0, random);
  check_transpose<T>(132, 136, 4, 8, 4, 8, random);  // words of whole bytes and halves
  // Streams of several blocks, and crooked tiles below and beside each other.
  constexpr i64 stream = 200000 / static_cast<i64>(sizeof(T)) / 6;
  check_transpose<T>(6, stream, 0, 0, 1, 0, random);
  if (sizeof(T) < 4) check_transpose<T>(2, 3 * stream, 1, 0, 0, 1, random);  // words of several columns
  check_transpose<T>(stream, 6, 0, 1, 0, 1, random);
  if (sizeof(T) < 4) check_transpose<T>(stream, 7, 0, 3, 1, 0, random);  // no swizzle
  check_transpose<T>(270, 259, 1, 1, 1, 1, random);
  for (int k = 0; k < 4; ++k) {
    check_transpose<T>(random.between(1, 80), random.between(1, 80), random.between(0, 5), random.between(0, 5),
                       static_cast<int>(random.between(0, 7)), static_cast<int>(random.between(0, 7)), random);
  }
}

void check_copies(Random& random) {
  for (int in_shift = 0; in_shift < 16; ++in_shift) {
    for (int out_shift = 0; out_shift < 16; out_shift += 1 + in_shift % 3)
      check_copy(1, 700, 700, 700, in_shift, out_shift, random);
  }
  for (const i64 width : {1,   15,  16,  17,   31,   32,   47,   64,   100,  127,  128,  131, 400,
                          511, 512, 513, 1000, 1024, 1025, 2047, 2048, 2049, 4095, 4128, 9000}) {
    check_copy(3, width, width + 5, width + 16, 0, 3, random);
    check_copy(1, width, width, width, 16, 0, random);
  }
  for (const i64 unit : {1, 2, 4, 8, 16}) {
    check_copy(70, 3 * unit, 5 * unit, 4 * unit, 0, 0, random);
    check_copy(9, 600, -608, 624, static_cast<int>(unit), 0, random);
    check_copy(35, 400, 404, 412, static_cast<int>(unit), 4, random);
    check_copy(5, 20 * unit, 0, 32 * unit, 0, 0, random);
  }
  for (int k = 0; k < 20; ++k) {
    const i64 width = random.between(1, 1500);
    check_copy(random.between(1, 12), width, width + random.between(0, 40), width + random.between(0, 40),
               static_cast<int>(random.between(0, 31)), static_cast<int>(random.between(0, 31)), random);
  }
}

template <class S>
void refused(const S& status, const char* what) {
  EXPECT(!status && status.error() == cudaErrorInvalidValue, "%s was not refused", what);
  EXPECT(std::string(status.message()).size() > 10, "%s: no message", what);
}

void check_refusals() {
  Array<float> a(64), b(64);
  refused(coalesce::reverse<float>(nullptr, 4, b.get()), "null in");
  refused(coalesce::reverse<float>(a.get(), 4, nullptr), "null out");
  refused(coalesce::reverse<float>(a.get(), -1, b.get()), "a negative count");
  refused(coalesce::reverse<float>(a.get(), 8, a.get() + 7), "reverse upon its input");
  CALL(coalesce::reverse<float>(a.get(), 8, a.get() + 8));
  CALL(coalesce::reverse<float>(nullptr, 0, nullptr));
  refused(coalesce::transpose<float>(a.get(), b.get(), -2, 2), "negative rows");
  refused(coalesce::transpose<float>(a.get(), 3, b.get(), 4, 4, 4), "too small an in_stride");
  refused(coalesce::transpose<float>(a.get(), 4, b.get(), 3, 4, 4), "too small an out_stride");
  refused(coalesce::transpose<float>(a.get(), a.get() + 8, 4, 4), "transpose upon its input");
  refused(coalesce::transpose<float>(a.get(), b.get(), INT64_MAX / 2, 4), "more bytes than 63 bits hold");
  refused(coalesce::copy<float>(a.get(), 16, b.get(), 12, 4, 4), "too small an out_pitch");
  refused(coalesce::copy<float>(a.get(), 18, b.get(), 16, 4, 4), "a pitch that is no multiple of the alignment");
  refused(coalesce::copy<float>(a.get(), 16, a.get() + 15, 16, 4, 4), "copy upon its input");
  const auto* odd = reinterpret_cast<const float*>(reinterpret_cast<const char*>(a.get()) + 2);
  refused(coalesce::reverse<float>(odd, 4, b.get()), "a pointer between elements");
  CHECK(cudaDeviceSynchronize());
}

}  // namespace

int main() {
  Random random(7);
  check_type<Element<1, 1>>(random);
  check_type<Element<2, 2>>(random);
  check_type<Element<4, 4>>(random);
  check_type<Element<8, 8>>(random);
  check_type<Element<16, 16>>(random);
  check_type<Element<3, 1>>(random);
  check_type<Element<6, 2>>(random);
  check_type<Element<12, 4>>(random);
  check_type<Element<16, 4>>(random);
  check_type<Element<13, 1>>(random);
  check_copies(random);
  check_refusals();
  std::puts("transpose, reverse, copy: ok");
}
