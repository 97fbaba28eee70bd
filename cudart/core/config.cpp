#include "cudart/core/config.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <set>
#include <string>
#include <string_view>

#include "machine/memory/memory.h"

namespace coalesce::cudart {
namespace {

template <typename T>
void read_number(const char* variable, T& value, T most = std::numeric_limits<T>::max()) {
  const char* text = std::getenv(variable);
  if (text == nullptr || *text == '\0') return;
  const char* end = text + std::strlen(text);
  T number{};
  if (const auto [stop, error] = std::from_chars(text, end, number);
      error == std::errc{} && stop == end && number <= most) {
    value = number;
  } else {
    std::fprintf(stderr, "coalesce: warning: %s is '%s', not a number in range; ignored\n", variable, text);
  }
}

// always / never, or whether stderr is a terminal.
bool read_choice(const char* variable, bool otherwise) {
  const char* text = std::getenv(variable);
  const std::string_view choice = text == nullptr ? "" : text;
  if (choice == "1" || choice == "always") return true;
  if (choice == "0" || choice == "never") return false;
  return otherwise;
}

// One of a table's names; anything else is said and ignored.
template <class T, std::size_t N>
void read_name(const char* variable, const machine::Names<T, N>& names, T& value) {
  const char* text = std::getenv(variable);
  if (text == nullptr || *text == '\0' || machine::find_named(names, text, value)) return;
  std::string known;
  for (std::size_t k = 0; k < N; ++k) known += (k == 0 ? "" : k + 1 < N ? ", " : " or ") + std::string(names[k].first);
  std::fprintf(stderr, "coalesce: warning: %s is '%s', not %s; ignored\n", variable, text, known.c_str());
}

// How many of `devices`, which are alike, CUDA_VISIBLE_DEVICES leaves: its numbers up to the first that is none of
// them. A list of none hides the host's GPUs; the machine, which is no GPU, stays.
unsigned visible(unsigned devices) {
  const char* text = std::getenv("CUDA_VISIBLE_DEVICES");
  if (text == nullptr) return devices;
  std::set<unsigned> named;
  const char* const end = text + std::strlen(text);
  while (true) {
    unsigned number = 0;
    const auto [stop, error] = std::from_chars(text, end, number);
    if (error != std::errc() || number >= devices || !named.insert(number).second) break;
    if (stop == end || *stop != ',') break;
    text = stop + 1;
  }
  return named.empty() ? devices : static_cast<unsigned>(named.size());
}

Config read() {
  Config c;
  if (const char* text = std::getenv("COALESCE_DEVICE"); text != nullptr && *text != '\0') {
    c.device = text;
    c.device_chosen = read_choice("COALESCE_DEVICE_CHOSEN", true);
  }
  if (const char* text = std::getenv("COALESCE_RECORD"); text != nullptr) c.record = text;
  read_number("COALESCE_DEVICES", c.devices, machine::kMostDevices);
  c.devices = visible(std::max(1u, c.devices));
  read_number("COALESCE_THREADS", c.threads, machine::kMostThreads);
  read_number("COALESCE_MAX_INSTRUCTIONS", c.max_instructions);
  read_name("COALESCE_ENGINE", machine::kEngines, c.engine);
  read_name("COALESCE_MODEL", machine::kModels, c.model);
  c.check = read_choice("COALESCE_CHECK", false);
  c.time = read_choice("COALESCE_TIME", false);
  read_number("COALESCE_SCHEDULES", c.schedules, uint32_t{1000});
  c.shadow = read_choice("COALESCE_SHADOW", false);
  const bool terminal = isatty(STDERR_FILENO) == 1;
  const char* no_color = std::getenv("NO_COLOR");
  c.progress = read_choice("COALESCE_PROGRESS", terminal);
  c.colour = read_choice("COALESCE_COLOR", terminal && (no_color == nullptr || *no_color == '\0'));
  return c;
}

}  // namespace

const Config& config() {
  static const Config* the = new Config(read());  // never destroyed: programs call us from their own destructors
  return *the;
}

}  // namespace coalesce::cudart
