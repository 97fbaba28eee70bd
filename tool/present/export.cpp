#include "tool/present/export.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ostream>
#include <sstream>

#include "machine/time/limits.h"
#include "tool/figures/error.h"
#include "tool/figures/figures.h"
#include "tool/figures/hardware.h"
#include "tool/present/table.h"
#include "tool/present/times.h"

namespace coalesce::tool {
namespace {

using Json = nlohmann::ordered_json;
using machine::kCounterRows;

// A kernel or a file may be called anything; JSON is UTF-8, so other bytes become U+FFFD instead of an exception.
std::string text(const Json& value, int indent = -1) {
  return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}

Json repetitions_json(const std::vector<double>& seconds) {
  return {{"median", median(seconds)}, {"spread", spread(seconds)}, {"repetitions", seconds}};
}

Json launch_json(const Record& record, const Launch& launch, bool lines) {
  Json object = {{"kernel", record.kernels[launch.kernel].full},
                 {"grid", launch.grid},
                 {"block", launch.block},
                 {"dynamic_shared_bytes", launch.dynamic_shared_bytes}};
  if (record.processes.size() > 1 || record.ranks != 0) object["process"] = launch.process;
  if (record.devices > 1) {
    object["device"] = launch.device;
    object["peer_bytes"] = launch.peer_bytes;
  }
  if (!launch.fault.empty()) object["fault"] = launch.fault;
  if (launch.interrupted) object["interrupted"] = true;
  object["counters"] =
      record.on_gpu ? known_counters_json(launch.counters, launch.known) : counters_json(launch.counters, true);
  if (launch.time) object["time"] = estimate_json(*launch.time, record.device.key);
  if (record.on_gpu && launch.seconds > 0) object["seconds"] = launch.seconds;
  if (!launch.cold.empty()) object["times"] = times_json(launch);
  if (lines) {
    Json list = Json::array();
    for (const Line& line : *launch.lines) {
      list.push_back({{"file", line.file},
                      {"line", line.line},
                      {"ptx_line", line.ptx_line},
                      {"counters", counters_json(line.counters, false)}});
    }
    object["lines"] = std::move(list);
  }
  return object;
}

}  // namespace

Json estimate_json(const machine::TimeEstimate& e, const std::string& device) {
  if (!e.none.empty()) return {{"device", device}, {"none", e.none}};
  Json parts = Json::object();
  for (const auto& [name, bound] : machine::kBounds) parts[name] = e.part_us[static_cast<std::size_t>(bound)];
  Json waits = Json::object();
  for (const auto& [name, what] : machine::kWaits) waits[name] = e.waits[static_cast<std::size_t>(what)];
  const machine::Limits* const limits = machine::find_limits(device);
  return {{"device", device},
          {"limits", limits && machine::measured(*limits) ? "measured" : "documents"},
          {"us", e.us},
          {"low_us", e.low_us},
          {"high_us", e.high_us},
          {"bound_by", machine::name_of(machine::kBounds, e.bound_by)},
          {"share", e.share},
          {"parts_us", parts},
          {"waits", waits},
          {"roofline_us", e.roofline_us},
          {"registers", e.registers},
          {"registers_from", e.registers_known ? "ptxas" : "liveness"},
          {"resident_blocks", e.resident_blocks},
          {"occupancy", e.occupancy},
          {"l1_hit_sectors", e.l1_hit_sectors},
          {"l2_hit_sectors", e.l2_hit_sectors},
          {"dram_read_bytes", e.dram_read_bytes},
          {"dram_write_bytes", e.dram_write_bytes}};
}

Json times_json(const Launch& launch) {
  return {{"cold", repetitions_json(launch.cold)}, {"warm", repetitions_json(launch.warm)}};
}

Json counters_json(const machine::Counters& counters, bool zeros) {
  Json object = Json::object();
  for (const auto& row : kCounterRows) {
    if (zeros || counters.*row.field) object[std::string(row.name)] = counters.*row.field;
  }
  return object;
}

Json known_counters_json(const machine::Counters& counters, uint64_t known) {
  Json object = Json::object();
  for (std::size_t row = 0; row < machine::kCounterCount; ++row) {
    if (known >> row & 1) object[std::string(kCounterRows[row].name)] = counters.*kCounterRows[row].field;
  }
  return object;
}

Json device_json(const DeviceName& device) {
  Json object = {{"key", device.key}, {"name", device.name}, {"compute_capability", device.compute_capability}};
  if (!device.model.empty()) object["model"] = device.model;
  return object;
}

std::string unfinished_run_json(const std::string& program) {
  Record record;
  record.program = program;
  std::ostringstream out;
  write_json(out, record, std::nullopt, false);
  return out.str();
}

void write_json(std::ostream& out, const Record& record, std::optional<int> exit_code, bool lines) {
  // Launch by launch: a program may launch a million times.
  const Json device = device_json(record.device);
  out << "{\"schema\":\"coalesce.run/1\",\n"
      << (record.on_gpu ? "\"on\":\"gpu\",\n" : "") << "\"device\":" << text(device)
      << ",\n\"program\":" << text(record.program)
      << ",\n\"exit_code\":" << (exit_code ? std::to_string(*exit_code) : "null")
      << ",\n\"complete\":" << (record.complete ? "true" : "false");
  if (record.devices > 1) out << ",\n\"devices\":" << record.devices;
  if (record.ranks != 0) out << ",\n\"ranks\":" << record.ranks;
  if (record.processes.size() > 1 || record.ranks != 0) {
    Json list = Json::array();
    for (const record::Process& p : record.processes) {
      list.push_back({{"pid", p.pid}, {"command", p.command}, {"launches", p.launches}});
      if (p.rank) list.back()["rank"] = *p.rank;
    }
    out << ",\n\"processes\":" << text(list);
  }
  out << ",\n\"launches\":[";
  const char* separator = "\n";
  for (const Launch& launch : record.launches) {
    out << separator << text(launch_json(record, launch, lines));
    separator = ",\n";
  }
  out << "\n],\n\"copies\":" << text(record.copies.is_null() ? Json::object() : record.copies)
      << ",\n\"diagnostics\":" << text(Json(record.diagnostics));
  if (record.on_gpu) out << ",\n\"notes\":" << text(Json(record.notes)) << ",\n\"span_seconds\":" << record.span;
  out << "}\n";
}

void write_csv(std::ostream& out, const Record& record, const Record* measured) {
  std::vector<std::string> fields = {"launch", "kernel", "grid", "block", "dynamic_shared_bytes", "fault"};
  for (const auto& row : kCounterRows) fields.emplace_back(row.name);
  const bool timed =
      std::any_of(record.launches.begin(), record.launches.end(), [](const Launch& l) { return l.time; });
  if (timed)
    for (std::string& field : estimate_fields()) fields.push_back(std::move(field));
  uint64_t read = 0;  // counters of the GPU
  if (measured) {
    fields.emplace_back("measured_us");
    for (const Launch& launch : measured->launches) read |= launch.known;
    for (std::size_t row = 0; row < machine::kCounterCount; ++row)
      if (read >> row & 1) fields.push_back("measured_" + std::string(kCounterRows[row].name));
  }
  out << csv_record(fields);
  // Nothing in the field of a counter that a GPU did not read.
  const auto counter = [&fields](const Launch* launch, std::size_t row) {
    const bool known = launch && launch->known >> row & 1;
    fields.push_back(known ? std::to_string(launch->counters.*kCounterRows[row].field) : "");
  };
  for (std::size_t number = 0; number < record.launches.size(); ++number) {
    const Launch& launch = record.launches[number];
    const auto shape = [](const std::array<uint32_t, 3>& s) { return fmt::format("{}x{}x{}", s[0], s[1], s[2]); };
    fields = {std::to_string(number),
              record.kernels[launch.kernel].full,
              shape(launch.grid),
              shape(launch.block),
              std::to_string(launch.dynamic_shared_bytes),
              launch.interrupted ? "interrupted" : launch.fault};
    for (std::size_t row = 0; row < machine::kCounterCount; ++row) counter(&launch, row);
    if (timed)
      for (std::string& value : estimate_values(launch.time.get())) fields.push_back(std::move(value));
    if (measured) {
      const Launch* const same = same_launch(record, number, *measured);
      fields.push_back(same && !same->cold.empty() ? fmt::format("{:.6g}", 1e6 * median(same->cold)) : "");
      for (std::size_t row = 0; row < machine::kCounterCount; ++row)
        if (read >> row & 1) counter(same, row);
    }
    out << csv_record(fields);
  }
}

void write_lines_csv(std::ostream& out, const Record& record) {
  std::vector<std::string> fields = {"kernel", "file", "line", "ptx_line"};
  for (const auto& row : kCounterRows) fields.emplace_back(row.name);
  out << csv_record(fields);
  for (const KernelTotal& kernel : totals(record)) {
    for (const Line& line : kernel.lines) {
      fields = {record.kernels[kernel.kernel].full, line.file, std::to_string(line.line),
                std::to_string(line.ptx_line)};
      for (const auto& row : kCounterRows) fields.push_back(std::to_string(line.counters.*row.field));
      out << csv_record(fields);
    }
  }
}

bool write_all(int descriptor, const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t written = ::write(descriptor, text.data() + done, text.size() - done);
    if (written < 0 && errno != EINTR) return false;
    if (written > 0) done += static_cast<std::size_t>(written);
  }
  return true;
}

