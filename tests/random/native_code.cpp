#include "tests/random/native_code.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>

namespace coalesce::machine::test {

native::Settings native_settings() {
  native::Settings settings;
  settings.engine = Engine::native;
  settings.library = COALESCE_NATIVE_LIBRARY;
  if (const char* cpu = std::getenv("COALESCE_NATIVE_CPU")) settings.cpu = cpu;
  if (const char* level = std::getenv("COALESCE_NATIVE_LEVEL"))
    settings.level = static_cast<unsigned>(std::atoi(level));
  settings.warn = [](const std::string& text) { std::fprintf(stderr, "%s\n", text.c_str()); };
  return settings;
}

std::shared_ptr<native::Engine> native_code() {
  static const std::shared_ptr<native::Engine> the =
      std::filesystem::exists(COALESCE_NATIVE_LIBRARY) ? std::make_shared<native::Engine>(native_settings()) : nullptr;
  return the;
}

}  // namespace coalesce::machine::test
