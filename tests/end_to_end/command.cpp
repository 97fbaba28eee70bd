#include "tests/end_to_end/command.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace coalesce::end_to_end {
namespace fs = std::filesystem;

Workplace::Workplace() {
  std::string pattern = testing::TempDir() + "coalesce-end-XXXXXX";
  if (!mkdtemp(pattern.data())) throw std::runtime_error("cannot make " + pattern);
  folder_ = pattern;
}

Workplace::~Workplace() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

fs::path Workplace::write(const std::string& name, const std::string& text) const {
  std::ofstream(folder_ / name, std::ios::binary) << text;
  return folder_ / name;
}

std::string Workplace::read(const std::string& name) const {
  std::ostringstream text;
  text << std::ifstream(folder_ / name, std::ios::binary).rdbuf();
  return text.str();
}

nlohmann::json Workplace::json(const std::string& name) const {
  // Not valid: a value that is "discarded", which every check on it reports.
  return nlohmann::json::parse(read(name), nullptr, false);
}

pid_t Workplace::start(const std::vector<std::string>& words, size_t memory_limit) const {
  const pid_t child = fork();
  if (child != 0) return child;
  setpgid(0, 0);
  for (const int asked : {SIGINT, SIGTERM, SIGHUP}) signal(asked, SIG_DFL);  // what a shell starts by & ignores SIGINT
  if (chdir(folder_.c_str()) != 0) _exit(125);
  const auto to = [](const char* name, int descriptor) {
    dup2(open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600), descriptor);
  };
  to("out", STDOUT_FILENO), to("err", STDERR_FILENO);
  setenv("XDG_CACHE_HOME", COALESCE_BINARY_DIR "/tests/cache", 1);
  for (const char* name : {"COALESCE_DEVICE", "COALESCE_THREADS", "COALESCE_MAX_INSTRUCTIONS"}) unsetenv(name);
  if (memory_limit) {
    const rlimit limit = {memory_limit, memory_limit};
    setrlimit(RLIMIT_AS, &limit);
  }
  std::vector<char*> list;
  for (const std::string& word : words) list.push_back(const_cast<char*>(word.c_str()));
  list.push_back(nullptr);
  execvp(list[0], list.data());
  _exit(126);
}

Result Workplace::finish(pid_t child) const {
  int status = 0;
  waitpid(child, &status, 0);
  Result result;
  result.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  result.out = read("out"), result.err = read("err");
  return result;
}

Result Workplace::coalesce(std::vector<std::string> words) const {
  words.insert(words.begin(), {kCommand, "run", "-q", "--json", "json"});
  return call(words);
}

bool have(const std::string& program) {
  std::istringstream folders(std::getenv("PATH"));
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (access((fs::path(folder) / program).c_str(), X_OK) == 0) return true;
  }
  return false;
}

}  // namespace coalesce::end_to_end
