// Chooses the kernel of an exact sum by shape, and starts it. Host code.
#pragma once

#include <coalesce/detail/dispatch/call.cuh>
#include <coalesce/detail/exact/shared_rows.cuh>
#include <coalesce/detail/exact/tiny_columns.cuh>
#include <coalesce/detail/exact/tiny_rows.cuh>

namespace coalesce::detail::exact {

// Engines take more shared memory than kernels get unasked; asked for once for each kernel and device.
template <auto Kernel, class Problem>
status start(const Problem& problem, std::int64_t blocks, int threads, int shared, const detail::device_facts& device,
             cudaStream_t stream) {
  static thread_local int allowed = -1;
  if (allowed != device.device) {
    if (const cudaError_t error = cudaFuncSetAttribute(Kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared);
        error != cudaSuccess) {
      return {error,
              "the exact sums need a device with 227 KB of shared memory for a block (compute capability 9.0 or 10.0)"};
    }
    allowed = device.device;
  }
  return detail::launch_early(Kernel, problem, blocks, threads, shared, stream, device);
}

// `count` combinations, which are 0, in the workspace: among its tickets from the one at `ticket` on, which are 0
// already, or behind `bytes` of its other memory.
template <range R>
status find_combinations(std::int64_t count, int ticket, std::size_t bytes, const detail::device_facts& device,
                         cudaStream_t stream, workspace*& work, combination<R>*& combinations) {
  const std::size_t room = static_cast<std::size_t>(count) * sizeof(combination<R>);
  const bool among_tickets = room <= (detail::max_tickets - ticket) * sizeof(unsigned);
  bytes = (bytes + 255) / 256 * 256;
  if (const status s = detail::find_workspace(stream, device.device, bytes + (among_tickets ? 0 : room), work); !s)
    return s;
  if (among_tickets) {
    combinations = reinterpret_cast<combination<R>*>(work->tickets() + ticket);
    return {};
  }
  combinations = reinterpret_cast<combination<R>*>(static_cast<char*>(work->partials()) + bytes);
  return cudaMemsetAsync(combinations, 0, room, stream);
}

template <class Input, class R>
status start_runs(const Input& in, const result_to<R>& to, const reduction_layout& layout, total<Input::values>* into,
                  const detail::device_facts& device, cudaStream_t stream, workspace* work) {
  const std::int64_t results = layout.kept_count, bytes = layout.reduced_count * 16 / Input::width * Input::inputs;
  constexpr int most_blocks = combination<Input::values>::most_blocks;
  const std::int64_t most = device.processors < most_blocks ? device.processors : most_blocks;
  constexpr std::int64_t most_shared_runs = detail::max_tickets / 2;
  std::int64_t splits = results < most_shared_runs ? detail::splits_of_long_rows(results, bytes, most, 8192) : 1;
  if (results == 1 && bytes > 32768 && bytes <= 65536) splits = bytes / 16384;  // they are soon together
  runs<Input, R> problem{in, to, layout.reduced_count, {layout}, static_cast<int>(splits), nullptr, into};
  if (splits > 1) {
    if (const status s = find_combinations(results, 0, 0, device, stream, work, problem.combinations); !s) return s;
  }
  // Little: windows are tried first. Of doubles, up to what the second-level cache holds: 4 us less than bins alone, or
  // 5 more where they do not hold it.
  constexpr std::int64_t little = std::is_same_v<Input, elements<double>> ? 32 << 20 : 8 << 20;
  if (results * bytes <= little) {
    using Engine = engine_of_runs<true, Input>;
    // 16 KB of a block are four requests each of 256 threads. No block is to be without numbers.
    const int threads = bytes / splits <= 16384 ? 256 : Engine::threads < 512 ? Engine::threads : 512;
    if (splits > 1)
      problem.splits = static_cast<int>(detail::ceil_div(problem.count, piece_of_run(problem.count, splits)));
    return start<sum_runs<true, Input, R>>(problem, results * problem.splits, threads, Engine::shared_bytes, device,
                                           stream);
  }
  using Engine = run_engine<Input>;
  return start<sum_runs<false, Input, R>>(problem, results * splits, Engine::threads, Engine::shared_bytes, device,
                                          stream);
}

template <bool Dense, class Input, class Rows, class R>
status start_rows(const Input& in, const result_to<R>& to, const Rows& rows, std::int64_t results,
                  const detail::device_facts& device, cudaStream_t stream) {
  const std::int64_t blocks = detail::ceil_div(results, engine<Input>::threads / 32);
  const row_sums<Input, Rows, R> problem{in, to, rows, results};
  return start<sum_rows<Dense, Input, Rows, R>>(problem, blocks < device.processors ? blocks : device.processors,
                                                engine<Input>::threads, row_bytes<Input>, device, stream);
}

// Neighbouring elements in registers, and what does not fit them by bins. `typical`: elements of a row; `by_blocks`: a
// block to a row. `space` has room for most_listed numbers; two tickets.
template <class Input, class Rows, class R>
status start_short_rows(const Input& in, const result_to<R>& to, const Rows& rows, std::int64_t results, bool by_blocks,
                        std::int64_t typical, std::int64_t* space, unsigned* tickets,
                        const detail::device_facts& device, cudaStream_t stream) {
  if constexpr (Input::values == range::product) {
    return start_rows<true>(in, to, rows, results, device, stream);
  } else {
    // The work once a row costs as much as some hundred elements. So a row has few lanes, each with 16 vectors, but 64
    // bytes at once, and there is work for all multiprocessors.
    const std::int64_t vectors = detail::ceil_div(typical, Input::width), busy = std::int64_t(2048) * device.processors;
    const std::int64_t bytes = typical * 16 / Input::width;
    constexpr bool by_layout = std::is_same_v<Rows, rows_of_layout>;
    int threads = window_threads;
    auto kernel = by_blocks ? sum_short_rows<true, window_threads, Input, Rows, R>
                            : sum_short_rows<false, window_threads, Input, Rows, R>;
    // Warps that take long for a row wait for each other in the end: small blocks. Measured.
    if constexpr (by_layout) {
      if (!by_blocks && bytes >= 32768) {
        threads = 64;
        kernel = sum_short_rows<false, 64, Input, Rows, R>;
      }
    }
    if constexpr (by_layout && std::is_same_v<Input, elements<__nv_bfloat16>>) {
      if (by_blocks && results >= std::int64_t(32) * device.processors) {
        threads = 128;
        kernel = sum_short_rows<true, 128, Input, Rows, R>;
      }
    }
    int lanes = by_blocks ? threads : 1;
    while (lanes < 32 && (lanes < 4 ? lanes * 4 : lanes * 16) < vectors) lanes *= 2;
    while (lanes < 32 && lanes * 4 < vectors && results * lanes < busy) lanes *= 2;
    // The number of blocks that go on from row to row is measured.
    const std::int64_t needed = detail::ceil_div(results * lanes, threads),
                       most = (by_layout && (bytes <= 4096 || bytes >= 32768) ? 64 : 16) * device.processors;
    const short_row_sums<Input, Rows, R> problem{in, to, rows, results, lanes, space, tickets};
    const std::int64_t blocks = by_blocks || needed < most ? needed : most;
    int tiny = 0;
    bool staged = false;
    if constexpr (by_layout && Input::inputs == 1) {
      tiny = tiny_rows(in, rows.where.layout);
      staged = tiny == 0 && shares_rows(in, rows.where.layout, device);
    }
    status s;
    if constexpr (by_layout && Input::inputs == 1) {
      const std::int64_t few = detail::ceil_div(results, window_threads), grid = few < most ? few : most;
      if (tiny == 8)
        s = detail::launch_early(sum_tiny_rows<8, Input, R>, problem, grid, window_threads, 0, stream, device);
      if (tiny == 16)
        s = detail::launch_early(sum_tiny_rows<16, Input, R>, problem, grid, window_threads, 0, stream, device);
      if (tiny == 32)
        s = detail::launch_early(sum_tiny_rows<32, Input, R>, problem, grid, window_threads, 0, stream, device);
      if (staged) s = start_shared_rows(problem, device, stream);
    }
    if (tiny == 0 && !staged) s = detail::launch_early(kernel, problem, blocks, threads, 0, stream, device);
    if (!s) return s;
    const listed_rows<Rows> rest{rows, space, tickets, tickets + 1};
    return start_rows<true>(in, to, rest, results, device, stream);
  }
}

// Three launches: rows by windows, rows that do not fit windows, long rows.
template <class Input, class Offset, class R>
status start_segments(const Input& in, const result_to<R>& to, const Offset* offsets, std::int64_t segments,
                      cudaStream_t stream, workspace* work) {
  detail::device_facts device;
  if (const status s = detail::current_device(device); !s) return s;
  // No device holds more long segments than this.
  const std::int64_t blocks = device.processors, most_long = std::int64_t(1) << 19;
  const std::int64_t room = most_listed + (segments < most_long ? segments : most_long);
  const std::size_t list_bytes = static_cast<std::size_t>(room) * sizeof(std::int64_t);
  combination<Input::values>* combinations = nullptr;
  constexpr int first_combination = 32;  // tickets before
  if (const status s = find_combinations(blocks, first_combination, list_bytes, device, stream, work, combinations); !s)
    return s;
  char* space = static_cast<char*>(work->partials());
  std::int64_t* list = reinterpret_cast<std::int64_t*>(space);
  unsigned* tickets = work->tickets();
  const rows_of_segments<Offset> rows{offsets, list + most_listed, tickets + 2};
  if (const status s = start_short_rows(in, to, rows, segments, false, 1024, list, tickets, device, stream); !s)
    return s;
  const long_segments<Input, Offset, R> rest{in, to, rows, combinations, tickets + 3};
  return start<sum_long_segments<Input, Offset, R>>(rest, blocks, run_engine<Input>::threads,
                                                    run_engine<Input>::shared_bytes, device, stream);
}

// Columns by bins; and where `Input::width` of them lie side by side in vectors, by windows first.
template <class Input, class R>
status start_columns(const Input& in, const result_to<R>& to, const reduction_layout& layout,
                     const detail::device_facts& device, cudaStream_t stream, workspace* work) {
  using Engine = engine<Input>;
  constexpr int width = Input::width;
  constexpr std::int64_t size = 16 / width;
  const std::int64_t results = layout.kept_count, tile = results < Engine::threads ? results : Engine::threads;
  const std::int64_t groups = detail::ceil_div(results, tile);
  const std::int64_t bytes = layout.reduced_count * tile * size;
  // Few splits: what they leave behind is as large as the blocks' shared memory.
  std::int64_t splits = 2 * device.processors / groups;
  if (splits > bytes / 65536) splits = bytes / 65536;
  if (splits < 1 || groups >= detail::max_tickets / 2) splits = 1;
  column_sums<Input, R> problem{in,
                                to,
                                {layout},
                                results,
                                layout.reduced_count,
                                groups * splits,
                                static_cast<int>(tile),
                                static_cast<int>(splits),
                                nullptr,
                                nullptr,
                                nullptr,
                                nullptr,
                                most_columns_listed};
  const std::size_t by_bins =
      splits > 1 ? static_cast<std::size_t>(groups * splits * words_left<Engine> * tile) * 8 : 0;

  const auto whole = [&](std::int64_t stride) { return stride * size % 16 == 0; };
  const axis* inner = layout.kept_rank > 0 ? &layout.kept[layout.kept_rank - 1] : nullptr;
  const bool beside = inner && inner->stride == 1 && (Input::inputs == 1 || inner->other == 1) && inner->index == 1 &&
                      layout.reduced_rank == 1 && results * layout.reduced_count * size >= 1 << 20;
  bool aligned = beside && whole(inner->extent) && in.before() == 0 && in.other_aligned() && whole(layout.offset) &&
                 whole(layout.other_offset) && whole(layout.reduced[0].stride) && whole(layout.reduced[0].other);
  for (int k = 0; k + 1 < layout.kept_rank; ++k) {
    aligned = aligned && whole(layout.kept[k].stride) && whole(layout.kept[k].other);
  }
  // A thread adds columns from top to bottom where there are enough of them for that.
  const bool by_threads = Input::inputs == 1 && beside && layout.reduced_count <= (aligned ? 32 : 8192) &&
                          results >= (aligned ? width : 1) * std::int64_t(64) * device.processors;
  const bool by_vectors = aligned && !by_threads;
  // Vectors side by side: 128 bytes of few, more of more as long as all multiprocessors have work; 256 of short
  // columns.
  const std::int64_t vectors = results / width;
  int across = layout.reduced_count <= 32 ? 256 : 8;
  while (across < 256 && vectors >= 1024 * across) across *= 2;
  while (across > vectors) across /= 2;
  const std::int64_t teams = by_vectors ? detail::ceil_div(vectors, across) : 1;
  std::int64_t shares = window_columns<Input>::blocks * device.processors / teams;  // all at once
  const std::int64_t most_shares = layout.reduced_count * across / (256 * 16);      // 16 rows for a thread at least
  if (shares > most_shares) shares = most_shares;
  if (shares < 1 || teams >= detail::max_tickets / 2) shares = 1;
  const std::size_t by_windows =
      shares > 1 ? static_cast<std::size_t>(teams * shares * across * width) * sizeof(window_sum) : 0;
  const std::size_t list = static_cast<std::size_t>(most_columns_listed) * sizeof(std::int64_t);
  if (by_bins > 0 || by_vectors || by_threads) {
    const std::size_t most = by_bins > by_windows ? by_bins : by_windows;
    if (const status s = detail::find_workspace(stream, device.device, list + most, work); !s) return s;
    char* space = static_cast<char*>(work->partials());
    problem.left = reinterpret_cast<long long*>(space + list);
    problem.tickets = work->tickets() + 1;
  }
  if (by_vectors || by_threads) {
    char* space = static_cast<char*>(work->partials());
    std::int64_t* columns = reinterpret_cast<std::int64_t*>(space);
    unsigned* listed = work->tickets();
    const bool whole_out =
        layout.kept_rank == 1 && reinterpret_cast<std::uintptr_t>(to.out + layout.kept_index) % 16 == 0;
    const short_column_sums<Input, R> quick{in,
                                            to,
                                            {layout},
                                            results,
                                            layout.reduced_count,
                                            across,
                                            static_cast<int>(shares),
                                            reinterpret_cast<window_sum*>(space + list),
                                            work->tickets() + 1,
                                            columns,
                                            listed,
                                            whole_out};
    status s;
    if constexpr (Input::inputs == 1) {
      if (by_threads) {
        const bool few = size < 8 && aligned && layout.reduced_count <= few_rows;
        const auto launch = [&](auto kernel, int columns_each) {
          const std::int64_t needed = detail::ceil_div(results / columns_each, 256), most = 16 * device.processors;
          return detail::launch_early(kernel, quick, needed < most ? needed : most, 256, 0, stream, device);
        };
        if constexpr (size < 8) {
          if (few) s = launch(sum_tiny_columns<true, width, Input, R>, width);
        }
        if (!few)
          s = launch(aligned ? sum_tiny_columns<false, width, Input, R> : sum_tiny_columns<false, 1, Input, R>,
                     aligned ? width : 1);
      }
    }
    if (by_vectors)
      s = detail::launch_early(sum_short_columns<Input, R>, quick, teams * shares, 256, 0, stream, device);
    if (!s) return s;
    const listed_columns some{{layout}, columns, listed};
    if (const status t = start_rows<false>(in, to, some, most_columns_listed, device, stream); !t) return t;
    problem.listed = listed;
    problem.done = work->tickets() + detail::max_tickets - 1;  // groups of blocks use fewer
  }
  // Most often these blocks find that nothing is to be done: few of them.
  const std::int64_t blocks =
      (by_vectors || by_threads) && problem.blocks > device.processors ? device.processors : problem.blocks;
  return start<sum_columns<Input, R>>(problem, blocks, Engine::threads, Engine::shared_bytes, device, stream);
}

template <class Input, class R>
status start_layout(const Input& in, const result_to<R>& to, const reduction_layout& l, cudaStream_t stream,
                    workspace* work) {
  if (l.kept_count == 0) return {};
  detail::device_facts device;
  if (const status s = detail::current_device(device); !s) return s;
  const bool two = Input::inputs == 2;
  const axis* reduced = l.reduced_rank > 0 ? &l.reduced[l.reduced_rank - 1] : nullptr;
  const bool dense =
      l.reduced_count == 0 || (reduced && l.reduced_rank == 1 && reduced->stride == 1 && (!two || reduced->other == 1));
  const rows_of_layout rows{{l}};
  if (dense) {
    constexpr std::int64_t size = 16 / Input::width;
    const std::int64_t bytes = l.reduced_count * size, results = l.kept_count;
    // A warp a row, or a block, unless that leaves many idle for long.
    const auto even = [&](std::int64_t at_once) {
      return results * 10 >= detail::ceil_div(results, at_once) * at_once * 9;
    };
    const bool by_blocks = bytes >= 131072 && even(4 * device.processors);
    const bool by_warps = bytes <= 16384 || even(std::int64_t(32) * device.processors);
    if (results > 1 && (by_blocks || by_warps)) {
      const std::size_t room = static_cast<std::size_t>(most_listed) * sizeof(std::int64_t);
      if (const status s = detail::find_workspace(stream, device.device, room, work); !s) return s;
      return start_short_rows(in, to, rows, results, by_blocks, l.reduced_count,
                              static_cast<std::int64_t*>(work->partials()), work->tickets(), device, stream);
    }
    return start_runs(in, to, l, nullptr, device, stream, work);
  }
  const bool columns = l.kept_rank > 0 && (!reduced || l.kept[l.kept_rank - 1].stride <= reduced->stride);
  if constexpr (Input::values != range::product) {
    if (columns || l.kept_rank == 0) return start_columns(in, to, l, device, stream, work);
  }
  return start_rows<false>(in, to, rows, l.kept_count, device, stream);
}

}  // namespace coalesce::detail::exact
