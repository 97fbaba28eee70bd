#include "cudart/record.h"

#include <errno.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "cudart/config.h"

namespace coalesce::cudart {
namespace {

using machine::Counters;
using machine::kCounterRows;

void put(std::string& out, std::string_view text) { out += text; }
void put(std::string& out, uint64_t number) {
  char digits[24];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
}

void put_string(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", c);
      out += escape;
    } else {
      out += c;
    }
  }
  out += '"';
}

void put_triple(std::string& out, std::string_view key, const std::array<uint32_t, 3>& v) {
  out += ",\"";
  out += key;
  out += "\":[";
  for (int i = 0; i < 3; ++i) {
    if (i != 0) out += ',';
    put(out, v[static_cast<size_t>(i)]);
  }
  out += ']';
}

void put_member(std::string& out, std::string_view key, std::string_view text) {
  out += ",\"";
  out += key;
  out += "\":";
  put_string(out, text);
}
void put_member(std::string& out, std::string_view key, uint64_t number) {
  out += ",\"";
  out += key;
  out += "\":";
  put(out, number);
}

void put_counters(std::string& out, const Counters& counters, bool zeros) {
  out += '{';
  bool first = true;
  for (const auto& row : kCounterRows) {
    const uint64_t value = counters.*row.field;
    if (value == 0 && !zeros) continue;
    if (!first) out += ',';
    first = false;
    put_string(out, row.name);
    out += ':';
    put(out, value);
  }
  out += '}';
}

std::string lines_text(const std::vector<machine::LineCounters>& lines) {
  std::string out = "[";
  for (const auto& line : lines) {
    if (out.size() > 1) out += ',';
    out += '[';
    put_string(out, line.place.file);
    out += ',';
    put(out, line.place.line);
    out += ',';
    put(out, line.ptx_line);
    out += ',';
    put_counters(out, line.counters, false);
    out += ']';
  }
  out += ']';
  return out;
}

}  // namespace

Record::Record(const std::string& path, const machine::Device& device) {
  file_.open(path);
  if (!file_.active()) return;
  std::string line = "{\"record\":\"coalesce.record/1\",\"device\":{\"key\":";
  put_string(line, device.key);
  put_member(line, "name", device.name);
  put(line, ",\"compute_capability\":[");
  put(line, device.major);
  put(line, ",");
  put(line, device.minor);
  put(line, "]}");
  put_member(line, "program", program_invocation_name);
  if (config().model != machine::Model::ptx)
    put_member(line, "model", machine::name_of(machine::kModels, config().model));
  put_member(line, "pid", static_cast<uint64_t>(getpid()));
  put(line, "}");
  write_line(line);
}

void Record::write_line(std::string& line) {
  line += '\n';
  file_.write(line);
}

void Record::launch(uint32_t kernel, const std::string& name, const machine::LaunchConfig& config,
                    const machine::LaunchReport& report, bool interrupted) {
  if (!file_.active()) return;
  std::string lines = lines_text(report.lines);
  const auto [previous, first] = previous_lines_.try_emplace(kernel);
  if (first) {
    std::string line = "{\"kernel\":";
    put(line, kernel);
    put_member(line, "name", name);
    put(line, "}");
    write_line(line);
    if (!file_.active()) return;
  }

  std::string line = "{\"launch\":";
  put(line, launches_++);
  put_member(line, "kernel", kernel);
  put_triple(line, "grid", config.grid);
  put_triple(line, "block", config.block);
  put_member(line, "dynamic_shared_bytes", config.dynamic_shared_bytes);
  char seconds[40];
  std::snprintf(seconds, sizeof seconds, ",\"seconds\":%.9f", report.seconds);
  for (char& c : seconds) {
    if (c == ',' && &c != seconds) c = '.';  // a program may have set a locale with decimal commas
  }
  put(line, seconds);
  put_member(line, "fault", machine::name_of(machine::kFaults, report.fault));
  put(line, ",\"counters\":");
  put_counters(line, report.counters, true);
  if (first || lines != previous->second) {
    put(line, ",\"lines\":");
    put(line, lines);
    previous->second = std::move(lines);
  }
  if (interrupted) put(line, ",\"interrupted\":true");
  put(line, "}");
  write_line(line);

  for (const auto& d : report.diagnostics) diagnostic(d);
}

void Record::diagnostic(const machine::Diagnostic& d) {
  if (!file_.active()) return;
  std::string line = "{\"diagnostic\":{\"severity\":";
  put_string(line, d.severity == machine::Severity::error ? "error" : "warning");
  put_member(line, "fault", machine::name_of(machine::kFaults, d.fault));
  put_member(line, "message", d.message);
  put_member(line, "file", d.place.file);
  put_member(line, "line", d.place.line);
  put_member(line, "column", d.place.column);
  put_member(line, "ptx_line", d.ptx_line);
  put_member(line, "ptx_text", d.ptx_text);
  put_member(line, "kernel", d.kernel);
  put_triple(line, "block", d.block);
  put_member(line, "warp", d.warp);
  put_member(line, "lanes", d.lanes);
  put_triple(line, "thread", d.thread);
  if (d.hazard != machine::Hazard::none) {
    put_member(line, "hazard", machine::name_of(machine::kHazards, d.hazard));
    if (!d.what.empty()) put_member(line, "access", d.what);
    if (!d.address.empty()) put_member(line, "address", d.address);
    put_member(line, "count", d.count);
  }
  if (d.other) {
    put(line, ",\"other\":{\"access\":");
    put_string(line, d.other->what);
    put_member(line, "file", d.other->place.file);
    put_member(line, "line", d.other->place.line);
    put_member(line, "ptx_line", d.other->ptx_line);
    put_triple(line, "block", d.other->block);
    put_triple(line, "thread", d.other->thread);
    put(line, "}");
  }
  put(line, ",\"notes\":[");
  for (size_t i = 0; i < d.notes.size(); ++i) {
    if (i != 0) put(line, ",");
    put_string(line, d.notes[i]);
  }
  put(line, "]}}");
  write_line(line);
}

void Record::copy(CopyPath path, uint64_t bytes) {
  Copies& c = copies_[static_cast<size_t>(path)];
  ++c.calls;
  c.bytes += bytes;
}

void Record::end() {
  if (!file_.active()) return;
  std::string line = "{\"copies\":{";
  for (size_t i = 0; i < 4; ++i) {
    if (i != 0) put(line, ",");
    put_string(line, kCopyNames[i]);
    put(line, ":{\"calls\":");
    put(line, copies_[i].calls);
    put_member(line, "bytes", copies_[i].bytes);
    put(line, "}");
  }
  put(line, "}}");
  write_line(line);
  line = "{\"end\":true}";
  write_line(line);
  file_.close();
}

}  // namespace coalesce::cudart
