#include "gpu/session.h"

#include <errno.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "gpu/memory.h"

namespace coalesce::gpu {
namespace {

constexpr const char* kPaths[] = {"h2d", "d2h", "d2d", "h2h"};
// A launch's repetitions may take so long in all.
constexpr double kMostSeconds = 2;
constexpr const char* kGraphs = "launches of graphs are not measured";

uint64_t number_from(const char* variable, uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text && *text ? std::strtoull(text, nullptr, 10) : otherwise;
}

std::vector<std::string> words_from(const char* variable) {
  std::vector<std::string> words;
  const char* text = std::getenv(variable);
  for (std::string rest = text ? text : ""; !rest.empty();) {
    const auto comma = rest.find(',');
    if (comma != 0) words.push_back(rest.substr(0, comma));
    rest = comma == std::string::npos ? "" : rest.substr(comma + 1);
  }
  return words;
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\', out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", c);
      out += escape;
    } else {
      out += c;
    }
  }
  return out + '"';
}

// Nanoseconds as a JSON number of seconds, whatever the program's locale writes between them.
std::string seconds_text(double seconds) {
  const long long n = std::llround(seconds * 1e9);
  char text[40];
  std::snprintf(text, sizeof text, "%lld.%09lld", n / 1000000000, n % 1000000000);
  return text;
}

std::string seconds_list(const std::vector<double>& seconds) {
  std::string out;
  for (const double s : seconds) out += (out.empty() ? "" : ",") + seconds_text(s);
  return '[' + out + ']';
}

std::string triple(const dim3& d) {
  return '[' + std::to_string(d.x) + ',' + std::to_string(d.y) + ',' + std::to_string(d.z) + ']';
}

std::string counters_text(const Reading& reading) {
  std::string out;
  for (size_t row = 0; row < reading.read.size(); ++row) {
    if (!reading.read[row]) continue;
    const auto& r = machine::kCounterRows[row];
    out += (out.empty() ? "" : ",") + quoted(std::string(r.name)) + ':' + std::to_string(reading.counters.*r.field);
  }
  return '{' + out + '}';
}

// What we do on the program's behalf must not be measured as if it had done it.
thread_local bool inside = false;

}  // namespace

Session& Session::get() {
  static Session& session = *new Session;  // used from destructors of the program's that run after ours would
  return session;
}

Session::Session() {
  const char* path = std::getenv("COALESCE_GPU_RECORD");
  if (!path || !*path) return;
  file_.open(path);
  if (!file_.active()) return;
  repeat_ = static_cast<int>(number_from("COALESCE_GPU_REPEAT", 0));
  most_launches_ = number_from("COALESCE_GPU_LAUNCHES", 100);
  plain_ = number_from("COALESCE_GPU_PLAIN", 0) != 0;
  want_counters_ = number_from("COALESCE_GPU_COUNTERS", 0) != 0 || !words_from("COALESCE_GPU_METRICS").empty();
}

bool Session::active() const { return file_.active() && !inside; }

void Session::write(const std::string& text) { file_.write(text + '\n'); }

void Session::begin() {
  if (begun_) return;
  begun_ = true;
  runtime().cudaFree(nullptr);  // makes the context
  const DeviceFacts facts = device_facts();
  write("{\"record\":\"coalesce.record/1\",\"on\":\"gpu\",\"device\":{\"key\":\"gpu\",\"name\":" + quoted(facts.name) +
        ",\"compute_capability\":[" + std::to_string(facts.major) + ',' + std::to_string(facts.minor) +
        "],\"l2_bytes\":" + std::to_string(facts.l2_bytes) + "},\"program\":" + quoted(program_invocation_name) +
        ",\"pid\":" + std::to_string(getpid()) + '}');
  if (plain_) return;
  timer_ = std::make_unique<Timer>(facts);
  collected_ = Clock::now();
  if (!want_counters_) return;
  void* context = nullptr;
  if (driver()) driver()->cuCtxGetCurrent(&context);
  std::string why;
  counters_ = HardwareCounters::open(context, facts.index,
                                     {.ours = number_from("COALESCE_GPU_COUNTERS", 0) != 0,
                                      .extra = words_from("COALESCE_GPU_METRICS"),
                                      .most = number_from("COALESCE_GPU_BATCH", 32)},
                                     why);
  if (!counters_) note("no hardware counters: " + why);
  // Handlers run in the opposite order of their registration: this one before the driver's, which is registered by now.
  static const int registered = std::atexit([] { Session::get().end(); });
  static_cast<void>(registered);
}

void Session::note(const std::string& text) {
  if (!file_.active() || !notes_.try_emplace(text, true).second) return;
  write("{\"note\":" + quoted(text) + '}');
}

uint32_t Session::kernel_number(const void* function) {
  const auto [entry, fresh] = kernels_.try_emplace(function, static_cast<uint32_t>(kernels_.size()));
  if (fresh) {
    const char* name = nullptr;
    if (!runtime().cudaFuncGetName || runtime().cudaFuncGetName(&name, function) != cudaSuccess) name = nullptr;
    write("{\"kernel\":" + std::to_string(entry->second) + ",\"name\":" + quoted(name ? name : "kernel") + '}');
  }
  return entry->second;
}

void Session::begin_span() {
  if (!spanning_) first_ = Clock::now();
  spanning_ = true;
}
void Session::end_span() { last_ = Clock::now(); }

