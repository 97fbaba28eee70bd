#include "tool/command/child.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "tool/figures/error.h"

namespace coalesce::tool {
namespace {

std::atomic<pid_t> the_child{0};
std::atomic<bool> was_interrupted{false};
constexpr int kForwarded[] = {SIGINT, SIGTERM, SIGHUP};

void forward(int signal, siginfo_t* info, void*) {
  const int saved = errno;
  was_interrupted = true;
  // Ctrl-C goes to the whole foreground group, so the child has it already; twice would mean "at once" to many
  // programs.
  if (const pid_t child = the_child; child > 0 && info->si_code != SI_KERNEL) kill(child, signal);
  errno = saved;
}

class Forwarding {
 public:
  Forwarding() {
    struct sigaction action{};
    action.sa_sigaction = forward;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    sigemptyset(&action.sa_mask);
    sigset_t block;
    sigemptyset(&block);
    for (const int signal : kForwarded) sigaddset(&block, signal);
    // Nothing is lost between here and the moment the child is known: signals wait.
    sigprocmask(SIG_BLOCK, &block, &mask_);
    was_interrupted = false;
    for (std::size_t i = 0; i < std::size(kForwarded); ++i) {
      sigaction(kForwarded[i], nullptr, &old_[i]);
      // Signals that our caller ignores (nohup) stay ignored, for the child too.
      if (old_[i].sa_handler != SIG_IGN) sigaction(kForwarded[i], &action, nullptr);
    }
  }
  ~Forwarding() {
    the_child = 0;
    restore();
    release();
  }
  Forwarding(const Forwarding&) = delete;
  Forwarding& operator=(const Forwarding&) = delete;
  void restore() const {
    for (std::size_t i = 0; i < std::size(kForwarded); ++i) sigaction(kForwarded[i], &old_[i], nullptr);
  }
  void release() const { sigprocmask(SIG_SETMASK, &mask_, nullptr); }

 private:
  sigset_t mask_{};
  struct sigaction old_[std::size(kForwarded)]{};
};

// `command_pid` is the process that waits for this one.
[[noreturn]] void become(const Command& command, char* const* words, int errors, int output, pid_t command_pid) {
  // A signal that nobody can forward to the program ends it with the command.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != command_pid) _exit(128 + SIGKILL);  // killed before that
  for (const auto& [name, value] : command.environment) setenv(name.c_str(), value.c_str(), 1);
  if (command.output_to_stderr) dup2(STDERR_FILENO, STDOUT_FILENO);
  if (output >= 0) dup2(output, STDOUT_FILENO);
  execv(command.words[0].c_str(), words);
  const int why = errno;
  [[maybe_unused]] const ssize_t written = write(errors, &why, sizeof why);
  _exit(127);
}

// Reads until the other side closes.
std::string drain(int descriptor) {
  std::string text;
  char buffer[4096];
  for (;;) {
    const ssize_t size = read(descriptor, buffer, sizeof buffer);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return text;
    text.append(buffer, static_cast<std::size_t>(size));
  }
}

// How many filters of system calls a process has, also one that has ended and was not waited for.
long filters_of(const std::string& process) {
  std::ifstream status("/proc/" + process + "/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("Seccomp_filters:")) return std::strtol(line.c_str() + line.find(':') + 1, nullptr, 10);
  return 0;
}

}  // namespace

Outcome run_child(const Command& command) {
  std::vector<char*> words;
  for (const std::string& word : command.words) words.push_back(const_cast<char*>(word.c_str()));
  if (!command.called.empty()) words[0] = const_cast<char*>(command.called.c_str());
  words.push_back(nullptr);
  int errors[2], output[2] = {-1, -1};
  if (pipe2(errors, O_CLOEXEC) != 0 || (command.output_to_pipe && pipe2(output, O_CLOEXEC) != 0)) {
    throw Error(Exit::not_started, std::string("cannot make a pipe: ") + std::strerror(errno));
  }

  Outcome outcome;
  const Forwarding forwarding;
  const pid_t command_pid = getpid(), child = fork();
  if (child == 0) {
    // A signal between here and exec must end the child, not run our handler in it.
    forwarding.restore();
    forwarding.release();
    become(command, words.data(), errors[1], output[1], command_pid);
  }
  const int why_not = errno;
  the_child = child;
  forwarding.release();
  close(errors[1]);
  if (output[1] >= 0) close(output[1]);
  int failure = child < 0 ? why_not : 0;
  if (child > 0) {
    const std::string reported = drain(errors[0]);
    if (reported.size() == sizeof failure) std::memcpy(&failure, reported.data(), sizeof failure);
    if (output[0] >= 0) outcome.output = drain(output[0]);
    siginfo_t ended;
    while (waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT) < 0 && errno == EINTR) continue;
    outcome.filtered = filters_of(std::to_string(child)) > filters_of("self");
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    outcome.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    outcome.code = outcome.signal ? 128 + outcome.signal : WEXITSTATUS(status);
  }
  close(errors[0]);
  if (output[0] >= 0) close(output[0]);
  if (failure) throw Error(Exit::not_started, "cannot start '" + command.words[0] + "': " + std::strerror(failure));
  outcome.interrupted = was_interrupted;
  return outcome;
}

}  // namespace coalesce::tool
