#include "reduce/reduction.h"

#include <time.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <system_error>
#include <thread>

#include "reduce/block.h"
#include "reduce/way.h"

namespace coalesce::reduce {
namespace {

// A chunk ends by starting and awaiting threads, so it should last; but a slow disk must not delay progress and
// interrupts.
constexpr uint64_t kChunkBytes = uint64_t{1} << 30;
constexpr std::chrono::milliseconds kChunkTime{50};
constexpr uint64_t kSpanBytes = uint64_t{2} << 20;     // what a thread takes: mapping a span costs a call or two
constexpr uint64_t kBlockBytes = uint64_t{256} << 10;  // what it adds at a time: its passes find that in the L2 cache
constexpr uint64_t kManyBytes = uint64_t{64} << 20;    // less is split into blocks, so that all threads have work

template <class T>
Summary<T> loaded(const State& state) {
  Summary<T> summary;
  if (!summary.load(state.summary)) throw std::runtime_error("a stored summary is damaged");
  return summary;
}

// A run of elements that lie together in one file.
struct Span {
  const Array* array;
  uint64_t index, count;  // in the array
  uint64_t first;         // position of the array's first element
};

// Elements from..to-1 of the row of arrays, as spans.
std::vector<Span> spans(const std::vector<Array>& arrays, uint64_t from, uint64_t to, uint64_t width) {
  std::vector<Span> result;
  uint64_t first = 0;
  for (const Array& array : arrays) {
    const uint64_t low = std::max(from, first), high = std::min(to, first + array.count);
    const uint64_t step = ((to - from) * width < kManyBytes ? kBlockBytes : kSpanBytes) / width;
    for (uint64_t at = low; at < high; at += step) {
      result.push_back({&array, at - first, std::min(step, high - at), first});
    }
    first += array.count;
  }
  return result;
}

struct InFortranOrder {
  static constexpr bool ascending = false;
  const Span& span;
  uint64_t operator()(std::size_t i) const { return span.first + span.array->position(span.index + i); }
};

// The calling thread's CPU time: what a way of reading costs, however busy the machine and the disk are.
double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// A thread keeps its reader from one span to the next.
template <class T>
struct Reader {
  Block<T> block;
  Way way;
};

template <class T>
void add(Summary<T>& summary, const Span& span, const Needs& needs, Reader<T>& reader) {
  const Array& array = *span.array;
  const uint64_t begin = array.begin + span.index * sizeof(T), bytes = span.count * sizeof(T);
  const bool choice = bytes > kBlockBytes && Block<T>::usable(array), wanted = choice && reader.way.in_place();
  const double start = thread_seconds();
  const bool mapped = wanted && array.file.map(begin, bytes);
  if (wanted && !mapped) reader.way.refuse();
  const bool in_order = !array.fortran || array.extents.size() < 2;
  for (uint64_t done = 0; done < span.count;) {
    const uint64_t count = std::min(span.count - done, kBlockBytes / sizeof(T));
    const Span part{span.array, span.index + done, count, span.first};
    const T* const data = reader.block.elements(array, part.index, count, mapped);
    if (in_order)
      summary.add(data, count, needs, Ascending{part.first + part.index});
    else
      summary.add(data, count, needs, InFortranOrder{part});
    done += count;
  }
  if (mapped) array.file.forget(begin, bytes);
  if (choice) reader.way.took(mapped, (thread_seconds() - start) / static_cast<double>(bytes));
}

// One chunk by all threads: each takes the next span until none is left or the time is up. Returns how many were taken.
template <class T>
std::size_t chunk(const std::vector<Span>& work, const Needs& needs, std::vector<Reader<T>>& readers,
                  Summary<T>& summary) {
  const auto threads = static_cast<unsigned>(std::clamp<std::size_t>(work.size(), 1, readers.size()));
  const auto deadline = std::chrono::steady_clock::now() + kChunkTime;
  std::vector<Summary<T>> parts(threads);
  std::atomic<std::size_t> next{0};
  const auto run = [&](unsigned thread) {
    for (std::size_t i = next++; i < work.size(); i = next++) {
      add(parts[thread], work[i], needs, readers[thread]);
      if (std::chrono::steady_clock::now() >= deadline) break;
    }
  };
  std::vector<std::thread> running;
  try {
    for (unsigned i = 1; i < threads; ++i) running.emplace_back(run, i);
  } catch (const std::system_error&) {  // no more threads to be had: those that run do the work
  }
  run(0);
  for (std::thread& one : running) one.join();
  for (const Summary<T>& part : parts) summary.merge(part);
  return std::min<std::size_t>(next, work.size());
}

}  // namespace

State empty_state(Element element, uint64_t begin, uint64_t end) {
  return {begin, begin, end, with_type(element, [](auto type) { return Summary<decltype(type)>().store(); })};
}

void reduce(const std::vector<Array>& arrays, const Needs& needs, unsigned threads, State& state,
            const std::function<bool(const State&)>& more) {
  if (arrays.empty()) return;
  with_type(arrays[0].element, [&](auto type) {
    using T = decltype(type);
    Summary<T> summary = loaded<T>(state);
    std::vector<Reader<T>> readers(std::max(threads, 1u));
    while (state.done < state.end) {
      const uint64_t most = std::min(state.end, state.done + kChunkBytes / sizeof(T));
      const std::vector<Span> work = spans(arrays, state.done, most, sizeof(T));
      const std::size_t taken = chunk<T>(work, needs, readers, summary);
      const uint64_t to = taken == work.size() ? most : work[taken].first + work[taken].index;
      if (MappedFile::failed())
        throw std::runtime_error("a file became shorter, or could not be read, between elements " +
                                 std::to_string(state.done) + " and " + std::to_string(to));
      state.done = to;
      state.summary = summary.store();
      if (!more(state)) return;
    }
  });
}

void merge(Element element, State& into, const State& from) {
  with_type(element, [&](auto type) {
    Summary<decltype(type)> summary = loaded<decltype(type)>(into);
    summary.merge(loaded<decltype(type)>(from));
    into.summary = summary.store();
  });
}

std::vector<Result> results(Element element, const State& state, const std::vector<Operation>& operations) {
  return with_type(element, [&](auto type) {
    const auto summary = loaded<decltype(type)>(state);
    std::vector<Result> values;
    for (const Operation operation : operations) values.push_back(result(summary, operation));
    return values;
  });
}

}  // namespace coalesce::reduce
