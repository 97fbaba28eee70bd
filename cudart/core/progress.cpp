#include "cudart/core/progress.h"

#include <cxxabi.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>

namespace coalesce::cudart {
namespace {

using Clock = std::chrono::steady_clock;

// The kernel's short name: demangled, without arguments.
std::string short_name(std::string_view mangled) {
  const std::string name(mangled);
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status),
                                                         &std::free);
  std::string shown = status == 0 && text != nullptr ? text.get() : name;
  if (const size_t end = shown.find('('); end != std::string::npos) shown.resize(end);
  if (shown.starts_with("void ")) shown.erase(0, 5);
  if (shown.size() > 50) shown.replace(47, std::string::npos, "...");
  return shown;
}

// Lives as long as the process: its thread may draw while static objects are destroyed.
struct Display {
  std::mutex mutex;
  std::condition_variable change;
  std::string kernel;
  Clock::time_point start;
  uint64_t launch = 0;  // counts launches, so that a line is never drawn for one that is over
  uint64_t done = 0, total = 0;
  bool running = false, drawn = false;
  pid_t owner = 0;  // the process that has the thread; a forked child draws nothing

  void draw() {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - start).count();
    const double percent = total == 0 ? 0 : 100.0 * static_cast<double>(done) / static_cast<double>(total);
    std::fprintf(stderr, "\r\033[K%s  %.0f %% of blocks  %lld s", kernel.c_str(), percent,
                 static_cast<long long>(seconds));
    std::fflush(stderr);
    drawn = true;
  }

  void loop() {
    std::unique_lock lock(mutex);
    for (;;) {
      change.wait(lock, [&] { return running; });
      const uint64_t own = launch;
      const auto over = [&] { return !running || launch != own; };
      if (!change.wait_for(lock, std::chrono::seconds(1), over)) draw();
    }
  }
};

Display& display() {
  static Display& the = *new Display;
  return the;
}

}  // namespace

void begin_progress(std::string_view kernel) {
  Display& d = display();
  const std::lock_guard lock(d.mutex);
  if (d.owner == 0) {
    d.owner = getpid();
    try {
      std::thread([&d] { d.loop(); }).detach();
    } catch (const std::system_error&) {  // no thread, no line
      return;
    }
  }
  if (getpid() != d.owner) return;
  d.kernel = short_name(kernel);
  d.start = Clock::now();
  d.done = d.total = 0;
  ++d.launch;
  d.running = true;
  d.change.notify_one();
}

void note_progress(std::string_view, uint64_t done, uint64_t total) {
  Display& d = display();
  const std::lock_guard lock(d.mutex);
  d.done = done;
  d.total = total;
}

void end_progress() {
  Display& d = display();
  const std::lock_guard lock(d.mutex);
  d.running = false;
  d.change.notify_one();
  if (!d.drawn) return;
  std::fputs("\r\033[K", stderr);
  std::fflush(stderr);
  d.drawn = false;
}

}  // namespace coalesce::cudart