cudaError_t Session::launch(const Launch& l, const std::function<cudaError_t()>& run) {
  if (!active()) return run();
  const std::lock_guard lock(mutex_);
  inside = true;
  struct Leave {
    ~Leave() { inside = false; }
  } leave;
  begin();
  int capturing = 0;
  if (runtime().cudaStreamIsCapturing && runtime().cudaStreamIsCapturing(l.stream, &capturing) == cudaSuccess &&
      capturing != 0) {
    note(kGraphs);
    return run();
  }
  const uint32_t kernel = kernel_number(l.function);
  begin_span();
  if (plain_ || launched_[kernel]++ >= most_launches_) {
    if (!plain_) {
      collect();
      note("of each kernel the first " + std::to_string(most_launches_) + " launches were measured");
    }
    return run();
  }
  runtime().cudaDeviceSynchronize();
  cudaError_t result = cudaSuccess;
  const auto go = [&] {
    if (result == cudaSuccess) result = run();
  };
  Times times;
  if (repeat_ > 0) {
    collect();  // the repetitions must not be counted
    if (device_memory().save()) {
      times = timer_->measure(go, l.stream, repeat_, kMostSeconds);
      device_memory().restore();
      device_memory().drop();
    } else {
      note("a launch was not repeated: no room to keep a copy of the program's memory");
    }
  }
  double seconds = 0;
  bool ran = false;
  if (counters_ && result == cudaSuccess) {
    std::string why;
    ran = counters_->launch(go, why);
    if (!ran) no_counters(why);
  }
  if (!ran && result == cudaSuccess) seconds = timer_->once(go, l.stream);
  if (result != cudaSuccess) return result;  // it never ran; the program is told
  const cudaError_t after = runtime().cudaDeviceSynchronize();
  std::string line = "{\"launch\":" + std::to_string(launches_++) + ",\"kernel\":" + std::to_string(kernel) +
                     ",\"grid\":" + triple(l.grid) + ",\"block\":" + triple(l.block) +
                     ",\"dynamic_shared_bytes\":" + std::to_string(l.shared) + ",\"seconds\":" + seconds_text(seconds) +
                     ",\"fault\":" + quoted(after == cudaSuccess ? "" : "error " + std::to_string(after));
  if (!times.cold.empty())
    line += ",\"times\":{\"cold\":" + seconds_list(times.cold) + ",\"warm\":" + seconds_list(times.warm) + '}';
  waiting_.push_back(std::move(line));
  // A program that is killed should not lose more than a second's launches.
  if (!ran || counters_->full() || Clock::now() - collected_ > std::chrono::seconds(1)) collect();
  return result;
}

void Session::no_counters(const std::string& why) {
  note("no hardware counters: " + why);
  counters_.reset();
}

void Session::collect() {
  std::vector<Reading> readings;
  std::string why;
  if (counters_ && !counters_->collect(readings, why)) no_counters(why);
  // Launches that ran without being counted come first: they are why this was called before.
  const size_t uncounted = waiting_.size() - std::min(waiting_.size(), readings.size());
  for (size_t i = 0; i < waiting_.size(); ++i) {
    const Reading none, &reading = i < uncounted ? none : readings[i - uncounted];
    std::string line = waiting_[i] + ",\"counters\":" + counters_text(reading);
    if (!reading.extra.empty()) {
      std::string extra;
      for (const auto& [name, value] : reading.extra)
        extra += (extra.empty() ? "" : ",") + quoted(name) + ':' + std::to_string(std::llround(value));
      line += ",\"metrics\":{" + extra + '}';
    }
    write(line + '}');
  }
  waiting_.clear();
  collected_ = Clock::now();
}

cudaError_t Session::copy(Path path, size_t bytes, bool waits, const std::function<cudaError_t()>& run) {
  if (!active()) return run();
  {
    const std::lock_guard lock(mutex_);
    inside = true;
    begin();
    inside = false;
    begin_span();
  }
  const auto from = Clock::now();
  const cudaError_t result = run();
  const std::lock_guard lock(mutex_);
  end_span();
  Copies& c = copies_[path];
  ++c.calls;
  c.bytes += bytes;
  if (waits) c.seconds += std::chrono::duration<double>(last_ - from).count();
  return result;
}

cudaError_t Session::wait(const std::function<cudaError_t()>& run) {
  const cudaError_t result = run();
  if (active()) {
    const std::lock_guard lock(mutex_);
    end_span();
  }
  return result;
}

cudaError_t Session::graph(const std::function<cudaError_t()>& run) {
  if (!active()) return run();
  const std::lock_guard lock(mutex_);
  inside = true;
  begin();
  collect();  // its kernels must not be counted as ours
  inside = false;
  note(kGraphs);
  begin_span();
  return run();
}

cudaError_t Session::reset(const std::function<cudaError_t()>& run) {
  if (!active() || !begun_) return run();
  const std::lock_guard lock(mutex_);
  inside = true;
  collect();
  const cudaError_t result = run();
  end_span();
  // The context is gone, and with it all that was made in it; a new header tells that kernels' numbers begin anew.
  begun_ = false;
  counters_.reset();
  timer_.reset();
  kernels_.clear();
  launched_.clear();
  device_memory().forget();
  inside = false;
  return result;
}

void Session::end() {
  if (!active() || launches_ + waiting_.size() + spanning_ == 0) return;
  const std::lock_guard lock(mutex_);
  collect();
  std::string copies;
  for (size_t i = 0; i < 4; ++i) {
    copies += (i ? ",\"" : "\"") + std::string(kPaths[i]) + "\":{\"calls\":" + std::to_string(copies_[i].calls) +
              ",\"bytes\":" + std::to_string(copies_[i].bytes) + ",\"seconds\":" + seconds_text(copies_[i].seconds) +
              '}';
  }
  write("{\"copies\":{" + copies + "}}");
  if (spanning_ && last_ > first_)
    write("{\"span\":" + seconds_text(std::chrono::duration<double>(last_ - first_).count()) + '}');
  write("{\"end\":true}");
  file_.close();
}

}  // namespace coalesce::gpu