Export::Export(std::string option, std::string path) : option_(std::move(option)), path_(std::move(path)) {
  if (standard_output()) return;
  // No O_TRUNC: should the run fail, what was there before stays.
  descriptor_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor_ < 0)
    throw Error(Exit::usage, fmt::format("{} cannot write '{}': {}", option_, path_, std::strerror(errno)));
}

Export::~Export() {
  if (descriptor_ >= 0) close(descriptor_);
}

bool Export::is_file() const {
  struct stat status;
  return !standard_output() && fstat(descriptor_, &status) == 0 && S_ISREG(status.st_mode);
}

void Export::begin(const std::string& text) {
  if (is_file()) write(text);
}

void Export::begin_empty(const std::string& text) {
  struct stat status;
  if (is_file() && fstat(descriptor_, &status) == 0 && status.st_size == 0) write(text);
}

void Export::write(const std::string& text) {
  const int descriptor = standard_output() ? STDOUT_FILENO : descriptor_;
  if ((is_file() && (lseek(descriptor, 0, SEEK_SET) != 0 || ftruncate(descriptor, 0) != 0)) ||
      !write_all(descriptor, text)) {
    throw Error(Exit::environment, fmt::format("{} cannot write '{}': {}", option_, path_, std::strerror(errno)));
  }
}

}  // namespace coalesce::tool
