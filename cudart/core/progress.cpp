#include "cudart/core/progress.h"

#include <cxxabi.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

namespace coalesce::cudart {
namespace {

using Clock = std::chrono::steady_clock;
Clock::time_point start;
bool drawn = false;

// The kernel's short name: demangled, without arguments.
std::string short_name(std::string_view mangled) {
  const std::string name(mangled);
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status),
                                                         &std::free);
  std::string shown = status == 0 && text != nullptr ? text.get() : name;
  if (const size_t end = shown.find('('); end != std::string::npos) shown.resize(end);
  if (shown.starts_with("void ")) shown.erase(0, 5);
  if (shown.size() > 50) shown.replace(47, std::string::npos, "...");
  return shown;
}

}  // namespace

void begin_progress() { start = Clock::now(); }

void draw_progress(std::string_view kernel, uint64_t done, uint64_t total) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - start).count();
  const double percent = total == 0 ? 0 : 100.0 * static_cast<double>(done) / static_cast<double>(total);
  std::fprintf(stderr, "\r\033[K%s  %.0f %% of blocks  %lld s", short_name(kernel).c_str(), percent,
               static_cast<long long>(seconds));
  std::fflush(stderr);
  drawn = true;
}

void end_progress() {
  if (!drawn) return;
  std::fputs("\r\033[K", stderr);
  std::fflush(stderr);
  drawn = false;
}

}  // namespace coalesce::cudart
