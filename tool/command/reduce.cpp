#include "tool/command/reduce.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <limits>
#include <memory>
#include <thread>

#include "reduce/axes.h"
#include "reduce/checkpoint.h"
#include "reduce/csv.h"
#include "reduce/reduction.h"
#include "tool/command/reduce_ranks.h"
#include "tool/figures/error.h"
#include "tool/present/reduce.h"

namespace coalesce::tool {
namespace {

namespace from = coalesce::reduce;
using Clock = std::chrono::steady_clock;

volatile std::sig_atomic_t interrupted_by = 0;
void on_interrupt(int signal) { interrupted_by = signal; }

// While it lives, SIGINT and SIGTERM only leave a mark.
class Interrupts {
 public:
  Interrupts() {
    interrupted_by = 0;
    struct sigaction action{};
    action.sa_handler = on_interrupt;
    sigaction(SIGINT, &action, &int_);
    sigaction(SIGTERM, &action, &term_);
  }
  ~Interrupts() {
    sigaction(SIGINT, &int_, nullptr);
    sigaction(SIGTERM, &term_, nullptr);
  }
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

 private:
  struct sigaction int_{}, term_{};
};

// On a terminal: how much is read, the rate, the time that is left.
class ProgressLine {
 public:
  explicit ProgressLine(uint64_t total) : total_(total), shown_(isatty(STDERR_FILENO) != 0) {}
  ~ProgressLine() {
    if (drawn_) std::fputs("\r\033[K", stderr);
  }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void at(uint64_t done) {
    const Clock::time_point now = Clock::now();
    if (!shown_ || now - last_ < std::chrono::milliseconds(200)) return;
    last_ = now;
    const double seconds = std::chrono::duration<double>(now - begin_).count();
    if (seconds < 0.5) return;
    const double rate = static_cast<double>(done) / seconds;
    std::fprintf(stderr, "\r\033[K%s of %s bytes, %s bytes/s, %.0f s left", compact(done).c_str(),
                 compact(total_).c_str(), compact(static_cast<uint64_t>(rate)).c_str(),
                 rate > 0 ? static_cast<double>(total_ - done) / rate : 0);
    drawn_ = true;
  }

