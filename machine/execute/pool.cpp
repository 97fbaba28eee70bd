#include "machine/execute/pool.h"

#include <algorithm>
#include <chrono>
#include <system_error>
#include <utility>

namespace coalesce::machine {

// Pauses a thread that polls a variable: leaves the core to its other half.
static void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

constexpr unsigned kMostThreads = 65536;  // Pool::call_

// A container may limit how many can be started: then there are fewer.
Pool::Pool(unsigned threads) : kept_(std::max(1u, threads)), places_(std::max(1u, threads)) {
  try {
    for (unsigned k = 1; k < std::min(threads, kMostThreads - 1); ++k) threads_.emplace_back([this, k] { loop(k); });
  } catch (const std::system_error&) {  // NOLINT(bugprone-empty-catch): see above
  }
}

Pool::~Pool() {
  call_.store((call_.load(std::memory_order_relaxed) / kMostThreads + 1) * kMostThreads, std::memory_order_release);
  call_.notify_all();
  for (std::thread& t : threads_) t.join();
}

// Linux may wake a thread on the core of the one that wakes it, which is busy, and move it only after 3 to 6 ms, as
// long as many launches take. So a thread that would come back to the caller's core is told to begin on another.
void Pool::keep_apart(unsigned n) {
  const int here = sched_getcpu();
  for (unsigned k = 1; k < n; ++k) {
    Place& place = places_[k];
    if (here < 0 || here >= CPU_SETSIZE || place.core.load(std::memory_order_relaxed) != here) continue;
    const pthread_t thread = threads_[k - 1].native_handle();
    if (pthread_getaffinity_np(thread, sizeof place.cores, &place.cores) != 0) continue;
    cpu_set_t others = place.cores;
    CPU_CLR(here, &others);
    if (CPU_COUNT(&others) > 0 && pthread_setaffinity_np(thread, sizeof others, &others) == 0)
      place.apart.store(true, std::memory_order_release);
  }
}

// A call takes no lock: threads that are awake see it by polling, and a lock that the caller still holds would put them
// to sleep.
void Pool::run(unsigned n, const std::function<void(unsigned)>& job) {
  n = std::min(n, size());
  if (n > 1) {
    keep_apart(n);
    job_ = &job;
    left_.store(n - 1, std::memory_order_relaxed);
    call_.store((call_.load(std::memory_order_relaxed) / kMostThreads + 1) * kMostThreads + n,
                std::memory_order_release);
    call_.notify_all();
  }
  work(0, job);
  if (n > 1) {
    // The others are through within microseconds, as a rule; to be woken for it would take 20 to 70 of them.
    const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(50);
    while (left_.load(std::memory_order_acquire) != 0 && std::chrono::steady_clock::now() < until) pause();
    while (const uint32_t left = left_.load(std::memory_order_acquire)) left_.wait(left, std::memory_order_acquire);
  }
  std::exception_ptr first;
  for (unsigned k = n; k-- > 0;)
    if (std::exception_ptr thrown = std::exchange(places_[k].thrown, nullptr)) first = thrown;
  if (first) std::rethrow_exception(first);
}

void Pool::work(unsigned number, const std::function<void(unsigned)>& job) {
  try {
    job(number);
  } catch (...) {
    places_[number].thrown = std::current_exception();
  }
}

// Programs launch kernel after kernel, and a sleeping thread wakes within 20 to 40 us, as long as a launch of thousands
// of instructions takes. So a thread stays awake for a while, and yields its core to others.
uint64_t Pool::next_call(uint64_t seen) const {
  constexpr auto kAwake = std::chrono::microseconds(200);
  constexpr int kPauses = 16;
  const auto until = std::chrono::steady_clock::now() + kAwake;
  uint64_t call = 0;
  while ((call = call_.load(std::memory_order_acquire)) == seen && std::chrono::steady_clock::now() < until) {
    for (int k = 0; k < kPauses; ++k) pause();
    std::this_thread::yield();
  }
  while (call == seen) {
    call_.wait(seen, std::memory_order_acquire);
    call = call_.load(std::memory_order_acquire);
  }
  return call;
}

void Pool::loop(unsigned number) {
  for (uint64_t call = 0;;) {
    call = next_call(call);
    const uint64_t wanted = call % kMostThreads;
    if (wanted == 0) return;
    if (number >= wanted) continue;
    Place& place = places_[number];
    if (place.apart.exchange(false, std::memory_order_acquire))
      pthread_setaffinity_np(pthread_self(), sizeof place.cores, &place.cores);
    work(number, *job_);
    place.core.store(sched_getcpu(), std::memory_order_relaxed);
    if (left_.fetch_sub(1, std::memory_order_acq_rel) == 1) left_.notify_one();
  }
}

}  // namespace coalesce::machine
