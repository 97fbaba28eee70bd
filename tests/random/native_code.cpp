#include "tests/random/native_code.h"

#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "tests/sanitized.h"

namespace coalesce::machine::test {

namespace {
std::atomic<uint64_t> unsound{0};
}  // namespace

uint64_t unsound_kernels() { return unsound.load(); }

std::string native_library() {
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe");
  return program.parent_path().parent_path() / "lib/libcoalesce_native.so";
}

native::Settings native_settings() {
  native::Settings settings;
  settings.engine = Engine::native;
  settings.library = native_library();
  if (const char* cpu = std::getenv("COALESCE_NATIVE_CPU")) settings.cpu = cpu;
  if (const char* level = std::getenv("COALESCE_NATIVE_LEVEL"))
    settings.level = static_cast<unsigned>(std::atoi(level));
  settings.warn = [](const std::string& text) {
    if (text.find("not sound") != std::string::npos) ++unsound;
    std::fprintf(stderr, "%s\n", text.c_str());
  };
  return settings;
}

namespace {

struct Folder {
  Folder() {
    std::string pattern = std::filesystem::temp_directory_path() / "coalesce-objects-XXXXXX";
    if (mkdtemp(pattern.data())) path = pattern;
  }
  ~Folder() {
    std::error_code ignored;
    if (getpid() == owner && !path.empty()) std::filesystem::remove_all(path, ignored);
  }
  std::filesystem::path path;
  const pid_t owner = getpid();
};

std::shared_ptr<native::Engine> engine_of(native::Settings settings) {
  static const Folder folder;
  settings.folder = folder.path;
  return std::make_shared<native::Engine>(std::move(settings));
}

}  // namespace

std::shared_ptr<native::Engine> native_code() {
  if (!std::filesystem::exists(native_library())) return nullptr;
  static const std::shared_ptr<native::Engine> the = engine_of(native_settings());
  return the;
}

std::shared_ptr<native::Engine> quick_native_code() {
  if (!few_cases() || std::getenv("COALESCE_NATIVE_LEVEL")) return native_code();
  if (!std::filesystem::exists(native_library())) return nullptr;
  static const std::shared_ptr<native::Engine> the = [] {
    native::Settings settings = native_settings();
    settings.level = 0;
    return engine_of(std::move(settings));
  }();
  return the;
}

}  // namespace coalesce::machine::test
