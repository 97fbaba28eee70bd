#include "reduce/axes.h"

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <system_error>
#include <thread>

#include "reduce/block.h"

namespace coalesce::reduce {
namespace {

struct Axis {
  uint64_t extent, stride;  // elements
};

// The offset of a row-major index over the axes.
uint64_t offset_of(const std::vector<Axis>& axes, uint64_t index) {
  uint64_t offset = 0;
  for (std::size_t i = axes.size(); i-- > 0;) {
    offset += index % axes[i].extent * axes[i].stride;
    index /= axes[i].extent;
  }
  return offset;
}

uint64_t elements(const std::vector<Axis>& axes) {
  uint64_t count = 1;
  for (const Axis& axis : axes) count *= axis.extent;
  return count;
}

std::vector<Axis> axes_of(const Array& array) {
  std::vector<Axis> axes;
  for (const uint64_t extent : array.extents) axes.push_back({extent, 1});
  uint64_t stride = 1;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    Axis& axis = axes[array.fortran ? i : axes.size() - 1 - i];
    axis.stride = stride;
    stride *= axis.extent;
  }
  return axes;
}

// The state that all threads share.
template <class T>
struct Job {
  const Array& array;
  std::vector<Axis> kept, reduced;
  Needs needs;
  const std::vector<Operation>& operations;
  AxesResult& out;
};

constexpr uint64_t kTogether =
    16;                          // results whose elements are neighbours in memory, so that a cache line is read once
constexpr uint64_t kRun = 8192;  // elements of a result that are added at a time

// Results first .. first + count - 1, whose elements lie `step` elements apart from result to result.
template <class T>
void several(const Job<T>& job, uint64_t first, uint64_t count, uint64_t step, std::vector<T>& buffer) {
  std::vector<Summary<T>> summaries(count);
  const uint64_t base = offset_of(job.kept, first), total = elements(job.reduced);
  buffer.resize(count * kRun);
  for (uint64_t done = 0; done < total; done += kRun) {
    const uint64_t run = std::min(kRun, total - done);
    for (uint64_t i = 0; i < run; ++i) {
      const uint64_t at = base + offset_of(job.reduced, done + i);
      for (uint64_t k = 0; k < count; ++k) buffer[k * kRun + i] = element_at<T>(job.array, at + k * step);
    }
    for (uint64_t k = 0; k < count; ++k) summaries[k].add(buffer.data() + k * kRun, run, job.needs, Ascending{done});
  }
  for (uint64_t k = 0; k < count; ++k) {
    for (std::size_t o = 0; o < job.operations.size(); ++o)
      job.out.results[o][first + k] = result(summaries[k], job.operations[o]);
  }
}

// One result whose elements come in runs without gaps.
template <class T>
void contiguous(const Job<T>& job, uint64_t index, Block<T>& block) {
  Summary<T> summary;
  const uint64_t base = offset_of(job.kept, index), total = elements(job.reduced), run = job.reduced.back().extent;
  for (uint64_t done = 0; done < total; done += run) {
    const uint64_t at = base + offset_of(job.reduced, done);
    for (uint64_t part = 0; part < run; part += uint64_t{1} << 18) {
      const uint64_t count = std::min(run - part, uint64_t{1} << 18);
      summary.add(block.elements(job.array, at + part, count), count, job.needs, Ascending{done + part});
    }
  }
  for (std::size_t o = 0; o < job.operations.size(); ++o)
    job.out.results[o][index] = result(summary, job.operations[o]);
}

template <class T>
void run(const Job<T>& job, unsigned threads) {
  const uint64_t results = elements(job.kept);
  const bool rows = !job.reduced.empty() && job.reduced.back().stride == 1;
  const uint64_t line = job.kept.empty() ? 1 : job.kept.back().extent;  // results that differ in the last axis alone
  const uint64_t step = job.kept.empty() ? 0 : job.kept.back().stride;
  std::atomic<uint64_t> next{0};
  const uint64_t groups_of_line = rows ? line : (line + kTogether - 1) / kTogether;
  const uint64_t groups = results / line * groups_of_line;
  const auto work = [&] {
    std::vector<T> buffer;
    Block<T> block;
    for (uint64_t group = next++; group < groups; group = next++) {
      if (rows) {
        contiguous(job, group, block);
      } else {
        const uint64_t inside = group % groups_of_line * kTogether;
        several(job, group / groups_of_line * line + inside, std::min(kTogether, line - inside), step, buffer);
      }
    }
  };
  std::vector<std::thread> running;
  try {
    for (unsigned i = 1; i < std::min<uint64_t>(threads, groups); ++i) running.emplace_back(work);
  } catch (const std::system_error&) {  // no more threads to be had: those that run do the work
  }
  work();
  for (std::thread& one : running) one.join();
}

}  // namespace

AxesResult reduce_axes(const Array& array, const std::vector<int64_t>& axes, const std::vector<Operation>& operations,
                       unsigned threads) {
  const auto dimensions = static_cast<int64_t>(array.extents.size());
  std::vector<bool> reduced(array.extents.size());
  for (const int64_t axis : axes) {
    const int64_t at = axis < 0 ? axis + dimensions : axis;
    if (at < 0 || at >= dimensions)
      throw std::runtime_error("--axis " + std::to_string(axis) + ": the array has " + std::to_string(dimensions) +
                               (dimensions == 1 ? " axis" : " axes") + ", counted from 0");
    if (reduced[at]) throw std::runtime_error("--axis names axis " + std::to_string(at) + " twice");
    reduced[at] = true;
  }
  AxesResult out;
  std::vector<Axis> kept, gone;
  const std::vector<Axis> all = axes_of(array);
  for (std::size_t i = 0; i < all.size(); ++i) {
    (reduced[i] ? gone : kept).push_back(all[i]);
    if (!reduced[i]) out.extents.push_back(all[i].extent);
  }
  const uint64_t results = elements(kept);
  // A header of a few bytes may promise any number of results of nothing.
  if (array.count == 0 && results > 1'000'000)
    throw std::runtime_error("'" + array.file.path() + "' has no elements, and --axis asks for " +
                             std::to_string(results) + " results");
  out.results.assign(operations.size(), std::vector<Result>(results));
  if (results != 0) {
    with_type(array.element, [&](auto type) {
      run(Job<decltype(type)>{array, kept, gone, needs_of(operations), operations, out}, threads);
    });
  }
  if (MappedFile::failed()) throw std::runtime_error("'" + array.file.path() + "' became shorter while it was read");
  return out;
}

}  // namespace coalesce::reduce
