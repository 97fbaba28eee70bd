#include "toolchain/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>

namespace coalesce::toolchain {
namespace {

constexpr int kAskEvery = 100;  // ms

std::vector<char*> environment_of_a_compiler() {
  std::vector<char*> kept;
  for (char** word = environ; *word != nullptr; ++word) {
    const std::string_view text = *word;
    if (!text.starts_with("LD_AUDIT=") && !text.starts_with("LD_PRELOAD=")) kept.push_back(*word);
  }
  kept.push_back(nullptr);
  return kept;
}

// Reads until the other side closes.
void read_all(int descriptor, pid_t child, const std::function<bool()>& cancelled, Ran& ran) {
  char buffer[4096];
  for (;;) {
    pollfd waiting{descriptor, POLLIN, 0};
    const int ready = poll(&waiting, 1, cancelled ? kAskEvery : -1);
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0) {
      if (!ran.cancelled && cancelled()) {
        ran.cancelled = true;
        kill(child, SIGTERM);
      }
      continue;
    }
    const ssize_t size = read(descriptor, buffer, sizeof buffer);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return;
    ran.text.append(buffer, static_cast<size_t>(size));
  }
}

}  // namespace

Ran run(const std::vector<std::string>& words, const std::function<bool()>& cancelled) {
  Ran ran;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    ran.text = std::string("cannot make a pipe: ") + std::strerror(errno);
    return ran;
  }
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  pid_t child = 0;
  const int failed =
      posix_spawn(&child, arguments[0], &actions, nullptr, arguments.data(), environment_of_a_compiler().data());
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (failed != 0) {
    ran.text = "cannot start '" + words[0] + "': " + std::strerror(failed);
  } else {
    read_all(ends[0], child, cancelled, ran);
    int status = 0;
    pid_t ended;
    while ((ended = waitpid(child, &status, 0)) < 0 && errno == EINTR) continue;
    // A program that waits for all its children may have taken the exit code; whoever asks looks for the output, too.
    ran.code = ended != child ? 0 : WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }
  close(ends[0]);
  return ran;
}

}  // namespace coalesce::toolchain
