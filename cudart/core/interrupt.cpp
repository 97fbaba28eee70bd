#include "cudart/core/interrupt.h"

#include <atomic>

namespace coalesce::cudart {
namespace {

constexpr int kSignals[2] = {SIGINT, SIGTERM};
std::atomic<machine::Machine*> running{nullptr};
volatile sig_atomic_t received = 0;

void on_signal(int signal) {
  received = signal;
  if (machine::Machine* machine = running.load()) machine->interrupt();
}

}  // namespace

InterruptGuard::InterruptGuard(machine::Machine& machine) {
  received = 0;
  running.store(&machine);
  for (int i = 0; i < 2; ++i) {
    if (sigaction(kSignals[i], nullptr, &before_[i]) != 0) continue;
    if ((before_[i].sa_flags & SA_SIGINFO) != 0 || before_[i].sa_handler != SIG_DFL) continue;
    struct sigaction ours{};
    ours.sa_handler = on_signal;
    ours.sa_flags = SA_RESTART;
    sigemptyset(&ours.sa_mask);
    installed_[i] = sigaction(kSignals[i], &ours, nullptr) == 0;
  }
}

int InterruptGuard::release() {
  for (int i = 0; i < 2; ++i) {
    if (installed_[i]) sigaction(kSignals[i], &before_[i], nullptr);
    installed_[i] = false;
  }
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
