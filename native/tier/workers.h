// The threads that compile: one for each priority. A kernel may be with both; the first to be through finishes it.
//
// LLVM may not return, and nothing can stop it. A thread that works at one kernel for longer than `timeout` is
// abandoned: its kernel is interpreted, another thread takes its queue, and it touches nothing of the engine should it
// return.
#pragma once

#include <chrono>
#include <deque>
#include <memory>
#include <thread>

#include "native/tier/board.h"
#include "native/tier/policy.h"
#include "native/tier/settings.h"
#include "native/tier/store.h"

namespace coalesce::native {

class Workers {
 public:
  // All must outlive the workers.
  Workers(const Settings& settings, const ObjectStore& store, Board& board);
  // Waits for what is being compiled, but no longer than the time-out. board.stop must be set.
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  // All under the board's lock.
  // Nothing where it is being compiled with that priority already.
  void queue(const std::shared_ptr<Entry>& e, Priority priority);
  // Threads that have used more of a core's time than the time-out.
  void abandon_overdue();
  // The foreground's, if it has been at one kernel for so long by the clock, whatever it was given of a core.
  void abandon_late();

 private:
  // The place of a compiling thread. Both sides share it, because either may end first.
  struct Seat {
    std::mutex mutex;
    bool inside = false, abandoned = false;  // inside the compiler
    int thread_id = 0;                       // Linux's
  };
  struct Worker {
    std::deque<std::shared_ptr<Entry>> queue;
    std::thread thread;  // begun with the first kernel
    std::shared_ptr<Seat> seat;
    std::shared_ptr<Entry> now;                     // what it compiles
    std::chrono::steady_clock::time_point began{};  // with that
    std::chrono::nanoseconds spent_before{};        // of a core's time, when it began with that
  };

  Worker& worker(Priority priority) { return workers_[priority == Priority::foreground]; }
  void start(Priority priority);
  void loop(Priority priority, const std::shared_ptr<Seat>& seat);
  bool compile(const std::shared_ptr<Entry>& e, CompileFunction function, Seat& seat);
  bool is_overdue(Worker& w) const;
  void abandon(Priority priority, bool for_ever);
  void tell_once(const std::string& what);

  const Settings& settings_;
  const ObjectStore& store_;
  Board& board_;
  Worker workers_[2];
};

}  // namespace coalesce::native
