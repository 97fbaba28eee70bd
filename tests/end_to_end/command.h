// The command as users have it: the build tree's `coalesce`, real compilers, real programs. Compiled programs are kept
// in the build tree, so that only the first run of the tests compiles.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace coalesce::end_to_end {

struct Result {
  int code = -1;  // 128 + signal where one ended it
  std::string out, err;
};

// A folder of its own for every test, removed with it; commands run in it.
class Workplace {
 public:
  Workplace();
  ~Workplace();
  Workplace(const Workplace&) = delete;
  Workplace& operator=(const Workplace&) = delete;

  std::filesystem::path write(const std::string& name, const std::string& text) const;
  std::string read(const std::string& name) const;
  bool exists(const std::string& name) const { return std::filesystem::exists(folder_ / name); }

  // Any program: the words are looked up on PATH. `memory_limit` bounds its address space (0: as it is).
  Result call(const std::vector<std::string>& words, size_t memory_limit = 0) const {
    return finish(start(words, memory_limit));
  }
  // `coalesce run -q --json json WORDS...`, without this test's own surroundings in the environment.
  Result coalesce(std::vector<std::string> words) const;
  nlohmann::json json(const std::string& name = "json") const;

  // The two halves of call(), for tests that do something meanwhile. The child leads a process group of its own.
  pid_t start(const std::vector<std::string>& words, size_t memory_limit = 0) const;
  Result finish(pid_t child) const;

 private:
  std::filesystem::path folder_;
};

// Inline, so that test names, which are made before main(), can use them.
inline const std::string kCommand = COALESCE_BINARY_DIR "/bin/coalesce";
inline const std::string kSource = COALESCE_SOURCE_DIR;

bool have(const std::string& program);  // on PATH

// Skips the test where the compiler is nvcc and there is none. clang must be there: the project is built with it.
#define NEEDS_COMPILER(compiler) \
  if ((compiler) == std::string("nvcc") && !have("nvcc")) GTEST_SKIP() << "no nvcc on PATH"

}  // namespace coalesce::end_to_end
