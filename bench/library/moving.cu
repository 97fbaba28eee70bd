// transpose, reverse and copy, beside the runtime's own copy of as many bytes (limit.cu) and, where rows lie apart, of
// the same rows.
//
//   moving [--only REGEX] [--seconds S]
#include <coalesce/copy.cuh>
#include <coalesce/reverse.cuh>
#include <coalesce/transpose.cuh>

#include "grid.h"

namespace {

using bench::i64;
constexpr i64 kBytes = i64{1} << 30;

struct Triple {
  float x, y, z;
};

void right(const coalesce::status& s) {
  if (s) return;
  std::fprintf(stderr, "error: %s\n", s.message());
  std::exit(1);
}

template <class T>
void all(bench::Program& program, const char* type, void* in, void* out) {
  const T* from = static_cast<const T*>(in);
  T* to = static_cast<T*>(out);
  const i64 size = sizeof(T), count = kBytes / size;
  for (const int offset : {0, 1}) {
    const bench::Case c{"moving", "reverse", type, std::to_string(count - offset), "", 2 * (count - offset) * size,
                        offset};
    if (program.wants(c)) {
      program.measure(c, 1,
                      [&](int) { right(coalesce::reverse(from + offset, count - offset, to, program.stream())); });
    }
  }
  struct Form {
    i64 rows, columns;
  };
  i64 side = 1;
  while (4 * side * side <= count) side *= 2;
  for (const Form f : {Form{side, side}, Form{side + 1, side - 1}, Form{side / 64, side * 64},
                       Form{side * 64, side / 64}, Form{count / 7, 7}, Form{7, count / 7}}) {
    const bench::Case c{"moving", "transpose",
                        type,     std::to_string(f.rows) + "x" + std::to_string(f.columns),
                        "",       2 * f.rows * f.columns * size};
    if (program.wants(c)) {
      program.measure(c, 1, [&](int) { right(coalesce::transpose(from, to, f.rows, f.columns, program.stream())); });
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  bench::Program program(argc, argv, "coalesce"), runtime(argc, argv, "cudaMemcpy2D");
  void *in = nullptr, *out = nullptr;
  CHECK(cudaMalloc(&in, kBytes));
  CHECK(cudaMalloc(&out, kBytes + 4096));
  bench::data<float>(in, kBytes / 4);
  all<unsigned char>(program, "1-byte", in, out);
  all<unsigned short>(program, "2-byte", in, out);
  all<float>(program, "4-byte", in, out);
  all<double>(program, "8-byte", in, out);
  all<Triple>(program, "12-byte", in, out);
  all<uint4>(program, "16-byte", in, out);
  // Rows of floats in pitches of 512 bytes, aligned and not.
  using byte = unsigned char;
  for (const i64 width : {i64{16}, i64{60}, i64{400}, i64{1000}, i64{4000}, i64{100000}, kBytes / 2}) {
    for (const int offset : {0, 4, 5}) {
      const i64 pitch = (width + 511) / 512 * 512, rows = kBytes / 2 / pitch;
      const bench::Case c{"moving", "copy",           "bytes", std::to_string(rows) + "x" + std::to_string(width),
                          "",       2 * rows * width, offset};
      if (!program.wants(c)) continue;
      program.measure(c, 1, [&](int) {
        right(coalesce::copy(static_cast<const byte*>(in) + offset, pitch, static_cast<byte*>(out), pitch, rows, width,
                             program.stream()));
      });
      runtime.measure(c, 1, [&](int) {
        CHECK(cudaMemcpy2DAsync(out, pitch, static_cast<const byte*>(in) + offset, pitch, width, rows,
                                cudaMemcpyDeviceToDevice, runtime.stream()));
      });
    }
  }
  return program.end();
}
