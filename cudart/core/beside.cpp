#include "cudart/core/beside.h"

#include <utility>

namespace coalesce::cudart {

bool Beside::start(std::function<cudaError_t()> work) {
  thread_ = std::thread([this, work = std::move(work)] {
    const cudaError_t error = work();
    const std::lock_guard lock(mutex_);
    error_ = error;
    ended_ = true;
    changed_.notify_all();
  });
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return ended_ || waits_; });
  return ended_;
}

void Beside::wait() {
  const std::lock_guard lock(mutex_);
  waits_ = true;
  changed_.notify_all();
}

void Beside::stuck() {
  const std::lock_guard lock(mutex_);
  stuck_ = true;
  changed_.notify_all();
}

bool Beside::ends() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return ended_ || stuck_; });
  return ended_;
}

bool Beside::ended() {
  const std::lock_guard lock(mutex_);
  return ended_;
}

cudaError_t Beside::finish() {
  thread_.join();
  return error_;
}

}  // namespace coalesce::cudart
