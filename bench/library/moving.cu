// transpose, reverse and copy, beside the runtime's own copy of as many bytes (limit.cu) and, where rows lie apart, of
// the same rows. Beside transposes also a bare kernel that reads and writes the same pieces of rows ("pieces").
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

// Pieces of rows, and where those of the next tile begin, across the matrix and down, in bytes.
struct Pieces {
  int count, units;
  i64 pitch, across, down;
};

// The memory traffic of a transpose without the transposition: a block reads pieces of rows, its warps in turn, and
// writes as many others. Pieces that begin within a unit are read from its beginning, and written from the beginning of
// a sector.
template <class Unit>
__global__ void __launch_bounds__(256)
    move_pieces(const char* from, char* to, Pieces in, Pieces out, unsigned int tiles_across) {
  constexpr int loads = sizeof(Unit) == 4 ? 16 : 8;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const i64 across = blockIdx.x % tiles_across, down = blockIdx.x / tiles_across;
  from += across * in.across + down * in.down;
  to += across * out.across + down * out.down;
  // A warp takes several short pieces at once, or 32 units of a long one.
  struct Walk {
    int together, parts, piece, unit;
    __device__ Walk(const Pieces& of, int lane)
        : together(of.units < 32 && 32 % of.units == 0 ? 32 / of.units : 1),
          parts(together > 1 ? 1 : (of.units + 31) / 32),
          piece(together > 1 ? lane / of.units : 0),
          unit(lane - piece * of.units) {}
    __device__ int turns(const Pieces& of) const { return of.count / together * parts; }
    __device__ int piece_of(int turn, int& unit_of) const {
      const int some = parts == 1 ? turn : turn / parts;
      unit_of = unit + (turn - some * parts) * 32;
      return some * together + piece;
    }
  };
  const Walk read(in, lane), written(out, lane);
  unsigned int all = 0;
  for (int i = warp; i < read.turns(in); i += loads * 8) {
    Unit v[loads] = {};
#pragma unroll
    for (int k = 0; k < loads; ++k) {
      int unit = 0;
      const int piece = read.piece_of(i + k * 8, unit);
      if (piece < in.count && unit < in.units) {
        const auto at = reinterpret_cast<std::uintptr_t>(from + piece * in.pitch) / sizeof(Unit) * sizeof(Unit);
        v[k] = reinterpret_cast<const Unit*>(at)[unit];
      }
    }
#pragma unroll
    for (int k = 0; k < loads; ++k) {
      unsigned int word;
      memcpy(&word, &v[k], 4);
      all ^= word;
    }
  }
  for (int i = warp; i < written.turns(out); i += 8) {
    int unit = 0;
    const int piece = written.piece_of(i, unit);
    if (piece < out.count && unit < out.units) {
      const auto at = reinterpret_cast<std::uintptr_t>(to + piece * out.pitch) / 32 * 32;
      reinterpret_cast<uint4*>(at)[unit] = make_uint4(all, all, all, all);
    }
  }
}

// The pieces of transpose(), by the same choices.
template <int Size>
void pieces_of(bench::Program& program, bench::Case c, i64 rows, i64 columns, const void* from, void* to) {
  namespace detail = coalesce::detail;
  constexpr int part = Size == 12 ? 4 : Size, parts = Size / part;
  using tile = detail::crooked_tile<part, parts>;
  // The unit in which rows of odd alignment are read; all other rows are read in vectors.
  constexpr int bytes = Size <= 4 || Size == 12 ? 4 : Size == 8 ? 8 : 16;
  const i64 in_pitch = columns * Size, out_pitch = rows * Size;
  constexpr int side = Size <= 2 ? detail::packed_words<Size> * 4 / Size : detail::tile_side<Size>;
  Pieces in{}, out{};
  i64 across = 1, down = 0;
  bool crooked = false;
  if (in_pitch < 128) {  // a stream is read
    const int height = static_cast<int>(detail::narrow_bytes / in_pitch / 128 * 128);
    in = {static_cast<int>(height * in_pitch / 128), 8, 128, 0, height * in_pitch};
    out = {static_cast<int>(columns), height * Size / 16, out_pitch, 0, i64{height} * Size};
    down = rows / height;
  } else if (out_pitch < 128) {
    const int width = static_cast<int>(detail::narrow_bytes / out_pitch / 128 * 128);
    in = {static_cast<int>(rows), width * Size / bytes, in_pitch, 0, i64{width} * Size};
    out = {static_cast<int>(width * out_pitch / 128), 8, 128, 0, width * out_pitch};
    down = columns / width;
    crooked = true;
  } else if (in_pitch % 32 || out_pitch % 32) {
    in = {tile::rows, tile::row_units, in_pitch, tile::width * Size, tile::height * in_pitch};
    out = {tile::width, tile::height * Size / 16, out_pitch, tile::width * out_pitch, tile::height * Size};
    across = columns / tile::width;
    down = rows / tile::height - 1;
    crooked = true;
  } else {
    in = {side, side * Size / 16, in_pitch, side * Size, side * in_pitch};
    out = {side, side * Size / 16, out_pitch, side * out_pitch, side * Size};
    across = columns / side;
    down = rows / side;
  }
  c.bytes = 2 * across * down * out.count * out.units * 16;  // whole tiles only
  using Unit = std::conditional_t<bytes == 4, unsigned int, std::conditional_t<bytes == 8, uint2, uint4>>;
  const auto kernel = crooked ? move_pieces<Unit> : move_pieces<uint4>;
  program.measure(c, 1, [&](int) {
    kernel<<<static_cast<unsigned int>(across * down), 256, 0, program.stream()>>>(
        static_cast<const char*>(from), static_cast<char*>(to), in, out, static_cast<unsigned int>(across));
  });
}

void right(const coalesce::status& s) {
  if (s) return;
  std::fprintf(stderr, "error: %s\n", s.message());
  std::exit(1);
}

template <class T>
void all(bench::Program& program, bench::Program& pieces, const char* type, void* in, void* out) {
  const T* from = static_cast<const T*>(in);
  T* to = static_cast<T*>(out);
  constexpr int size = sizeof(T);
  const i64 count = kBytes / size;
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
      pieces_of<size>(pieces, c, f.rows, f.columns, in, out);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  bench::Program program(argc, argv, "coalesce"), runtime(argc, argv, "cudaMemcpy2D"), pieces(argc, argv, "pieces");
  void *in = nullptr, *out = nullptr;
  CHECK(cudaMalloc(&in, kBytes));
  CHECK(cudaMalloc(&out, kBytes + 4096));
  bench::data<float>(in, kBytes / 4);
  all<unsigned char>(program, pieces, "1-byte", in, out);
  all<unsigned short>(program, pieces, "2-byte", in, out);
  all<float>(program, pieces, "4-byte", in, out);
  all<double>(program, pieces, "8-byte", in, out);
  all<Triple>(program, pieces, "12-byte", in, out);
  all<uint4>(program, pieces, "16-byte", in, out);
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
