// Runs PTX text on the machine, interpreted and as native code, with 1, 2 and 8 threads, and insists that memory,
// counters, lines and diagnostics agree.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "machine/api/machine.h"
#include "tests/random/native_code.h"
#include "tests/sanitized.h"

namespace coalesce::machine::test {

inline constexpr unsigned kThreadCounts[] = {1, 8, 2};

// Results are compared between all of them every night, in each change between the fewest and the most. A sanitizer
// needs one: ThreadSanitizer the most threads.
inline std::span<const unsigned> thread_counts() {
  const std::span<const unsigned> all = kThreadCounts;
  if (std::getenv("COALESCE_NIGHTLY") != nullptr) return all;
  return !kSanitized ? all.first(2) : all.subspan(kThreadSanitizer ? 1 : 2, 1);
}

// One argument of a kernel: a buffer (its address is passed) or a value.
struct Argument {
  bool is_buffer = false;
  std::vector<uint8_t> bytes;
  std::size_t alignment = 0;  // of a value among the parameters; 0: its size
  bool hidden = false;        // a buffer whose address is not passed
  std::function<std::vector<uint8_t>(const std::vector<uint64_t>&)> from = {};  // a value, of the buffers' addresses
};

template <class T>
Argument buffer(const std::vector<T>& values) {
  Argument a{true, std::vector<uint8_t>(values.size() * sizeof(T)), 0};
  std::memcpy(a.bytes.data(), values.data(), a.bytes.size());
  return a;
}
template <class T>
Argument zeros(std::size_t n) {
  return {true, std::vector<uint8_t>(n * sizeof(T)), 0};
}
template <class T>
Argument value(T v) {
  Argument a{false, std::vector<uint8_t>(sizeof(T)), 0};
  std::memcpy(a.bytes.data(), &v, sizeof v);
  return a;
}

struct Shape {
  std::array<uint32_t, 3> grid{1, 1, 1}, block{32, 1, 1};
  uint32_t dynamic_shared_bytes = 0;
  std::array<uint32_t, 3> cluster{1, 1, 1};
  uint64_t max_instructions = 1'000'000'000;  // with fewer, launches are interpreted only
  bool in_order = false;  // the result depends on the order in which warps run: not to be compared with the plain one
};

struct Ran {
  LaunchReport report;
  std::vector<std::vector<uint8_t>> buffers;  // as the kernel left them, in the order of the arguments
  std::vector<uint64_t> addresses;            // where they were
  std::vector<std::string> texts;             // what blocks printed, in their order; one for each that did
  std::string output;                         // the same in one
  std::array<uint32_t, 3> grid{};

  template <class T = uint32_t>
  std::vector<T> read(std::size_t which = 0) const {
    std::vector<T> v(buffers.at(which).size() / sizeof(T));
    std::memcpy(v.data(), buffers[which].data(), v.size() * sizeof(T));
    return v;
  }
  const Counters& counters() const { return report.counters; }
  std::string message() const { return report.diagnostics.empty() ? "" : report.diagnostics[0].message; }
};

// Keeps one machine per number of threads: making one is slower than a small launch.
class Bench {
 public:
  explicit Bench(unsigned threads, uint64_t max_instructions = Shape{}.max_instructions,
                 std::shared_ptr<NativeProvider> native = nullptr, Model model = Model::ptx)
      : machine_(*find_device("h200"), Options{.threads = threads,
                                               .max_instructions = max_instructions,
                                               .progress = {},
                                               .output = [this](std::string_view t) { texts_.emplace_back(t); },
                                               .native = std::move(native),
                                               .model = model}) {}

  Ran run(const std::string& ptx, const std::vector<Argument>& arguments, const Shape& setup,
          const std::string& kernel) {
    return run(*machine_.load(ptx, "test.ptx"), arguments, setup, kernel);
  }

  // `before`: runs in the buffers of an earlier run with `keep`. What atomics cost depends on where they lie, and
  // buffers anew lie elsewhere.
  Ran run(Program& program, const std::vector<Argument>& arguments, const Shape& setup, const std::string& kernel,
          bool keep = false, const Ran* before = nullptr) {
    Ran r;
    texts_.clear();
    LaunchConfig config{setup.grid, setup.block, setup.dynamic_shared_bytes, false, {}};
    config.cluster = setup.cluster;
    for (const Argument& a : arguments) {
      std::vector<uint8_t> bytes = a.bytes;
      if (a.is_buffer) {
        const uint64_t base = before ? before->addresses[r.addresses.size()]
                                     : machine_.memory().allocate(a.bytes.size(), Origin::device, "cudaMalloc")->base;
        std::memcpy(reinterpret_cast<void*>(base), a.bytes.data(), a.bytes.size());
        r.addresses.push_back(base);
        bytes = value(base).bytes;
        if (a.hidden) continue;
      }
      if (a.from) bytes = a.from(r.addresses);
      const std::size_t alignment = a.alignment ? a.alignment : bytes.size();
      config.parameters.resize((config.parameters.size() + alignment - 1) / alignment * alignment);
      config.parameters.insert(config.parameters.end(), bytes.begin(), bytes.end());
    }
    r.report = machine_.launch(program, kernel, config);
    std::size_t b = 0;
    for (const Argument& a : arguments)
      if (a.is_buffer) {
        const auto* from = reinterpret_cast<const uint8_t*>(r.addresses[b++]);
        r.buffers.emplace_back(from, from + a.bytes.size());
      }
    for (uint64_t at : r.addresses)
      if (!keep) machine_.memory().release(at);
    r.texts = texts_;
    for (const std::string& t : r.texts) r.output += t;
    r.grid = setup.grid;
    return r;
  }

