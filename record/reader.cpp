#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <istream>
#include <iterator>
#include <numeric>
#include <stdexcept>
#include <unordered_map>

#include "record/names.h"
#include "record/record.h"

namespace coalesce::record {
namespace {

using Json = nlohmann::ordered_json;
using machine::Counters;
using machine::kCounterRows;

[[noreturn]] void malformed(const std::string& what) { throw std::runtime_error(what); }

uint64_t unsigned_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_unsigned()) malformed(std::string("no count called \"") + key + '"');
  return found->get<uint64_t>();
}

std::string text_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_string()) malformed(std::string("no text called \"") + key + '"');
  return found->get<std::string>();
}

uint32_t small(const Json& value) {
  if (!value.is_number_unsigned() || value.get<uint64_t>() > UINT32_MAX) malformed("a number that should have 32 bits");
  return value.get<uint32_t>();
}

std::array<uint32_t, 3> triple_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_array() || found->size() != 3) malformed(std::string("no triple ") + key);
  return {small((*found)[0]), small((*found)[1]), small((*found)[2])};
}

// A launch names every counter (one that is missing is a record of another version, not a zero); a line only those that
// are not zero.
Counters counters_of(const Json& object, bool all) {
  if (!object.is_object()) malformed("counters that are no object");
  Counters counters;
  for (const auto& row : kCounterRows) {
    const std::string name(row.name);
    if (all || object.contains(name)) counters.*row.field = unsigned_at(object, name.c_str());
  }
  return counters;
}

// The counters that an object has.
uint64_t named(const Json& object) {
  uint64_t known = 0;
  for (std::size_t row = 0; row < machine::kCounterCount; ++row) {
    if (object.contains(std::string(kCounterRows[row].name))) known |= uint64_t{1} << row;
  }
  return known;
}

std::shared_ptr<const Lines> lines_of(const Json& array) {
  if (!array.is_array()) malformed("lines that are no list");
  auto lines = std::make_shared<Lines>();
  for (const Json& entry : array) {
    if (!entry.is_array() || entry.size() != 4 || !entry[0].is_string())
      malformed("a line that is no [file,line,ptx,{}]");
    lines->push_back({entry[0].get<std::string>(), small(entry[1]), small(entry[2]), counters_of(entry[3], false)});
  }
  return lines;
}

// Sums what processes copied.
void add_copies(Json& to, const Json& copies) {
  if (to.is_null()) {
    to = copies;
    return;
  }
  for (const auto& [path, figures] : copies.items())
    for (const auto& [name, figure] : figures.items()) {
      Json& sum = to[path][name];
      if (sum.is_null()) sum = 0;
      if (figure.is_number_unsigned() && sum.is_number_integer())
        sum = sum.get<uint64_t>() + figure.get<uint64_t>();
      else
        sum = sum.get<double>() + figure.get<double>();
    }
}

// Puts ranks and their launches in order: which rank writes first is an accident.
void sort_ranks(Record& record) {
  if (record.ranks == 0) return;
  std::vector<std::size_t> order(record.processes.size()), place(order.size());
  std::iota(order.begin(), order.end(), 0);
  const auto key = [&](std::size_t i) { return std::pair(record.processes[i].rank.value_or(record.ranks), i); };
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
  std::vector<Process> processes;
  for (std::size_t i = 0; i < order.size(); ++i) {
    place[order[i]] = i;
    processes.push_back(std::move(record.processes[order[i]]));
  }
  record.processes = std::move(processes);
  std::vector<std::vector<Launch>> of(order.size());
  for (Launch& launch : record.launches) {
    launch.process = place[launch.process];
    of[launch.process].push_back(std::move(launch));
  }
  record.launches.clear();
  for (std::vector<Launch>& launches : of)
    std::move(launches.begin(), launches.end(), std::back_inserter(record.launches));
}

