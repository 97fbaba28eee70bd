#include "cudart/check/guard.h"

#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <utility>

namespace coalesce::cudart {
namespace {

constexpr uint64_t kBytes = 4096;
constexpr uint64_t kMostSteps = 1 << 16;  // between two calls; some 0.2 s

std::atomic<Guard*> the_guard{nullptr};
thread_local int calls_inside = 0;
thread_local uint64_t stepped = 0;  // the page that this thread steps over; 0: none
thread_local uint64_t retried = 0;  // the address whose access is tried once more

void set_right(uint64_t page, uint64_t count, Guard::Want want) {
  const int right = want == Guard::Want::closed      ? PROT_NONE
                    : want == Guard::Want::read_only ? PROT_READ
                                                     : PROT_READ | PROT_WRITE;
  mprotect(reinterpret_cast<void*>(page * kBytes), count * kBytes, right);
}

// Calls visit(first page, count, right) for runs of neighbours with the same right.
template <class Visit>
void each_run(const std::map<uint64_t, Guard::Want>& pages, Visit visit) {
  for (auto at = pages.begin(); at != pages.end();) {
    const auto [first, want] = *at;
    uint64_t count = 0;
    for (; at != pages.end() && at->first == first + count && at->second == want; ++at) ++count;
    visit(first, count, want);
  }
}

}  // namespace

Inside::Inside() { ++calls_inside; }
Inside::~Inside() { --calls_inside; }

// The signal handlers. A signal that is not ours goes to the handler that was installed before.
struct GuardSignals {
  static inline struct sigaction segv_before{}, trap_before{};

  static void pass_on(struct sigaction& before, int signal, siginfo_t* info, void* context) {
    if ((before.sa_flags & SA_SIGINFO) != 0) return before.sa_sigaction(signal, info, context);
    if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) return before.sa_handler(signal);
    sigaction(signal, &before, nullptr);  // the instruction faults again, and ends the program
  }

#if defined(__x86_64__)
  static constexpr greg_t kTrapFlag = 0x100;

  static void on_fault(int signal, siginfo_t* info, void* context) {
    auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
    Guard* const g = the_guard.load();
    const auto address = reinterpret_cast<uint64_t>(info->si_addr);
    const bool writes = (registers[REG_ERR] & 2) != 0;
    const Guard::Answer answer =
        g == nullptr || info->si_code != SEGV_ACCERR ? Guard::Answer::foreign : g->fault(address, writes);
    if (answer == Guard::Answer::foreign) return pass_on(segv_before, signal, info, context);
    if (answer != Guard::Answer::step) return;
    stepped = address / kBytes;
    registers[REG_EFL] |= kTrapFlag;
  }

  static void on_trap(int signal, siginfo_t* info, void* context) {
    if (stepped == 0) return pass_on(trap_before, signal, info, context);
    static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_EFL] &= ~kTrapFlag;
    const uint64_t page = std::exchange(stepped, 0);
    if (Guard* const g = the_guard.load()) g->close_again(page);
  }
#else
  static void on_fault(int signal, siginfo_t* info, void* context) {
    Guard* const g = the_guard.load();
    // Whether it writes is not known here: taken for a read; the page stays open.
    if (g != nullptr && info->si_code == SEGV_ACCERR &&
        g->fault(reinterpret_cast<uint64_t>(info->si_addr), false) != Guard::Answer::foreign)
      return;
    pass_on(segv_before, signal, info, context);
  }
  static void on_trap(int signal, siginfo_t* info, void* context) { pass_on(trap_before, signal, info, context); }
#endif

  // The program may have put handlers of its own in front of ours.
  static void install() {
    for (auto [signal, handler, before] :
         {std::make_tuple(SIGSEGV, &on_fault, &segv_before), std::make_tuple(SIGTRAP, &on_trap, &trap_before)}) {
      struct sigaction now{};
      sigaction(signal, nullptr, &now);
      if ((now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == handler) continue;
      *before = now;
      struct sigaction ours{};
      ours.sa_sigaction = handler;
      ours.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
      sigemptyset(&ours.sa_mask);
      sigaction(signal, &ours, nullptr);
    }
  }
};

Guard::Guard(std::mutex& lock, Access access) : lock_(lock), access_(std::move(access)) { the_guard = this; }

Guard::~Guard() {
  the_guard = nullptr;
  open();
}

void Guard::protect(std::map<uint64_t, Want> pages) {
  open();
  pages_ = std::move(pages);
  steps_ = 0;
  if (pages_.empty()) return;
  GuardSignals::install();
  each_run(pages_, set_right);
}

void Guard::open() {
  each_run(pages_, [](uint64_t first, uint64_t count, Want) { set_right(first, count, Want::open); });
  pages_.clear();
}

Guard::Answer Guard::fault(uint64_t address, bool writes) {
  if (calls_inside != 0) {  // a call's own access: what it was given a pointer to
    if (!pages_.contains(address / kBytes)) return Answer::foreign;
    open();
    return Answer::again;
  }
  const std::lock_guard hold(lock_);
  const auto at = pages_.find(address / kBytes);
  if (at == pages_.end()) {  // another thread's call may have opened it meanwhile; what is freed stays closed
    const bool again = retried != address;
    retried = again ? address : 0;
    return again ? Answer::again : Answer::foreign;
  }
  const bool race = access_(address, writes);
  set_right(at->first, 1, Want::open);
  if (!race && ++steps_ < kMostSteps) return Answer::step;
  pages_.erase(at);
  return Answer::again;
}

void Guard::close_again(uint64_t page) {
  const std::lock_guard hold(lock_);
  if (const auto at = pages_.find(page); at != pages_.end()) set_right(page, 1, at->second);
}

}  // namespace coalesce::cudart
