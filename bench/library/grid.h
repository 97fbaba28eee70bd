// The measured cases, the same for every library. torch_reductions.py reads them from `limit --list`.
#pragma once

#include <cmath>

#include "bench.h"

namespace bench {

// Whole arrays: bytes from 2^10 to 2^32.
inline std::vector<i64> flat_bytes() {
  std::vector<i64> list;
  for (int log2 = 10; log2 <= 32; log2 += 2) list.push_back(i64{1} << log2);
  return list;
}
inline constexpr i64 kLargest = i64{1} << 32;

// An array that begins one element behind an aligned address, too.
inline std::vector<Case> flat_cases(const char* type, int element, const std::vector<const char*>& ops) {
  std::vector<Case> list;
  for (const char* op : ops) {
    for (const i64 bytes : flat_bytes()) {
      list.push_back({"flat", op, type, std::to_string(bytes / element), "", bytes});
      if (bytes >= i64{1} << 20 && (bytes == i64{1} << 20 || bytes == i64{1} << 28 || bytes == i64{1} << 32)) {
        list.push_back({"flat", op, type, std::to_string(bytes / element - 1), "", bytes - element, 1});
      }
    }
  }
  return list;
}

struct Matrix {
  i64 rows, columns;
};
// 2^28 floats in matrices of every form, and some whose sides are no powers of two.
inline std::vector<Matrix> matrices() {
  std::vector<Matrix> list;
  for (int log2 = 0; log2 <= 28; ++log2) list.push_back({i64{1} << log2, i64{1} << (28 - log2)});
  for (const i64 side : {i64{3}, i64{7}, i64{13}, i64{100}, i64{1000}, i64{16383}}) {
    list.push_back({side, (i64{1} << 28) / side});
    list.push_back({(i64{1} << 28) / side, side});
  }
  return list;
}
inline i64 size_of(const std::string& type) { return type == "int8" ? 1 : type == "float" ? 4 : 0; }
// Bytes of a result: positions have 64 bits, and so have sums of integers.
inline i64 result_bytes(const std::string& type, const std::string& op) {
  return op.rfind("arg", 0) == 0 || (op == "sum" && type == "int8") ? 8 : size_of(type);
}

inline std::vector<Case> matrix_cases(const std::vector<const char*>& ops, const char* axes) {
  std::vector<Case> list;
  for (const char* op : ops) {
    for (const Matrix& m : matrices()) {
      list.push_back({"matrix", op, "float", std::to_string(m.rows) + "x" + std::to_string(m.columns), axes,
                      m.rows * m.columns * 4 + (*axes == '1' ? m.rows : m.columns) * result_bytes("float", op)});
    }
  }
  return list;
}

// More axes than two.
struct Block {
  std::vector<i64> extents;
  std::vector<int> axes;
};
inline std::vector<Block> blocks() {
  return {{{256, 1024, 1024}, {1}},         {{256, 1024, 1024}, {0, 2}},     {{64, 64, 256, 256}, {1, 3}},
          {{64, 64, 256, 256}, {0, 2}},     {{1024, 512, 512}, {0, 1}},      {{128, 3, 1000, 700}, {2}},
          {{128, 3, 1000, 700}, {0, 2, 3}}, {{32, 32, 32, 32, 256}, {1, 3}}, {{4096, 16, 4096}, {1}},
          {{1000, 37, 7000}, {0, 2}}};
}
// Shapes that nobody has chosen: 1 to 4 axes, their extents' logarithms and the size's drawn alike (2^25 to 2^28
// elements), each axis reduced or not. The same ones in every run.
inline std::vector<Block> random_blocks() {
  std::vector<Block> list;
  std::uint64_t state = 20261124;
  const auto random = [&] {  // [0, 1)
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return static_cast<double>(state >> 11) * 0x1p-53;
  };
  while (list.size() < 40) {
    const int rank = 1 + static_cast<int>(random() * 4);
    const double size = 25 + 3 * random();
    std::vector<double> parts;
    double all = 0;
    for (int i = 0; i < rank; ++i) {
      parts.push_back(random());
      all += parts.back();
    }
    Block b;
    i64 elements = 1;
    for (int i = 0; i < rank; ++i) {
      b.extents.push_back(std::max<i64>(1, std::llround(std::exp2(size * parts[i] / all))));
      elements *= b.extents.back();
      if (random() < 0.5) b.axes.push_back(i);
    }
    if (b.axes.empty()) b.axes.push_back(static_cast<int>(random() * rank));
    if (elements <= i64{1} << 28) list.push_back(b);
  }
  return list;
}
inline Case block_case(const Block& b, const char* op, const char* part = "nd") {
  Case c{part, op, "float", "", "", 4};
  i64 results = result_bytes("float", op);
  for (const i64 extent : b.extents) {
    c.shape += (c.shape.empty() ? "" : "x") + std::to_string(extent);
    c.bytes *= extent;
    results *= extent;
  }
  for (const int axis : b.axes) {
    c.axes += (c.axes.empty() ? "" : ",") + std::to_string(axis);
    results /= b.extents[axis];
  }
  c.bytes += results;
  return c;
}

// Ragged: lengths of segments, about 2^28 elements in all.
inline std::vector<i64> ragged(const std::string& kind) {
  std::vector<i64> offsets = {0};
  std::uint64_t state = 1;
  const auto random = [&] {  // [0, 1)
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return static_cast<double>(state >> 11) * 0x1p-53;
  };
  const i64 wanted = i64{1} << 28;
  if (kind == "giant") {  // one of nearly everything among a million of 1 to 64
    for (int i = 0; i < 1000000; ++i) {
      const i64 length = i == 500000 ? wanted - 33000000 : 1 + static_cast<i64>(random() * 64);
      offsets.push_back(offsets.back() + length);
    }
    return offsets;
  }
  while (offsets.back() < wanted) {
    // uniform: 1 to 64. power: P(length > x) = 1 / x, cut at a million.
    const i64 length = kind == "uniform" ? 1 + static_cast<i64>(random() * 64)
                                         : std::min<i64>(1000000, static_cast<i64>(1 / (1 - random())));
    offsets.push_back(std::min(wanted, offsets.back() + length));
  }
  return offsets;
}
inline const std::vector<const char*>& ragged_kinds() {
  static const std::vector<const char*> kinds = {"uniform", "power", "giant"};
  return kinds;
}
// Read: the elements and the offsets (32 bits). Written: the results.
inline Case ragged_case(const char* type, const char* op, const char* kind, const std::vector<i64>& offsets) {
  const i64 count = static_cast<i64>(offsets.size()) - 1;
  return {"ragged", op, type,
          kind,     "", offsets.back() * size_of(type) + (count + 1) * 4 + count * result_bytes(type, op)};
}

}  // namespace bench
