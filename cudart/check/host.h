// `coalesce check` on the host's side: what the program asks of the runtime, and the order of the work that it gives to
// streams. The runtime does all work at once; here it stays pending until the program has waited for it.
//
// Reading order: order.h (what comes before what), uses.h (who has accessed what), guard.h (the host's own accesses),
// this. Under the runtime's lock, all of it.
#pragma once

#include <deque>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "cudart/check/guard.h"
#include "cudart/check/order.h"
#include "cudart/check/uses.h"
#include "machine/api/machine.h"

namespace coalesce::cudart {

class HostCheck {
 public:
  using Sink = std::function<void(const machine::Diagnostic&)>;
  // `lock`: the runtime's; an access of the host's that a guard stops takes it.
  HostCheck(machine::Machine& machine, std::mutex& lock, Sink sink);
  HostCheck(const HostCheck&) = delete;
  HostCheck& operator=(const HostCheck&) = delete;

  Order& order() { return order_; }
  // The work that follows is given to `stream`, or is a graph's node. `overlaps`: a kernel that may begin while the one
  // before it runs (programmatic dependent launch).
  enum class Acts : uint8_t { other, kernel, overlaps };
  void act_in(StreamKey stream, bool blocking, Acts as = Acts::other);
  void act_as_node(const void* node, const std::vector<const void*>& needs);

  // One piece of work, after act_in() or act_as_node(). `call`: "cudaMemcpyAsync"; for a kernel its mangled name.
  struct Range {
    uint64_t address = 0, bytes = 0;
    bool writes = false;
  };
  void begin_work(const std::string& call, bool kernel);  // opens protected memory
  void used(const std::vector<Range>& ranges);            // by a copy, a fill, a free
  void launched(machine::LaunchReport& report);           // by a kernel; adds to its diagnostics
  void host_waits_for_work();                             // the call has returned when its work had ended
  void settle();                                          // after the host has waited

  // The host's memory calls.
  void allocated(uint64_t address);
  void releasing(uint64_t address);
  void bad_free(const std::string& call, uint64_t address);
  void bad_copy(const std::string& call, uint64_t address, uint64_t bytes, const std::string& why);
  void unwritten(const std::string& call, uint64_t first, uint64_t count, uint64_t bytes);

  // A launch by <<<>>> that was refused; the thread has asked for the error.
  void launch_refused(const std::string& kernel, const std::string& why);
  void error_seen();
  void not_checked(const std::string& what);

  void report_refused();  // those that nobody has asked about
  void report_leaks();    // when the program ends
  // Adds where the allocations that it names were made and freed.
  void annotate(machine::Diagnostic& d) const;

  // An API call returns: pending memory that the host can reach is protected again.
  void leave();
  void open() { guard_.open(); }
  // A function of the program's runs as the work of act_in() or act_as_node(): it may tell the host, by means that are
  // not seen (a flag, a condition variable, a new thread), that what it comes after is done.
  void function_runs() {
    told_.join(before_);
    functions_ = before_;
  }
  // It begins, ends: its accesses are the work's and not the host's.
  void callback(bool runs) {
    guard_.open();
    changed_ = true;
    callbacks_ += runs ? 1 : -1;
    if (runs && callbacks_ == 1) protect();
  }

 private:
  void race(const Conflict& c, bool early = false);
  bool host_access(uint64_t address, bool writes);
  void report(machine::Diagnostic d, const Frames& frames);
  Guard::Want wanted(uint64_t page) const;
  void protect();
  // The work that has ended before the accesses that the guard watches: the host's, or a function's that runs as work.
  WorkClock ended() const {
    WorkClock all = order_.host();
    if (callbacks_ > 0) all.join(functions_);
    return all;
  }
  // Whether the host may know that it is done, without having waited for it.
  bool may_be_told(const Work& work) const { return work.tells_host || told_.covers(work.moment); }

  machine::Machine& machine_;
  Sink sink_;
  Order order_;
  Uses uses_;
  Guard guard_;

  std::string where_;  // of the work to come
  bool in_graph_ = false;
  Moment moment_;
  WorkClock before_;
  // A kernel that overlaps the one before it: what it does before it waits for that one's end.
  bool overlaps_ = false;
  Moment early_moment_;
  WorkClock early_before_;
  uint32_t early_work_ = 0;
  WorkClock told_;       // what functions of the program's have come after
  WorkClock functions_;  // what the last of them has
  uint32_t work_ = 0;
  bool changed_ = false;  // since memory was protected
  int callbacks_ = 0;

  std::unordered_map<uint32_t, Frames> made_, freed_;  // by an allocation's serial number
  std::deque<uint32_t> old_;
  std::set<std::string> said_;
  struct Refused {
    std::thread::id thread;
    machine::Diagnostic diagnostic;
    Frames frames;
  };
  std::vector<Refused> refused_;
};

}  // namespace coalesce::cudart