  Machine& machine() { return machine_; }

 private:
  std::vector<std::string> texts_;
  Machine machine_;
};

// A diagnostic with addresses in buffers as places in them, and without the allocations' numbers: where a buffer lies,
// how many there were before it, and so which is the nearest to a place in none, is nobody's promise.
inline std::string rendered(const Diagnostic& d, const Ran& r) {
  std::string text = render(d, false);
  // " at ADDRESS is in no allocation ...", " at ADDRESS is 8 bytes past the end of ...", "... before the start of ...".
  for (std::size_t at = text.find(" at 0x"); at != std::string::npos; at = text.find(" at 0x", at + 1)) {
    const std::size_t is = text.find_first_of(" \n", at + 4), end = std::min(text.find('\n', at), text.size());
    if (is == std::string::npos || text.compare(is, 4, " is ") != 0) continue;
    const std::string what = text.substr(is, end - is);
    if (what.starts_with(" is in no allocation") || what.find(" past the end of ") != what.npos ||
        what.find(" before the start of ") != what.npos)
      text.replace(at, end - at, " in no allocation");
  }
  for (std::size_t at = text.find("0x"); at != std::string::npos; at = text.find("0x", at + 2)) {
    char* end = nullptr;
    const uint64_t address = std::strtoull(text.c_str() + at, &end, 16);
    uint64_t base = 0;
    std::size_t which = 0;
    for (std::size_t k = 0; k < r.addresses.size(); ++k)
      if (r.addresses[k] <= address + 4096 && r.addresses[k] > base) base = r.addresses[k], which = k;
    if (address < 0x100000000 || base == 0) continue;
    text.replace(at, static_cast<std::size_t>(end - text.c_str()) - at,
                 "buffer " + std::to_string(which) + " + " + std::to_string(static_cast<int64_t>(address - base)));
  }
  for (std::size_t at = text.find(" #"); at != std::string::npos; at = text.find(" #", at + 2))
    text.erase(at + 2, text.find_first_not_of("0123456789", at + 2) - (at + 2));
  return text;
}

inline constexpr uint64_t kNobody = ~uint64_t{0};
// The only block that writes this byte of this buffer; kNobody: there is none.
using Writer = std::function<uint64_t(std::size_t buffer, std::size_t byte)>;

// After a fault the machine promises: which it was and all that is said of it (the lowest faulting block's), and that
// blocks before that one have run as if nothing had happened: what they wrote, printed and were warned of. It does not
// promise how far the faulting block's other warps had come (executors differ in the order of what has none), nor
// whether later blocks had begun (that depends on threads): so neither counters nor tallies, which are sums over all
// blocks, nor memory that several blocks write.
inline std::string difference_after_fault(const Ran& a, const Ran& b, const Writer& writer) {
  // The last text may be the faulting block's.
  const std::size_t n = std::min(a.texts.size(), b.texts.size()), more = std::max(a.texts.size(), b.texts.size());
  if (more > n + 1) return "number of blocks that printed: " + std::to_string(n) + " / " + std::to_string(more);
  for (std::size_t k = 0; k + (more == n) < n; ++k)
    if (a.texts[k] != b.texts[k]) return "printed: " + a.texts[k] + " / " + b.texts[k];
  const auto& [x, y, z] = a.report.diagnostics[0].block;
  const uint64_t fault = x + a.grid[0] * (y + uint64_t{a.grid[1]} * z);
  for (std::size_t k = 0; writer && k < a.buffers.size(); ++k)
    for (std::size_t at = 0; at < a.buffers[k].size(); ++at)
      if (a.buffers[k][at] != b.buffers[k][at] && writer(k, at) < fault)
        return "buffer " + std::to_string(k) + ", byte " + std::to_string(at) + " of block " +
               std::to_string(writer(k, at)) + ", before the fault: " + std::to_string(a.buffers[k][at]) + " / " +
               std::to_string(b.buffers[k][at]);
  return {};
}

// The first of what differs; empty: nothing.
inline std::string difference(const Ran& a, const Ran& b, const Writer& writer = {}) {
  if (a.report.fault != b.report.fault) return "fault: " + a.message() + " / " + b.message();
  if (a.report.diagnostics.size() != b.report.diagnostics.size())
    return "diagnostics: " + a.message() + " / " + b.message();
  for (std::size_t k = 0; k < a.report.diagnostics.size(); ++k) {
    std::string one = rendered(a.report.diagnostics[k], a), other = rendered(b.report.diagnostics[k], b);
    if (a.report.fault == Fault::budget)  // in which block of its loop the kernel was stopped is nobody's promise
      one.resize(one.find('\n')), other.resize(other.find('\n'));
    if (one != other) return "diagnostics:\n" + one + other;
  }
  if (a.report.fault != Fault::none) return difference_after_fault(a, b, writer);
  for (std::size_t k = 0; k < a.buffers.size(); ++k)
    for (std::size_t at = 0; at < a.buffers[k].size(); ++at)
      if (a.buffers[k][at] != b.buffers[k][at])
        return "buffer " + std::to_string(k) + ", byte " + std::to_string(at) + ": " +
               std::to_string(a.buffers[k][at]) + " / " + std::to_string(b.buffers[k][at]);
  if (a.output != b.output) return "output: " + a.output + " / " + b.output;
  for (const CounterRow& row : kCounterRows)
    if (a.counters().*row.field != b.counters().*row.field)
      return std::string(row.name) + ": " + std::to_string(a.counters().*row.field) + " / " +
             std::to_string(b.counters().*row.field);
  for (std::size_t k = 0; k < a.report.tally.size(); ++k)
    if (a.report.tally[k] != b.report.tally[k])
      return "tally word " + std::to_string(k) + ": " + std::to_string(a.report.tally[k]) + " / " +
             std::to_string(b.report.tally[k]);
  if (a.report.lines.size() != b.report.lines.size()) return "number of lines";
  for (std::size_t k = 0; k < a.report.lines.size(); ++k)
    if (a.report.lines[k].ptx_line != b.report.lines[k].ptx_line ||
        !(a.report.lines[k].counters == b.report.lines[k].counters))
      return "line " + std::to_string(a.report.lines[k].ptx_line);
  return {};
}

// Compares the plain executor with another one: the same fault at the same place (its words may differ), or the same
// memory, output, counters and lines.
inline std::string difference_from_plain(const Ran& plain, const Ran& other) {
  if (plain.report.fault != other.report.fault) return "fault: " + plain.message() + " / " + other.message();
  if (plain.report.diagnostics.size() != other.report.diagnostics.size())
    return "number of diagnostics: " + plain.message() + " / " + other.message();
  for (std::size_t k = 0; k < plain.report.diagnostics.size(); ++k) {
    const Diagnostic &a = plain.report.diagnostics[k], &b = other.report.diagnostics[k];
    const auto text = [](const Diagnostic& d) {
      return d.message + " (PTX line " + std::to_string(d.ptx_line) + ", block " + std::to_string(d.block[0]) +
             ", warp " + std::to_string(d.warp) + ", lanes " + std::to_string(d.lanes) + ")";
    };
    const bool somewhere = a.fault == Fault::budget;  // wherever it was
    if (a.severity != b.severity || a.block != b.block || (a.ptx_line != b.ptx_line && !somewhere))
      return "diagnostics: " + text(a) + " / " + text(b);
  }
  if (plain.report.fault != Fault::none) return {};
  Ran without_tally = other;
  without_tally.report.tally.clear();
  without_tally.report.diagnostics = plain.report.diagnostics;
  if (plain.report.spins) {  // how often who polled is nobody's promise
    without_tally.report.counters = plain.report.counters;
    without_tally.report.lines = plain.report.lines;
  }
  return difference(plain, without_tally);
}

// The module around kernels: `ptx` holds functions and variables.
inline std::string module(const std::string& ptx) { return ".version 8.0\n.target sm_90\n.address_size 64\n" + ptx; }

// A kernel `k` with `parameters` (each "name type", comma separated by the caller as PTX) and a body; common registers.
inline std::string kernel(const std::string& parameters, const std::string& body) {
  return module(".visible .entry k(" + parameters +
                ")\n{\n.reg .pred %p<32>;\n.reg .b16 %h<32>;\n.reg .b32 %r<64>;\n.reg .f32 %f<32>;\n" +
                ".reg .b64 %rd<64>;\n.reg .f64 %fd<16>;\n" + body + "\nret;\n}\n");
}

// All thread counts; the result of the first.
inline Ran run(const std::string& ptx, const std::vector<Argument>& arguments, const Shape& setup = {},
               const std::string& name = "k") {
  Ran first;
  for (unsigned threads : thread_counts()) {
    Bench bench(threads, setup.max_instructions);
    Ran r = bench.run(ptx, arguments, setup, name);
    if (threads == thread_counts()[0])
      first = std::move(r);
    else
      EXPECT_EQ(difference(first, r), "") << threads << " threads";
  }
  if (!setup.in_order) {
    Bench plain(1, setup.max_instructions);
    plain.machine().use_plain(true);
    EXPECT_EQ(difference_from_plain(plain.run(ptx, arguments, setup, name), first), "") << "plain / interpreter";
  }
  for (unsigned threads : thread_counts()) {
    if (!quick_native_code()) break;
    Bench bench(threads, setup.max_instructions, quick_native_code());
    EXPECT_EQ(difference(first, bench.run(ptx, arguments, setup, name)), "") << "native, threads: " << threads;
    EXPECT_EQ(unsound_kernels(), 0u);
  }
  return first;
}

}  // namespace coalesce::machine::test
