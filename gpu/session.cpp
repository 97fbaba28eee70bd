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

std::array<uint32_t, 3> triple(const dim3& d) { return {d.x, d.y, d.z}; }

// An empty reading: no counter is known.
void add_reading(record::LaunchEntry& launch, const Reading& reading) {
  launch.counters = reading.counters;
  launch.known = 0;
  for (size_t row = 0; row < reading.read.size(); ++row)
    if (reading.read[row]) launch.known |= uint64_t{1} << row;
  launch.metrics = reading.extra;
}

// True while this library calls CUDA itself, or NVIDIA's runtime calls the driver: such calls are not the program's and
// are not measured.
thread_local bool inside = false;

// The runtime makes its context at the first call that needs one.
void make_context() {
  if (current_context()) return;
  using Free = cudaError_t (*)(void*);
  if (const auto free = reinterpret_cast<Free>(next_symbol("cudaFree"))) free(nullptr);
}

std::string name_of(const Session::Launch& launch) {
  const char* name = nullptr;
  if (launch.by_runtime) {
    using Name = cudaError_t (*)(const char**, const void*);
    static const auto get = reinterpret_cast<Name>(next_symbol("cudaFuncGetName"));
    if (!get || get(&name, launch.function) != cudaSuccess) name = nullptr;
  } else {
    void* function = const_cast<void*>(launch.function);  // CUfunction, or CUkernel in its place
    for (const auto get : {driver()->cuFuncGetName, driver()->cuKernelGetName})
      if (!name && (!get || get(&name, function) != 0)) name = nullptr;
  }
  return name ? name : "kernel";
}

}  // namespace

Session& Session::get() {
  static Session& session = *new Session;  // used from destructors of the program's that run after ours would
  return session;
}

Session::Session() {
  const char* path = std::getenv("COALESCE_GPU_RECORD");
  if (!path || !*path) return;
  record_.open(path);
  if (!record_.active()) return;
  repeat_ = static_cast<int>(number_from("COALESCE_GPU_REPEAT", 0));
  most_launches_ = number_from("COALESCE_GPU_LAUNCHES", 100);
  plain_ = number_from("COALESCE_GPU_PLAIN", 0) != 0;
  want_counters_ = number_from("COALESCE_GPU_COUNTERS", 0) != 0 || !words_from("COALESCE_GPU_METRICS").empty();
}

bool Session::active() const { return record_.active() && !inside && driver() != nullptr; }

void Session::begin() {
  if (begun_) return;
  begun_ = true;
  context_ = current_context();
  const DeviceFacts facts = device_facts();
  record_.header({.key = "gpu",
                  .name = facts.name,
                  .major = static_cast<unsigned>(facts.major),
                  .minor = static_cast<unsigned>(facts.minor),
                  .on_gpu = true,
                  .l2_bytes = facts.l2_bytes});
  if (plain_) return;
  timer_ = std::make_unique<Timer>(facts);
  collected_ = Clock::now();
  if (!want_counters_) return;
  std::string why;
  counters_ = HardwareCounters::open(context_, facts.index,
                                     {.ours = number_from("COALESCE_GPU_COUNTERS", 0) != 0,
                                      .extra = words_from("COALESCE_GPU_METRICS"),
                                      .most = number_from("COALESCE_GPU_BATCH", 32)},
                                     why);
  if (!counters_) note("no hardware counters: " + why);
  // Handlers run in the opposite order of their registration: this one before the driver's, which is registered by now.
  static const int registered = std::atexit([] { Session::get().end(); });
  static_cast<void>(registered);
}

void Session::say(const std::string& text) {
  if (!active()) return;
  const std::lock_guard lock(mutex_);
  inside = true;
  begin();
  inside = false;
  note(text);
}

void Session::note(const std::string& text) {
  if (record_.active() && notes_.insert(text).second) record_.note(text);
}

uint32_t Session::kernel_number(const Launch& launch) {
  const auto [entry, fresh] = kernels_.try_emplace(launch.function, static_cast<uint32_t>(kernels_.size()));
  if (fresh) record_.name_kernel(entry->second, name_of(launch));
  return entry->second;
}

void Session::begin_span() {
  if (!spanning_) first_ = Clock::now();
  spanning_ = true;
}
void Session::end_span() { last_ = Clock::now(); }

