#include "record/writer.h"

#include <errno.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "machine/api/machine.h"
#include "record/estimate.h"
#include "record/json.h"
#include "record/rank.h"

namespace coalesce::record {
namespace {

using machine::kCounterRows;

// Those of `known`; without `zeros` those that are not 0.
void put_counters(std::string& out, const machine::Counters& counters, uint64_t known, bool zeros) {
  out += '{';
  for (std::size_t row = 0; row < machine::kCounterCount; ++row) {
    const uint64_t value = counters.*kCounterRows[row].field;
    if ((known >> row & 1) && (value != 0 || zeros)) put_member(out, kCounterRows[row].name, value);
  }
  out += '}';
}

std::string lines_text(const std::vector<machine::LineCounters>& lines) {
  std::string out = "[";
  for (const auto& line : lines) {
    out += out.size() > 1 ? ",[" : "[";
    put_string(out, line.place.file);
    out += ',';
    put(out, line.place.line);
    out += ',';
    put(out, line.ptx_line);
    out += ',';
    put_counters(out, line.counters, kAllCounters, false);
    out += ']';
  }
  return out += ']';
}

// "key":[[file,line],...], where there are any.
void put_places(std::string& out, const char* key, const std::vector<machine::SourcePlace>& places) {
  if (places.empty()) return;
  put_key(out, key);
  for (const auto& place : places) {
    out += &place == places.data() ? "[[" : ",[";
    put_string(out, place.file);
    out += ',';
    put(out, place.line);
    out += ']';
  }
  out += ']';
}

void put_strings(std::string& out, const char* key, const std::vector<std::string>& texts) {
  put_key(out, key);
  out += '[';
  for (const std::string& text : texts) {
    if (&text != texts.data()) out += ',';
    put_string(out, text);
  }
  out += ']';
}

void put_diagnostic(std::string& out, const machine::Diagnostic& d) {
  out += '{';
  put_member(out, "severity", d.severity == machine::Severity::error ? "error" : "warning");
  put_member(out, "fault", machine::name_of(machine::kFaults, d.fault));
  put_member(out, "message", d.message);
  put_member(out, "file", d.place.file);
  put_member(out, "line", d.place.line);
  put_member(out, "column", d.place.column);
  put_member(out, "ptx_line", d.ptx_line);
  put_member(out, "ptx_text", d.ptx_text);
  put_member(out, "kernel", d.kernel);
  put_triple(out, "block", d.block);
  put_member(out, "warp", d.warp);
  put_member(out, "lanes", d.lanes);
  put_triple(out, "thread", d.thread);
  if (d.hazard != machine::Hazard::none) {
    put_member(out, "hazard", machine::name_of(machine::kHazards, d.hazard));
    if (!d.what.empty()) put_member(out, "access", d.what);
    if (!d.address.empty()) put_member(out, "address", d.address);
    put_member(out, "count", d.count);
  }
  if (d.other) {
    put_key(out, "other");
    out += '{';
    put_member(out, "access", d.other->what);
    put_member(out, "file", d.other->place.file);
    put_member(out, "line", d.other->place.line);
    put_member(out, "ptx_line", d.other->ptx_line);
    put_triple(out, "block", d.other->block);
    put_triple(out, "thread", d.other->thread);
    put_places(out, "inlined_at", d.other->inlined_at);
    if (!d.other->who.empty()) put_member(out, "who", d.other->who);
    out += '}';
  }
  put_places(out, "inlined_at", d.inlined_at);
  if (!d.who.empty()) put_member(out, "who", d.who);
  if (!d.traces.empty()) {
    put_key(out, "traces");
    for (const machine::Trace& trace : d.traces) {
      out += &trace == d.traces.data() ? "[{" : ",{";
      put_member(out, "title", trace.title);
      put_strings(out, "frames", trace.frames);
      out += '}';
    }
    out += ']';
  }
  put_strings(out, "notes", d.notes);
  out += '}';
}

// The words with which the process was started, as people would read them.
std::string command_line() {
  constexpr std::size_t kMost = 200;
  std::ifstream in("/proc/self/cmdline", std::ios::binary);
  std::string words(kMost, '\0');
  in.read(words.data(), kMost);
  words.resize(static_cast<std::size_t>(in.gcount()));
  while (!words.empty() && words.back() == '\0') words.pop_back();
  std::replace(words.begin(), words.end(), '\0', ' ');
  return words;
}

}  // namespace

void Writer::write(std::string& line) {
  // Several processes may write to one record at a time.
  line.back() = ',';
  line += pid_;
  line += "}\n";
  file_.write(line);
}

void Writer::header(const Header& header) {
  if (!file_.active()) return;
  on_gpu_ = header.on_gpu;
  several_devices_ = header.devices > 1;
  pid_ = "\"pid\":" + std::to_string(getpid());
  before_.clear();
  std::string line = "{";
  put_member(line, "record", kSchema);
  if (header.on_gpu) put_member(line, "on", "gpu");
  put_key(line, "device");
  line += '{';
  put_member(line, "key", header.key);
  put_member(line, "name", header.name);
  put_key(line, "compute_capability");
  line += '[';
  put(line, header.major);
  line += ',';
  put(line, header.minor);
  line += ']';
  if (header.on_gpu) put_member(line, "l2_bytes", header.l2_bytes);
  line += '}';
  put_member(line, "program", program_invocation_name);
  if (header.devices > 1) put_member(line, "devices", header.devices);
  if (!header.model.empty()) put_member(line, "model", header.model);
  put_member(line, "command", command_line());
  if (const auto rank = rank_of_job()) {
    put_member(line, "rank", rank->rank);
    put_member(line, "ranks", rank->size);
  }
  line += '}';
  write(line);
}

void Writer::name_kernel(uint32_t id, std::string_view mangled) {
  if (!file_.active() || !before_.try_emplace(id).second) return;
  std::string line = "{";
  put_member(line, "kernel", id);
  put_member(line, "name", mangled);
  line += '}';
  write(line);
}

void Writer::launch(const LaunchEntry& e) {
  if (!file_.active()) return;
  std::string line = "{";
  put_member(line, "launch", launches_++);
  put_member(line, "kernel", e.kernel);
  put_triple(line, "grid", e.grid);
  put_triple(line, "block", e.block);
  put_member(line, "dynamic_shared_bytes", e.dynamic_shared_bytes);
  put_seconds_member(line, "seconds", e.seconds);
  if (several_devices_) {
    put_member(line, "device", e.device);
    put_member(line, "peer_bytes", e.peer_bytes);
  }
  put_member(line, "fault", e.fault);
  if (!e.cold.empty()) {
    put_key(line, "times");
    line += '{';
    put_seconds_list(line, "cold", e.cold);
    put_seconds_list(line, "warm", e.warm);
    line += '}';
  }
  put_key(line, "counters");
  put_counters(line, e.counters, e.known, true);
  if (e.lines != nullptr) {
    std::string lines = lines_text(*e.lines);
    std::string& before = before_[e.kernel].lines;
    if (lines != before) {
      put_key(line, "lines");
      line += lines;
      before = std::move(lines);
    }
  }
  if (!e.metrics.empty()) {
    put_key(line, "metrics");
    line += '{';
    for (const auto& [name, value] : e.metrics) {
      put_key(line, name);
      line += std::to_string(std::llround(value));
    }
    line += '}';
  }
  std::string time;
  if (e.time != nullptr) put_estimate(time, *e.time);
  std::string& time_before = before_[e.kernel].time;
  if (time != time_before) {
    put_key(line, "time");
    line += time.empty() ? "null" : time;
    time_before = std::move(time);
  }
  if (e.interrupted) {
    put_key(line, "interrupted");
    line += "true";
  }
  line += '}';
  write(line);
}

void Writer::diagnostic(const machine::Diagnostic& diagnostic) {
  if (!file_.active()) return;
  std::string line = "{\"diagnostic\":";
  put_diagnostic(line, diagnostic);
  line += '}';
  write(line);
}

void Writer::note(std::string_view text) {
  if (!file_.active()) return;
  std::string line = "{";
  put_member(line, "note", text);
  line += '}';
  write(line);
}

void Writer::copy(CopyPath path, uint64_t bytes, double seconds) {
  Copies& c = copies_[static_cast<std::size_t>(path)];
  ++c.calls;
  c.bytes += bytes;
  c.seconds += seconds;
}

void Writer::end(double span) {
  if (!file_.active()) return;
  std::string line = "{\"copies\":{";
  for (std::size_t path = 0; path < copies_.size(); ++path) {
    if (static_cast<CopyPath>(path) == CopyPath::p2p && !several_devices_) continue;
    put_key(line, kCopyNames[path]);
    line += '{';
    put_member(line, "calls", copies_[path].calls);
    put_member(line, "bytes", copies_[path].bytes);
    if (on_gpu_) put_seconds_member(line, "seconds", copies_[path].seconds);
    line += '}';
  }
  line += "}}";
  write(line);
  if (span > 0) {
    line = "{";
    put_seconds_member(line, "span", span);
    line += '}';
    write(line);
  }
  line = "{\"end\":true}";
  write(line);
  file_.close();
}

}  // namespace coalesce::record