class Reader {
 public:
  // Takes one line; throws when it is none.
  void line(const std::string& text) {
    const Json value = Json::parse(text);
    if (!value.is_object()) malformed("not an object");
    if (value.contains("record")) {
      header(value);
    } else if (!record.started) {
      malformed("no header");
    } else if (value.contains("launch")) {
      launch(value);
    } else if (value.contains("kernel")) {
      kernel(value);
    } else if (value.contains("diagnostic")) {
      record.diagnostics.push_back(value["diagnostic"]);
    } else if (value.contains("copies")) {
      add_copies(record.copies, value["copies"]);
    } else if (value.contains("note")) {
      record.notes.push_back(text_at(value, "note"));
    } else if (value.contains("span")) {
      record.span = value["span"].get<double>();
    } else if (value.contains("end")) {
      process(value).ended = true;
      record.complete =
          std::all_of(record.processes.begin(), record.processes.end(), [](const Process& p) { return p.ended; });
    }  // Anything else is a newer runtime's addition.
  }

  Record record;

 private:
  // The number of the process that wrote a line. In a line without "pid": of the last header's.
  std::size_t number(const Json& value) {
    const uint64_t pid = value.contains("pid") ? unsigned_at(value, "pid") : last_pid_;
    const auto found = numbers_.find(pid);
    if (found == numbers_.end()) malformed("no header of this process");
    return found->second;
  }
  Process& process(const Json& value) { return record.processes[number(value)]; }

  // A program that starts another CUDA program has two headers in its record.
  void header(const Json& value) {
    if (text_at(value, "record") != kSchema) malformed("a record of another version");
    const Json& device = value.at("device");
    record.device.key = text_at(device, "key");
    record.device.name = text_at(device, "name");
    const Json& capability = device.at("compute_capability");
    record.device.compute_capability = {small(capability.at(0)), small(capability.at(1))};
    record.device.model = value.value("model", std::string());
    if (value.contains("devices")) record.devices = std::max(record.devices, small(value["devices"]));
    record.on_gpu = value.contains("on") && value["on"] == "gpu";
    if (!record.started) record.program = text_at(value, "program");
    record.started = true;
    record.complete = false;
    last_pid_ = value.contains("pid") ? unsigned_at(value, "pid") : 0;
    const auto [entry, fresh] = numbers_.try_emplace(last_pid_, record.processes.size());
    if (fresh) {
      record.processes.push_back({.pid = last_pid_, .command = value.value("command", std::string())});
      if (value.contains("rank")) {
        record.processes.back().rank = small(value["rank"]);
        record.ranks = std::max(record.ranks, small(value.at("ranks")));
      }
      kernels_.emplace_back();
    }
    record.processes[entry->second].ended = false;
    kernels_[entry->second].clear();
  }

  void kernel(const Json& value) {
    Kernel kernel{.mangled = text_at(value, "name"), .full = "", .short_name = ""};
    kernel.full = demangle(kernel.mangled);
    kernel.short_name = shorten(kernel.full);
    auto [entry, fresh] = by_name_.try_emplace(kernel.mangled, record.kernels.size());
    if (fresh) record.kernels.push_back(std::move(kernel));
    kernels_[number(value)][unsigned_at(value, "kernel")] = {entry->second, nullptr, nullptr};
  }

  void launch(const Json& value) {
    const std::size_t from = number(value);
    const auto known = kernels_[from].find(unsigned_at(value, "kernel"));
    if (known == kernels_[from].end()) malformed("a launch of a kernel that was not named before");
    Launch launch;
    launch.kernel = known->second.index;
    launch.process = from;
    ++record.processes[from].launches;
    launch.grid = triple_at(value, "grid");
    launch.block = triple_at(value, "block");
    launch.dynamic_shared_bytes = unsigned_at(value, "dynamic_shared_bytes");
    if (value.contains("seconds") && value["seconds"].is_number()) launch.seconds = value["seconds"].get<double>();
    if (value.contains("device")) {
      launch.device = small(value["device"]);
      launch.peer_bytes = unsigned_at(value, "peer_bytes");
    }
    if (value.contains("fault")) launch.fault = text_at(value, "fault");
    launch.interrupted = value.contains("interrupted") && value["interrupted"] == true;
    const Json& counters = value.at("counters");
    launch.counters = counters_of(counters, !record.on_gpu);
    if (record.on_gpu) launch.known = named(counters);
    if (value.contains("times")) {
      launch.cold = value["times"].at("cold").get<std::vector<double>>();
      launch.warm = value["times"].at("warm").get<std::vector<double>>();
    }
    auto& time = known->second.time;
    if (value.contains("time"))
      time = value["time"].is_null() ? nullptr : std::make_shared<machine::TimeEstimate>(estimate_of(value["time"]));
    launch.time = time;
    auto& last = known->second.lines;
    if (value.contains("lines")) last = lines_of(value["lines"]);
    if (!last) last = std::make_shared<Lines>();
    launch.lines = last;
    record.launches.push_back(std::move(launch));
  }

