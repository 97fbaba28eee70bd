// The options by which a client of cuModuleLoadDataEx, cuLinkCreate and cuLibraryLoadData asks for a compiler's
// messages.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

namespace coalesce::cudart {

class JitLog {
 public:
  JitLog() = default;
  // `values`: one for each option; sizes are in the pointers themselves, and there they are returned.
  JitLog(unsigned count, const int* options, void** values)
      : count_(options != nullptr ? count : 0), options_(options), values_(values) {}

  // Puts the text into the client's buffer for errors, and an empty one into that for information.
  void error(const std::string& text) const {
    put(kInfoBuffer, "");
    put(kErrorBuffer, text);
  }

 private:
  static constexpr int kInfoBuffer = 3, kErrorBuffer = 5;  // each followed by its size

  void** value(int option) const {
    for (unsigned k = 0; k < count_; ++k)
      if (options_[k] == option) return values_ + k;
    return nullptr;
  }
  void put(int option, const std::string& text) const {
    void** size = value(option + 1);
    if (size == nullptr) return;
    void** buffer = value(option);
    const auto room = static_cast<unsigned>(reinterpret_cast<uintptr_t>(*size));
    size_t bytes = 0;
    if (buffer != nullptr && *buffer != nullptr && room != 0) {
      bytes = std::min<size_t>(text.size(), room - 1);
      std::memcpy(*buffer, text.data(), bytes);
      static_cast<char*>(*buffer)[bytes] = '\0';
    }
    *size = reinterpret_cast<void*>(bytes);
  }

  unsigned count_ = 0;
  const int* options_ = nullptr;
  void** values_ = nullptr;
};

}  // namespace coalesce::cudart