int Session::launch(const Launch& l, const std::function<int()>& run) {
  if (!active()) return run();
  const std::lock_guard lock(mutex_);
  inside = true;
  struct Leave {
    ~Leave() { inside = false; }
  } leave;
  if (l.by_runtime) make_context();
  if (!current_context()) return run();  // the program is told
  begin();
  int capturing = 0;
  if (driver()->cuStreamIsCapturing(l.stream, &capturing) == 0 && capturing != 0) {
    note(kGraphs);
    return run();
  }
  if (current_context() != context_) {
    note("launches in further contexts are not measured");
    return run();
  }
  const uint32_t kernel = kernel_number(l);
  begin_span();
  if (plain_ || launched_[kernel]++ >= most_launches_) {
    if (!plain_) {
      collect();
      note("of each kernel the first " + std::to_string(most_launches_) + " launches were measured");
    }
    return run();
  }
  driver()->cuCtxSynchronize();
  int result = 0;
  const auto go = [&] {
    if (result == 0) result = run();
  };
  Times times;
  if (repeat_ > 0) {
    collect();  // the repetitions must not be counted
    if (device_memory().save()) {
      times = timer_->measure(go, l.stream, repeat_, kMostSeconds);
      device_memory().restore();
      device_memory().drop();
    } else {
      note("a launch was not repeated: the program's memory cannot be kept and put back");
    }
  }
  double seconds = 0;
  bool ran = false;
  if (counters_ && result == 0) {
    std::string why;
    ran = counters_->launch(go, why);
    if (!ran) no_counters(why);
  }
  if (!ran && result == 0) seconds = timer_->once(go, l.stream);
  if (result != 0) return result;  // it never ran; the program is told
  const int after = driver()->cuCtxSynchronize();
  waiting_.push_back({.kernel = kernel,
                      .grid = triple(l.grid),
                      .block = triple(l.block),
                      .dynamic_shared_bytes = l.shared,
                      .seconds = seconds,
                      .fault = after == 0 ? "" : "error " + std::to_string(after),
                      .cold = std::move(times.cold),
                      .warm = std::move(times.warm)});
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
    add_reading(waiting_[i], i < uncounted ? Reading() : readings[i - uncounted]);
    record_.launch(waiting_[i]);
  }
  waiting_.clear();
  collected_ = Clock::now();
}

int Session::copy(record::CopyPath path, size_t bytes, bool waits, const std::function<int()>& run) {
  if (!active()) return run();
  inside = true;
  struct Leave {
    ~Leave() { inside = false; }
  } leave;
  make_context();
  if (!current_context()) return run();
  {
    const std::lock_guard lock(mutex_);
    begin();
    begin_span();
  }
  const auto from = Clock::now();
  const int result = run();
  const std::lock_guard lock(mutex_);
  end_span();
  record_.copy(path, bytes, waits ? std::chrono::duration<double>(last_ - from).count() : 0);
  return result;
}

int Session::wait(const std::function<int()>& run) {
  const int result = run();
  if (active()) {
    const std::lock_guard lock(mutex_);
    end_span();
  }
  return result;
}

int Session::graph(const std::function<int()>& run) {
  if (!active()) return run();
  const std::lock_guard lock(mutex_);
  inside = true;
  struct Leave {
    ~Leave() { inside = false; }
  } leave;
  make_context();
  if (!current_context()) return run();
  begin();
  collect();  // its kernels must not be counted as ours
  note(kGraphs);
  begin_span();
  return run();
}

int Session::leave(void* context, const std::function<int()>& run, const std::function<bool()>& gone) {
  if (!active() || !begun_ || context != context_) return run();
  const std::lock_guard lock(mutex_);
  inside = true;
  struct Leave {
    ~Leave() { inside = false; }
  } leave;
  collect();
  const int result = run();
  end_span();
  if (!gone()) return result;
  // With the context all that was made in it is gone; a new header tells that kernels' numbers begin anew.
  begun_ = false;
  context_ = nullptr;
  counters_.reset();
  timer_.reset();
  kernels_.clear();
  launched_.clear();
  device_memory().forget(context);
  return result;
}

void Session::end() {
  if (!active() || record_.launches() + waiting_.size() + spanning_ == 0) return;
  const std::lock_guard lock(mutex_);
  collect();
  record_.end(spanning_ && last_ > first_ ? std::chrono::duration<double>(last_ - first_).count() : 0);
}

}  // namespace coalesce::gpu
