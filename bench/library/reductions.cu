// This library on the cases of grid.h.
//
//   reductions [--only REGEX] [--seconds S]
//
// Built as several programs, side by side: -DTYPE=half for an element type, -DSHAPES for matrices and more axes
// (float), -DRAGGED for segments, -DOP=sum for one function alone.
#include <coalesce/reduce.cuh>
#include <string_view>

#include "element.h"
#include "grid.h"
#include "read.h"

namespace {

using bench::i64;
constexpr i64 kSize = sizeof(T);

#ifdef OP
#define PROGRAM TEXT(TYPE) "-" TEXT(OP)
#else
#define PROGRAM TEXT(TYPE)
#endif

// True if this program contains the function.
constexpr bool has(std::string_view op) {
#ifdef OP
  return op == TEXT(OP);
#else
  return op != "variance" || std::is_same_v<T, float>;
#endif
}

// Calls the function that `op` names, whichever way it is called.
template <class In>
void call(const std::string& op, const In& in, void* out, cudaStream_t stream) {
  using wide = std::conditional_t<std::is_integral_v<T>, i64, std::conditional_t<std::is_same_v<T, half>, float, T>>;
  const auto call_if = [&](auto there, const char* name, const auto& function, auto* typed) {
    if constexpr (decltype(there)::value) {
      if (op == name) right(in(function, typed, stream));
    }
  };
#define CALL(name, type) call_if(std::bool_constant<has(#name)>(), #name, coalesce::name, static_cast<type*>(out))
  CALL(sum, wide);
  CALL(max, T);
  CALL(argmax, i64);
  CALL(argmin, i64);
  CALL(stats, coalesce::statistics<T>);
  CALL(variance, float);
#undef CALL
}

void flat(bench::Program& program, const T* in, void* out) {
  for (const bench::Case& c : bench::flat_cases(TEXT(TYPE), kSize, {"sum", "max", "argmax", "stats"})) {
    if (!has(c.op) || !program.wants(c)) continue;
    const i64 count = c.bytes / kSize;
    const int areas = static_cast<int>(std::max<i64>(1, std::min<i64>(32, bench::kLargest / (c.bytes + 64))));
    const i64 apart = bench::kLargest / areas / kSize;
    program.measure(c, areas, [&](int area) {
      const auto from = [&](const auto& function, auto* to, cudaStream_t stream) {
        return function(in + area * apart + c.offset, count, to, stream);
      };
      call(c.op, from, out, program.stream());
    });
  }
}

#ifdef SHAPES
void matrices(bench::Program& program, const T* in, void* out) {
  const auto list = bench::matrices();
  for (const int axis : {0, 1}) {
    std::size_t index = 0;
    for (const bench::Case& c : bench::matrix_cases({"sum", "max", "argmin", "variance"}, axis ? "1" : "0")) {
      const bench::Matrix m = list[index++ % list.size()];
      if (!has(c.op) || !program.wants(c)) continue;
      program.measure(c, 1, [&](int) {
        const auto from = [&](const auto& function, auto* to, cudaStream_t stream) {
          return function(coalesce::view<T>(in, {m.rows, m.columns}), {axis}, to, stream);
        };
        call(c.op, from, out, program.stream());
      });
    }
  }
}

void block(bench::Program& program, const bench::Block& b, const bench::Case& c, const T* in, void* out) {
  if (!has(c.op) || !program.wants(c)) return;
  const coalesce::view<T> v(in, static_cast<int>(b.extents.size()), b.extents.data(), nullptr);
  const std::vector<int>& a = b.axes;
  const coalesce::axes axes = a.size() == 1   ? coalesce::axes{a[0]}
                              : a.size() == 2 ? coalesce::axes{a[0], a[1]}
                              : a.size() == 3 ? coalesce::axes{a[0], a[1], a[2]}
                                              : coalesce::axes{a[0], a[1], a[2], a[3]};
  program.measure(c, 1, [&](int) {
    const auto from = [&](const auto& function, auto* to, cudaStream_t stream) {
      return function(v, axes, to, stream);
    };
    call(c.op, from, out, program.stream());
  });
}

void blocks(bench::Program& program, const T* in, void* out) {
  for (const bench::Block& b : bench::blocks()) block(program, b, bench::block_case(b, "sum"), in, out);
  // Each beside a read of as many bytes.
  for (const bench::Block& b : bench::random_blocks()) {
    for (const char* op : {"sum", "argmax", "variance"}) {
      const bench::Case c = bench::block_case(b, op, "random");
      if (!has(op) || !program.wants(c)) continue;
      bench::measure_read(program, in, c.bytes / 16 * 16, 1, 0, "limit beside " PROGRAM, "random");
      block(program, b, c, in, out);
    }
  }
}
#endif

#ifdef RAGGED
void ragged(bench::Program& program, const T* in, void* out) {
  for (const char* kind : bench::ragged_kinds()) {
    const std::vector<i64> offsets64 = bench::ragged(kind);
    const std::vector<int> offsets(offsets64.begin(), offsets64.end());
    int* device = nullptr;
    CHECK(cudaMalloc(&device, offsets.size() * sizeof(int)));
    CHECK(cudaMemcpy(device, offsets.data(), offsets.size() * sizeof(int), cudaMemcpyHostToDevice));
    for (const char* op : {"sum", "max"}) {
      const bench::Case c = bench::ragged_case(TEXT(TYPE), op, kind, offsets64);
      if (!has(c.op) || !program.wants(c)) continue;
      program.measure(c, 1, [&](int) {
        const auto from = [&](const auto& function, auto* to, cudaStream_t stream) {
          return function(in, device, static_cast<i64>(offsets.size()) - 1, to, stream);
        };
        call(op, from, out, program.stream());
      });
    }
    CHECK(cudaFree(device));
  }
}
#endif

}  // namespace

int main(int argc, char** argv) {
  bench::Program program(argc, argv, "coalesce");
  void *memory = nullptr, *out = nullptr;
  CHECK(cudaMalloc(&memory, bench::kLargest + 4096));
  CHECK(cudaMalloc(&out, std::size_t{8} << 28));
  const T* in = bench::data<T>(memory, bench::kLargest / kSize);
  // The limit is not the same in every program: a card warms up, and memory is not equally fast everywhere (together
  // 1 to 2 %).
  const auto read = [&] {
    for (const i64 bytes : {i64{1} << 28, i64{1} << 30}) {
      bench::measure_read(program, in, bytes, 1, 0, "limit in " PROGRAM);
    }
  };
  read();
#ifdef SHAPES
  matrices(program, in, out);
  blocks(program, in, out);
#endif
#ifdef RAGGED
  ragged(program, in, out);
#endif
  flat(program, in, out);
  read();
  return program.end();
}