 private:
  uint64_t total_;
  bool shown_, drawn_ = false;
  Clock::time_point begin_ = Clock::now(), last_ = begin_;
};

struct Part {
  unsigned index = 1, count = 1;
};

Part part_of(const std::string& text) {
  if (text.empty()) return {};
  Part part{0, 0};
  const char* const end = text.data() + text.size();
  const auto [slash, error] = std::from_chars(text.data(), end, part.index);
  if (error == std::errc() && slash != end && *slash == '/') {
    const auto [stop, second] = std::from_chars(slash + 1, end, part.count);
    if (second == std::errc() && stop == end && part.index >= 1 && part.index <= part.count) return part;
  }
  throw Error(Exit::usage, "--part takes I/N with 1 <= I <= N, not '" + text + "'", "coalesce reduce --help");
}

std::vector<int64_t> axes_of(const std::string& text) {
  std::vector<int64_t> axes;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (true) {
    int64_t axis = 0;
    const auto [stop, error] = std::from_chars(at, end, axis);
    if (error != std::errc() || (stop != end && *stop != ','))
      throw Error(Exit::usage, "--axis takes whole numbers with commas between, not '" + text + "'");
    axes.push_back(axis);
    if (stop == end) return axes;
    at = stop + 1;
  }
}

bool ends_with(const std::string& path, std::string_view suffix) { return std::string_view(path).ends_with(suffix); }

bool is_csv(const ReduceOptions& options, const std::string& path) {
  return options.type.empty() && !ends_with(path, ".npy") &&
         (!options.column.empty() || ends_with(path, ".csv") || ends_with(path, ".tsv"));
}

from::Array open(const ReduceOptions& options, const std::string& path) {
  if (!options.type.empty()) {
    const auto element = from::element_named(options.type);
    if (!element)
      throw Error(Exit::usage, "unknown --type '" + options.type + "'", "coalesce reduce --help lists them");
    return from::open_raw(path, *element, options.skip);
  }
  if (ends_with(path, ".npy")) return from::open_npy(path);
  throw Error(Exit::usage, "what is '" + path + "'? Its name ends in neither .npy, .csv nor .tsv",
              "raw elements: --type float32; CSV: --column NAME");
}

std::vector<from::Array> open_all(const ReduceOptions& options) {
  std::vector<from::Array> arrays;
  for (const std::string& path : options.files) {
    arrays.push_back(open(options, path));
    if (arrays.back().element != arrays[0].element)
      throw Error(Exit::usage, "'" + path + "' has elements of " + std::string(row_of(arrays.back().element).name) +
                                   ", '" + options.files[0] + "' of " + std::string(row_of(arrays[0].element).name));
  }
  return arrays;
}

// Part i of n: equal parts, whose borders do not depend on anything else.
uint64_t border(uint64_t count, unsigned i, unsigned n) {
  return static_cast<uint64_t>(static_cast<coalesce::detail::host::wide_unsigned>(count) * i / n);
}

// A file that is not there or cannot be read or written, or one that is wrong.
Exit code_of(const std::runtime_error& error) {
  const std::string what = error.what();
  const bool environment = what.starts_with("cannot write") || what.ends_with("No such file or directory") ||
                           what.ends_with("Permission denied") || what.find("became shorter") != std::string::npos;
  return environment ? Exit::environment : Exit::usage;
}

unsigned threads_of(const ReduceOptions& options) {
  return options.threads != 0 ? options.threads : std::max(1u, std::thread::hardware_concurrency());
}

[[noreturn]] void interrupted(const ReduceOptions& options) {
  throw Error(Exit::interrupted, "interrupted",
              options.checkpoint.empty() ? "with --checkpoint FILE the next run can go on from here (--resume)"
                                         : "go on with the same command and --resume");
}

// The state of one part, read to its end. Throws Error (interrupted) where a signal came; the checkpoint has what was
// read.
from::Checkpoint reduce_part(const ReduceOptions& options, const std::vector<from::Operation>& operations,
                             const std::vector<from::Array>& arrays, const Part& part) {
  const from::Element element = arrays[0].element;
  from::Checkpoint current{from::identity_of(arrays, from::needs_of(operations), part.index, part.count), {}};
  const uint64_t count = current.identity.count;
  current.state =
      from::empty_state(element, border(count, part.index - 1, part.count), border(count, part.index, part.count));
  if (options.resume && std::filesystem::exists(options.checkpoint)) {
    const from::Checkpoint found = from::read_checkpoint(options.checkpoint);
    if (const std::string what = difference(current.identity, found.identity); !what.empty())
      throw Error(Exit::usage, "'" + options.checkpoint + "' is of another reduction: " + what,
                  "remove it to begin anew");
    current = found;
  }
  const uint64_t width = row_of(element).bytes, begin = current.state.done;
  {
    const Interrupts watch;
    ProgressLine progress((current.state.end - begin) * width);
    Clock::time_point written = Clock::now();
    from::reduce(arrays, current.identity.needs, threads_of(options), current.state, [&](const from::State& state) {
      progress.at((state.done - begin) * width);
      if (!options.checkpoint.empty() && Clock::now() - written > std::chrono::seconds(10)) {
        from::write_checkpoint(options.checkpoint, current);
        written = Clock::now();
      }
      return interrupted_by == 0;
    });
    if (!options.checkpoint.empty()) from::write_checkpoint(options.checkpoint, current);
    if (current.state.done < current.state.end) interrupted(options);
  }
  return current;
}

int whole(const ReduceOptions& options, const std::vector<from::Operation>& operations) {
  const std::vector<from::Array> arrays = open_all(options);
  const from::Checkpoint all = reduce_part(options, operations, arrays, part_of(options.part));
  present_reduction({all.identity, arrays[0].element, &all.state, operations}, options.json,
                    use_colour(options.colour, STDOUT_FILENO));
  return 0;
}

// Each rank of a job reads its part of the elements.
int over_ranks(ReduceOptions options, const std::vector<from::Operation>& operations, const Ranks& ranks) {
  if (!options.checkpoint.empty())
    options.checkpoint += "." + std::to_string(ranks.rank() + 1) + "-of-" + std::to_string(ranks.size());
  if (options.threads == 0) options.threads = std::max(1u, std::thread::hardware_concurrency() / ranks.on_host());
  const auto all = reduce_over_ranks(ranks, "--op " + options.operations, [&] {
    try {
      return reduce_part(options, operations, open_all(options), {ranks.rank() + 1, ranks.size()});
    } catch (const Error&) {
      throw;
    } catch (const std::runtime_error& error) {
      throw Error(code_of(error), error.what());
    }
  });
  if (all)
    if (const auto element = from::element_named(all->identity.element))
      present_reduction({all->identity, *element, &all->state, operations}, options.json,
                        use_colour(options.colour, STDOUT_FILENO));
  return 0;
}

int merge(const ReduceOptions& options, const std::vector<from::Operation>& operations) {
  std::vector<from::Checkpoint> parts;
  for (const std::string& path : options.files) parts.push_back(from::read_checkpoint(path));
  from::Checkpoint& all = parts[0];
  std::vector<bool> seen(all.identity.parts);
  const auto element = from::element_named(all.identity.element);
  if (!element) throw Error(Exit::usage, "'" + options.files[0] + "' has unknown elements: " + all.identity.element);
  from::Identity wanted = all.identity;
  wanted.needs = from::needs_of(operations);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const from::Checkpoint& one = parts[i];
    const std::string& path = options.files[i];
    if (const std::string what = difference(wanted, one.identity, true); !what.empty())
      throw Error(Exit::usage, "'" + path + "' does not belong to '" + options.files[0] + "': " + what);
    if (one.state.done != one.state.end)
      throw Error(Exit::usage,
                  "'" + path + "' is not finished: it has read " + std::to_string(one.state.done - one.state.begin) +
                      " of " + std::to_string(one.state.end - one.state.begin) + " elements",
                  "end that run with --resume");
    const unsigned index = one.identity.part;
    if (index == 0 || index > seen.size() || seen[index - 1])
      throw Error(Exit::usage, "part " + std::to_string(index) + " is there twice: '" + path + "'");
    seen[index - 1] = true;
    if (i != 0) from::merge(*element, all.state, one.state);
  }
  for (std::size_t i = 0; i < seen.size(); ++i) {
    if (!seen[i])
      throw Error(Exit::usage, "part " + std::to_string(i + 1) + " of " + std::to_string(seen.size()) + " is missing");
  }
  present_reduction({all.identity, *element, &all.state, operations}, options.json,
                    use_colour(options.colour, STDOUT_FILENO));
  return 0;
}

int csv(const ReduceOptions& options, const std::vector<from::Operation>& operations) {
  if (options.column.empty()) throw Error(Exit::usage, "which column of '" + options.files[0] + "'?", "--column NAME");
  if (options.separator.size() != 1 && options.separator != "\\t")
    throw Error(Exit::usage, "--separator takes one character, not '" + options.separator + "'");
  from::Summary<double> summary;
  const from::Needs needs = from::needs_of(operations);
  from::Identity identity{.files = {}, .element = "float64", .needs = needs};
  uint64_t total = 0, before = 0;
  std::error_code ignored;
  for (const std::string& path : options.files) {
    const uint64_t bytes = std::filesystem::file_size(path, ignored);
    identity.files.push_back({path, ignored ? 0 : bytes, 0});
    total += identity.files.back().bytes;
  }
  const Interrupts watch;
  ProgressLine progress(total);
  for (const from::Identity::File& file : identity.files) {
    char separator = options.separator == "\\t" ? '\t' : options.separator[0];
    if (ends_with(file.path, ".tsv") && options.separator == ",") separator = '\t';
    from::read_csv(file.path, {options.column, separator, options.missing == "skip"},
                   [&](const double* values, std::size_t count, uint64_t bytes) {
                     summary.add(values, count, needs, from::Ascending{summary.count()});
                     progress.at(before + bytes);
                     if (interrupted_by != 0) interrupted(options);
                   });
    before += file.bytes;
  }
  identity.count = summary.count();
  const from::State state{0, identity.count, identity.count, summary.store()};
  present_reduction({identity, from::Element::f64, &state, operations}, options.json,
                    use_colour(options.colour, STDOUT_FILENO));
  return 0;
}

int axes(const ReduceOptions& options, const std::vector<from::Operation>& operations) {
  if (options.files.size() != 1 || !ends_with(options.files[0], ".npy"))
    throw Error(Exit::usage, "--axis takes one .npy file", "np.save keeps the shape");
  if (!options.output.empty() && operations.size() != 1)
    throw Error(Exit::usage, "--output takes one operation, and --op names " + std::to_string(operations.size()));
  const from::Array array = from::open_npy(options.files[0]);
  const from::AxesResult result = from::reduce_axes(array, axes_of(options.axes), operations, threads_of(options));
  if (!options.output.empty()) write_npy(options.output, result.extents, result.results[0]);
  if (options.output.empty() || !options.json.empty())
    present_axes({options.files[0], array.element, operations}, result, options.json,
                 use_colour(options.colour, STDOUT_FILENO));
  return 0;
}

void refuse_together(bool first, const char* first_name, bool second, const char* second_name) {
  if (first && second)
    throw Error(Exit::usage, std::string(first_name) + " and " + second_name + " do not go together",
                "coalesce reduce --help");
}

}  // namespace