  struct Known {
    std::size_t index;
    std::shared_ptr<const Lines> lines;  // of its last launch
    std::shared_ptr<const machine::TimeEstimate> time;
  };
  std::vector<std::unordered_map<uint64_t, Known>> kernels_;  // of each process
  std::unordered_map<uint64_t, std::size_t> numbers_;         // of processes by pid
  uint64_t last_pid_ = 0;
  std::unordered_map<std::string, std::size_t> by_name_;
};

constexpr const char* kUnreadable = "No launch could be read.";  // none is known, which is not: there was none

}  // namespace

uint64_t Launch::threads() const { return uint64_t{grid[0]} * grid[1] * grid[2] * block[0] * block[1] * block[2]; }

uint64_t Launch::warps() const {
  const uint64_t blocks = uint64_t{grid[0]} * grid[1] * grid[2];
  return blocks * ((uint64_t{block[0]} * block[1] * block[2] + 31) / 32);
}

bool Record::interrupted() const {
  return std::any_of(launches.begin(), launches.end(), [](const Launch& launch) { return launch.interrupted; });
}

const Launch* Record::faulted() const {
  for (const Launch& launch : launches) {
    if (!launch.fault.empty()) return &launch;
  }
  return nullptr;
}

void Record::append(Record&& other) {
  std::unordered_map<std::string, std::size_t> known;
  for (std::size_t k = 0; k < kernels.size(); ++k) known.emplace(kernels[k].mangled, k);
  std::vector<std::size_t> kernel_of;
  for (Kernel& kernel : other.kernels) {
    const auto [entry, fresh] = known.try_emplace(kernel.mangled, kernels.size());
    kernel_of.push_back(entry->second);
    if (fresh) kernels.push_back(std::move(kernel));
  }
  for (Launch& launch : other.launches) {
    launch.kernel = kernel_of[launch.kernel];
    launch.process += processes.size();
    launches.push_back(std::move(launch));
  }
  std::move(other.processes.begin(), other.processes.end(), std::back_inserter(processes));
  std::move(other.notes.begin(), other.notes.end(), std::back_inserter(notes));
  std::move(other.diagnostics.begin(), other.diagnostics.end(), std::back_inserter(diagnostics));
  if (!other.copies.is_null()) add_copies(copies, other.copies);
  if (damage.empty()) damage = other.damage;
  if (!other.damage.empty()) none = other.none;
  if (!started) device = other.device, program = other.program;
  complete = (complete || !started) && (other.complete || !other.started);
  started |= other.started;
  ranks = std::max(ranks, other.ranks);
  devices = std::max(devices, other.devices);
  sort_ranks(*this);
}

Record read_record(std::istream& in) {
  Reader reader;
  std::string text;
  for (uint64_t number = 1; std::getline(in, text); ++number) {
    if (text.empty()) continue;
    try {
      reader.line(text);
    } catch (const std::exception& error) {
      // No newline behind the last line: the program died while writing it.
      if (!in.eof()) reader.record.damage = "line " + std::to_string(number) + ": " + error.what();
      break;
    }
  }
  if (!reader.record.damage.empty()) reader.record.none = kUnreadable;
  sort_ranks(reader.record);
  return std::move(reader.record);
}

std::optional<Record> read_record_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return std::nullopt;
  Record record = read_record(in);
  struct stat status{};
  if (stat((path + kTruncated).c_str(), &status) == 0 && record.damage.empty())
    record.damage = "there was no room for it (TMPDIR names another folder)", record.none = kUnreadable;
  return record;
}

}  // namespace coalesce::record
