// For tests of what happens where a process may start no thread, as in a container that limits them.
#pragma once

#include <gtest/gtest.h>
#include <pthread.h>

namespace coalesce {

// While it lives pthread_create fails with EAGAIN: no address space holds such a stack.
class NoThreads {
 public:
  NoThreads() {
    pthread_getattr_default_np(&before_);
    pthread_attr_t much = before_;
    EXPECT_EQ(pthread_attr_setstacksize(&much, std::size_t{1} << 47), 0);
    EXPECT_EQ(pthread_setattr_default_np(&much), 0);
  }
  ~NoThreads() { pthread_setattr_default_np(&before_); }
  NoThreads(const NoThreads&) = delete;
  NoThreads& operator=(const NoThreads&) = delete;

 private:
  pthread_attr_t before_;
};

}  // namespace coalesce
