#include "bench/others.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

namespace coalesce::bench {
namespace {

namespace fs = std::filesystem;

fs::path own_directory() { return fs::read_symlink("/proc/self/exe").parent_path(); }
std::string source_file(const char* name) { return std::string(COALESCE_BENCH_DIR) + "/" + name; }

std::string quoted(const std::string& word) {
  std::string result = "'";
  for (char c : word) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

struct Ended {
  int code = -1;  // exit code; -1: did not start or was ended by a signal
  std::string output;
};

// Runs a shell command that may take at most `seconds`; its stderr is ours.
Ended run(const std::string& command, int seconds) {
  std::fflush(nullptr);
  FILE* pipe = popen(("exec timeout " + std::to_string(seconds) + " " + command).c_str(), "r");
  if (!pipe) return {};
  Ended ended;
  char buffer[4096];
  while (const size_t got = std::fread(buffer, 1, sizeof buffer, pipe)) ended.output.append(buffer, got);
  const int status = pclose(pipe);
  if (WIFEXITED(status)) ended.code = WEXITSTATUS(status);
  return ended;
}

bool in_path(const std::string& program) {
  const char* path = std::getenv("PATH");
  std::istringstream directories(path ? path : "");
  for (std::string directory; std::getline(directories, directory, ':');)
    if (access((directory + "/" + program).c_str(), X_OK) == 0) return true;
  return false;
}

constexpr int kTimedOut = 124;  // timeout's exit code

}  // namespace

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

Timing time_twin(Executor executor, const Case& c, uint32_t n, int repetitions) {
  if (!c.twin) return {{}, "no twin"};
  const fs::path twins = own_directory() / "machine_twins";
  if (access(twins.c_str(), X_OK) != 0) return {{}, "not built: no OpenCL headers"};
  const bool grind = executor == Executor::oclgrind;
  if (grind && !in_path("oclgrind")) return {{}, "not installed"};
  // POCL 3.1 reads the first variable, later ones the second.
  const std::string command =
      (grind ? "oclgrind --num-threads 1 " : "env POCL_MAX_PTHREAD_COUNT=1 POCL_CPU_MAX_CU_COUNT=1 ") + quoted(twins) +
      (grind ? " Oclgrind " : " 'Portable Computing Language' ") + quoted(source_file("twins.cl")) + " " +
      std::string(c.name) + " " + std::to_string(n) + " " + std::to_string(repetitions);
  const Ended ended = run(command, 120);
  if (ended.code == 3) return {{}, "not installed"};
  if (ended.code == kTimedOut) return {{}, "over 120 s"};
  const auto line = nlohmann::json::parse(ended.output, nullptr, false);
  if (ended.code != 0 || !line.is_object()) return {{}, "failed"};
  if (!line.value("right", false)) return {{}, "wrong result"};
  return {line.value("seconds", std::vector<double>()), ""};
}

Timing time_start_up(int repetitions) {
  const fs::path command = own_directory() / "coalesce";
  if (access(command.c_str(), X_OK) != 0) return {{}, "no `coalesce` beside this program"};
  const std::string line = quoted(command) + " run --quiet " + quoted(source_file("empty.cu")) + " >/dev/null 2>&1";
  if (run(line, 120).code != 0) return {{}, "`coalesce run bench/empty.cu` fails"};
  Timing timing;
  for (int i = 0; i < repetitions; ++i) {
    const auto start = std::chrono::steady_clock::now();
    if (run(line, 60).code != 0) return {{}, "`coalesce run bench/empty.cu` fails at times"};
    timing.seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return timing;
}

FirstLaunch time_first_launch(const Case& c, int rounds) {
  const std::string self = quoted(fs::read_symlink("/proc/self/exe"));
  std::string made = (fs::temp_directory_path() / "coalesce-bench-XXXXXX").string();
  if (!mkdtemp(made.data())) return {};
  const std::string& folder = made;
  const auto first = [&](const char* engine) {
    const Ended ended = run(
        "env XDG_CACHE_HOME=" + quoted(folder) + " " + self + " --first " + std::string(c.name) + " --engine " + engine,
        120);
    double seconds = 0;
    return ended.code == 0 && std::istringstream(ended.output) >> seconds ? seconds : -1;
  };
  FirstLaunch all;
  std::error_code ignored;
  for (int i = 0; i < rounds; ++i) {
    const double interpreter = first("interpreter");
    fs::remove_all(fs::path(folder) / "coalesce", ignored);
    const double cold = first("auto"), again = first("interpreter");
    if (interpreter < 0 || cold < 0 || again < 0) continue;
    all.interpreter.push_back(interpreter), all.cold.push_back(cold), all.again.push_back(again);
  }
  first("native");  // leaves the code in the cache
  for (int i = 0; i < (rounds + 2) / 3; ++i)
    if (const double warm = first("auto"); warm >= 0) all.warm.push_back(warm);
  fs::remove_all(folder, ignored);
  return all;
}

Peak peak_memory(const Case& c) {
  const Ended ended = run(quoted(fs::read_symlink("/proc/self/exe")) + " --peak " + std::string(c.name), 120);
  Peak peak;
  std::istringstream(ended.output) >> peak.resident_bytes >> peak.allocated_bytes;
  return ended.code == 0 ? peak : Peak{};
}

// VmHWM and not getrusage(), which includes the peak of the process that forked this one.
uint64_t own_peak_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.rfind("VmHWM:", 0) == 0) return std::strtoull(line.c_str() + 6, nullptr, 10) * 1024;
  return 0;
}

}  // namespace coalesce::bench