int reduce(const ReduceOptions& options) {
  const bool of_axes = !options.axes.empty(), of_csv = !options.merge && is_csv(options, options.files[0]);
  refuse_together(of_axes, "--axis", !options.checkpoint.empty(), "--checkpoint");
  refuse_together(of_axes, "--axis", !options.part.empty(), "--part");
  refuse_together(of_csv, "CSV files", !options.checkpoint.empty(), "--checkpoint");
  refuse_together(of_csv, "CSV files", !options.part.empty(), "--part");
  refuse_together(options.merge, "--merge", of_axes || !options.part.empty() || options.resume,
                  "--axis, --part or --resume");
  if (!of_axes && !options.output.empty())
    throw Error(Exit::usage, "--output goes with --axis; --json FILE keeps one result");
  if (options.checkpoint.empty() && (options.resume || !options.part.empty()))
    throw Error(Exit::usage, std::string(options.resume ? "--resume" : "--part") + " needs --checkpoint FILE");
  try {
    const std::vector<from::Operation> operations = from::operations_named(options.operations);
    const std::unique_ptr<Ranks> ranks = Ranks::find();
    if (ranks && !options.merge && !of_csv && !of_axes) {
      if (!options.part.empty()) throw Error(Exit::usage, "--part is given by the rank here", "leave it out");
      return over_ranks(options, operations, *ranks);
    }
    if (ranks && !ranks->leads()) return 0;  // CSV, --axis and --merge are rank 0's work
    if (options.merge) return merge(options, operations);
    if (of_csv) return csv(options, operations);
    if (of_axes) return axes(options, operations);
    return whole(options, operations);
  } catch (const Error&) {
    throw;
  } catch (const std::runtime_error& error) {
    throw Error(code_of(error), error.what());
  }
}

}  // namespace coalesce::tool
