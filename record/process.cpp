#include "record/process.h"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>

namespace coalesce::record {
namespace {

// Null: this kernel has no such memory (Linux before 4.14).
pid_t* wiped_by_fork() {
  constexpr size_t kPage = 4096;
  void* page = mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return nullptr;
  if (madvise(page, kPage, MADV_WIPEONFORK) == 0) return static_cast<pid_t*>(page);
  munmap(page, kPage);
  return nullptr;
}

}  // namespace

pid_t this_process() {
  static pid_t* const place = wiped_by_fork();
  if (place == nullptr) return getpid();
  const std::atomic_ref<pid_t> kept(*place);
  pid_t number = kept.load(std::memory_order_relaxed);
  if (number == 0) kept.store(number = getpid(), std::memory_order_relaxed);
  return number;
}

}  // namespace coalesce::record
