#include "cudart/core/interrupt.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>

#include "record/process.h"

namespace coalesce::cudart {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kAgain = std::chrono::milliseconds(50);

std::atomic<machine::Machine*> running{nullptr};
std::atomic<pid_t> owner{0};
volatile sig_atomic_t received = 0;

void on_signal(int signal) {
  machine::Machine* machine = running.load();
  if (machine == nullptr || getpid() != owner.load()) return raise_default(signal);  // a forked child has no launch
  received = signal;
  machine->interrupt();
}

// Where the program leaves a signal to its default. It may do so again after it had a handler of its own, so this looks
// again from time to time: six system calls at each small launch would double its time.
void handle_signals() {
  static Clock::time_point looked;
  const Clock::time_point now = Clock::now();
  if (now - looked < kAgain && owner.load() == record::this_process()) return;
  looked = now;
  owner.store(record::this_process());
  for (const int number : {SIGINT, SIGTERM}) {
    struct sigaction before{};
    if (sigaction(number, nullptr, &before) != 0) continue;
    if ((before.sa_flags & SA_SIGINFO) != 0 || before.sa_handler != SIG_DFL) continue;
    struct sigaction ours{};
    ours.sa_handler = on_signal;
    ours.sa_flags = SA_RESTART;
    sigemptyset(&ours.sa_mask);
    sigaction(number, &ours, nullptr);
  }
}

}  // namespace

InterruptGuard::InterruptGuard(machine::Machine& machine) {
  received = 0;
  running.store(&machine);
  handle_signals();
}

int InterruptGuard::release() {
  running.store(nullptr);
  const int signal = received;
  received = 0;
  return signal;
}

void raise_default(int signal) {
  struct sigaction normal{};
  normal.sa_handler = SIG_DFL;
  sigemptyset(&normal.sa_mask);
  sigaction(signal, &normal, nullptr);
  raise(signal);
}

}  // namespace coalesce::cudart
