// The objects of a context: streams, events, graphs, arrays ... Each file of the API keeps its own in a struct; the
// runtime owns them all and clears them all at once (cudaDeviceReset).
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace coalesce::cudart {

class Objects {
 public:
  // The context's T, made when it is first asked for. Under the lock.
  template <typename T>
  T& get() {
    static const size_t slot = next_slot();
    if (slot >= all_.size()) all_.resize(slot + 1);
    if (all_[slot] == nullptr) all_[slot] = std::make_shared<T>();
    return *static_cast<T*>(all_[slot].get());
  }

  // Objects that are being destroyed may ask for others, and get new ones.
  void clear() {
    for (bool any = true; any;) {
      any = false;
      for (size_t slot = 0; slot < all_.size(); ++slot) {
        const std::shared_ptr<void> gone = std::move(all_[slot]);
        any = any || gone != nullptr;
      }
    }
  }

 private:
  static size_t next_slot();

  std::vector<std::shared_ptr<void>> all_;
};

}  // namespace coalesce::cudart
