#include "native/park.h"

#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>

namespace coalesce::native {
namespace {

// Never destroyed: used while the process ends.
struct Parking {
  std::mutex mutex;
  std::condition_variable changed;
  int compiling = 0;  // threads that are, and have not parked
  bool ending = false;
};
Parking& parking() {
  static Parking* the = new Parking;
  return *the;
}

// A pass takes milliseconds; should one of a huge kernel take longer than this, the end does not wait for it.
constexpr auto kLongestPass = std::chrono::milliseconds(500);

void end() {
  Parking& p = parking();
  std::unique_lock lock(p.mutex);
  p.ending = true;
  p.changed.wait_for(lock, kLongestPass, [&] { return p.compiling == 0; });
}

}  // namespace

Compiling::Compiling() {
  {
    const std::lock_guard lock(parking().mutex);
    ++parking().compiling;
  }
  park_here(nullptr);
}

Compiling::~Compiling() {
  const std::lock_guard lock(parking().mutex);
  --parking().compiling;
  parking().changed.notify_all();
}

void park_at_exit() { std::atexit(end); }

void park_here(void*) {
  Parking& p = parking();
  std::unique_lock lock(p.mutex);
  if (!p.ending) return;
  --p.compiling;
  p.changed.notify_all();
  lock.unlock();
  for (;;) pause();
}

}  // namespace coalesce::native
