// The command as a whole, in an installed tree made for the test: the real executable, and in place of a CUDA program a
// script that writes a record as our CUDA runtime would.
#pragma once

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/tool/fixture.h"
#include "tool/command/cache.h"

namespace coalesce::tool {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class CommandTest : public testing::Test {
 protected:
  void SetUp() override {
    const fs::path real = fs::path(COALESCE_BINARY_DIR) / "bin/coalesce";
    ASSERT_TRUE(fs::exists(real)) << real << " is not built";
    std::string pattern = testing::TempDir() + "coalesce-command-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    tree = pattern;
    fs::create_directories(tree / "bin");
    fs::create_directories(tree / "lib/coalesce");
    fs::copy_file(real, tree / "bin/coalesce");
    write(tree / "lib/coalesce/libcudart.so.13", "");
    const Values values = {{"global_load_requests", 10},
                           {"global_load_sectors", 80},
                           {"global_load_bytes_requested", 1280},
                           {"compulsory_bytes", 2560}};
    record = kHeader + kernel_text(0, "_Z6reducePi") +
             launch_text(0, values, R"(,"lines":[["a.cu",41,7,)" + counters_text(values, false) + "]]") +
             launch_text(0, values);
    write(tree / "record", record);
    write(tree / "end", kEnd);
  }
  void TearDown() override {
    setenv("PATH", old_path.c_str(), 1);
    if (!tree.empty()) fs::remove_all(tree);
  }
  static void write(const fs::path& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

  fs::path script(const std::string& text) {
    const fs::path path = tree / "app";
    write(path, "#!/bin/sh\n" + text);
    fs::permissions(path, fs::perms::owner_all);
    return path;
  }
  // A program that launches twice, prints, and ends with this code.
  fs::path program(int code = 0) {
    const std::string dir = tree.string();
    return script("cat " + dir + "/record " + dir +
                  "/end >> \"$COALESCE_RECORD\"\necho to stdout \"$@\"\necho to stderr >&2\nexit " +
                  std::to_string(code) + "\n");
  }

  struct Result {
    int code = -1;
    std::string out, err;
  };
  pid_t start(const std::vector<std::string>& arguments) {
    const pid_t child = fork();
    if (child != 0) return child;
    const auto to = [&](const char* name, int descriptor) {
      dup2(open((tree / name).c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), descriptor);
    };
    to("out", 1), to("err", 2);
    setenv("XDG_CACHE_HOME", (tree / "cache").c_str(), 1);
    for (const char* name :
         {"COALESCE_DEVICE", "COALESCE_THREADS", "COALESCE_MAX_INSTRUCTIONS", "COALESCE_ENGINE", "COALESCE_MODEL"})
      unsetenv(name);
    std::vector<char*> words;
    const std::string self = (tree / "bin/coalesce").string();
    words.push_back(const_cast<char*>(self.c_str()));
    for (const std::string& word : arguments) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    execv(words[0], words.data());
    _exit(126);
  }
  Result finish(pid_t child) {
    int status = 0;
    waitpid(child, &status, 0);
    Result result;
    if (WIFEXITED(status)) result.code = WEXITSTATUS(status);
    result.out = read_file(tree / "out").value_or("");
    result.err = read_file(tree / "err").value_or("");
    return result;
  }
  Result call(const std::vector<std::string>& arguments) { return finish(start(arguments)); }

  fs::path tree;
  std::string record;
  const std::string old_path = std::getenv("PATH");
};

}  // namespace coalesce::tool
