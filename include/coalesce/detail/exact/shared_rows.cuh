// Short rows that follow each other without gaps: a lane has a row, which it reads from shared memory, where a warp
// copies a tile of rows while it adds the one before (detail/shapes/shared_rows.cuh). So nothing is masked at a row's
// ends whatever its length, lanes have nothing to put together, and what comes once a row is done by all lanes at once.
// As in short_rows.cuh, rows that do not fit windows are listed.
#pragma once

#include <coalesce/detail/exact/short_rows.cuh>
#include <coalesce/detail/shapes/shared_rows.cuh>

namespace coalesce::detail::exact {

template <class T, class R>
struct shared_elements {
  using memory = T;
  using element = T;
  using result = R;
  const T* data;
};

template <class Input, class R>
struct shared_row_sums {
  using form = shared_elements<typename Input::element, R>;
  short_row_sums<Input, rows_of_layout, R> rows;
  detail::shared_rows<form, form> tiles;
};

// Bytes `at` ... of a row that begins at `row`, and zeros behind its end. Units of a row lie where `place` says.
template <int Unit, class Place>
__device__ __forceinline__ uint4 shared_vector(int units, int first, Place place) {
  if constexpr (Unit == 16) {
    return detail::load_four(place(first));
  } else {
    constexpr int per = 16 / Unit;
    unsigned word[4] = {};
#pragma unroll
    for (int k = 0; k < per; ++k) {
      if (first + k >= units) continue;
      const void* const from = place(first + k);
      if constexpr (Unit == 8) {
        const uint2 two = detail::load_two(from);
        word[2 * k] = two.x;
        word[2 * k + 1] = two.y;
      } else if constexpr (Unit == 4) {
        word[k] = *static_cast<const unsigned*>(from);
      } else {
        word[k / 2] |= static_cast<unsigned>(*static_cast<const unsigned short*>(from)) << 16 * (k % 2);
      }
    }
    return make_uint4(word[0], word[1], word[2], word[3]);
  }
}

template <int Unit, class Input, class R>
__global__ void __launch_bounds__(128, 8) sum_shared_rows(const shared_row_sums<Input, R> problem) {
  using quick = lane_windows<Input, windows_at_first<typename Input::number>>;
  using all = lane_windows<Input, windows_for<typename Input::number>>;
  using element = typename Input::element;
  detail::wait_for_stream();
  const auto& rows = problem.rows;
  const int units = problem.tiles.units, length = problem.tiles.length;
  constexpr int per = 16 / Unit, looked_at = 4;
  const int vectors = (units + per - 1) / per;
  const axis& kept = rows.rows.where.layout.kept[0];
  R* const out = rows.to.out + rows.rows.where.layout.kept_index;
  const bool sums = rows.to.how == reading::sum;
  detail::go_through_tiles<Unit>(problem.tiles, [&](const element* buffer, std::int64_t first, int rows_here) {
#pragma unroll 1
    for (int row = static_cast<int>(threadIdx.x) % 32; row < rows_here; row += 32) {
      const int begin = row * units, turn = detail::place_of<Unit>(problem.tiles, begin) ^ begin;
      const auto vector = [&](int i) {
        return shared_vector<Unit>(
            units, i * per, [&](int u) { return reinterpret_cast<const char*>(buffer) + ((begin + u) ^ turn) * Unit; });
      };
      const auto add_up = [&](auto& sum) {
        unsigned most = 0;
#pragma unroll
        for (int i = 0; i < looked_at; ++i) {
          if (i < vectors) decltype(quick())::look(vector(i), most);
        }
        sum.begin();
        sum.place(most, 34 - __clz(length));
        int i = 0;
#pragma unroll 1
        for (; i + 4 <= vectors; i += 4) {
          uint4 v[4];
#pragma unroll
          for (int k = 0; k < 4; ++k) v[k] = vector(i + k);
#pragma unroll
          for (int k = 0; k < 4; ++k) sum.vector(v[k]);
        }
#pragma unroll 1
        for (; i < vectors; ++i) sum.vector(vector(i));
      };
      quick sum;
      add_up(sum);
      if constexpr (quick::parts == 1) {
        double value;
        R result;
        const bool held = sum.value(value) && value != 0 && sums;
        narrowed(value, result);
        if (held) {
          out[(first + row) * kept.index] = result;
          continue;
        }
      }
      const auto total = [](auto& of) {
        long long part[std::decay_t<decltype(of)>::parts];
        const bool failed = !of.close(part);
        return total_of(part, of.exponent(), failed);
      };
      window_sum result = total(sum);
      if constexpr (quick::parts < all::parts) {
        if (result.failed) {
          all more;
          add_up(more);
          result = total(more);
        }
      }
      finish_row<R>(rows, first + row, rows.rows.at(first + row), result);
    }
  });
}

// The largest row, in bytes: a tile is 32 rows, and a multiprocessor needs some 16 warps; 8 suffice for numbers that
// take less work each byte. Measured.
template <class Input>
constexpr std::int64_t longest_shared_middle = Input::width == 8 ? 256 : 448;

template <class Input>
bool shares_rows(const Input& in, const reduction_layout& l, const detail::device_facts& device) {
  constexpr std::int64_t size = 16 / Input::width;
  const std::int64_t bytes = l.reduced_count * size;
  return l.kept_rank == 1 && l.kept[0].stride == l.reduced_count && bytes <= longest_shared_middle<Input> &&
         bytes > 32 && reinterpret_cast<std::uintptr_t>(in.data + l.offset) % 16 == 0 &&
         l.kept_count >= std::int64_t(128) * device.processors;
}

template <class Input, class R>
status start_shared_rows(const short_row_sums<Input, rows_of_layout, R>& rows, const detail::device_facts& device,
                         cudaStream_t stream) {
  constexpr int size = 16 / Input::width;
  const reduction_layout& l = rows.rows.where.layout;
  const int length = static_cast<int>(l.reduced_count), bytes = length * size;
  const int unit = static_cast<int>(detail::common_divisor(bytes, 16)), units = bytes / unit;
  const int g = unit == 16 ? static_cast<int>(detail::common_divisor(units, 8)) : 1, group = units * 8 / g;
  const int tile_rows = bytes >= 128 ? 32 : 4096 / bytes / 32 * 32, tile_vectors = tile_rows * bytes / 16;
  int warps = detail::shared_rows_bytes / (32 * tile_vectors);
  warps = warps >= 4 ? 4 : warps >= 2 ? 2 : 1;
  const int shared = warps * 32 * tile_vectors;
  const std::int64_t tiles = detail::ceil_div(rows.results, tile_rows);
  shared_row_sums<Input, R> problem{rows, {}};
  auto& t = problem.tiles;
  t.in = {rows.in.data + l.offset};
  t.rows = rows.results;
  t.tiles = tiles;
  t.length = length;
  t.units = units;
  t.tile_rows = tile_rows;
  t.tile_vectors = tile_vectors;
  t.g_less_one = g - 1;
  t.by_vectors = true;
  t.group = static_cast<unsigned>(((std::uint64_t{1} << 32) + group - 1) / group);
  int resident = 227 * 1024 / (shared + 1024);
  if (resident > 32 / warps) resident = 32 / warps;
  std::int64_t blocks = detail::ceil_div(tiles, warps);
  if (blocks > device.processors * resident) blocks = device.processors * resident;
  void (*kernel)(shared_row_sums<Input, R>) = sum_shared_rows<16, Input, R>;
  if (unit == 8) kernel = sum_shared_rows<8, Input, R>;
  if constexpr (size <= 4) {
    if (unit == 4) kernel = sum_shared_rows<4, Input, R>;
  }
  if constexpr (size == 2) {
    if (unit == 2) kernel = sum_shared_rows<2, Input, R>;
  }
  return detail::launch_early(kernel, problem, blocks, warps * 32, shared, stream, device);
}

}  // namespace coalesce::detail::exact
