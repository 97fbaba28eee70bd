// The options that a client of cuModuleLoadDataEx, cuLinkCreate and cuLibraryLoadData gives to a compiler, as far as
// they matter here: the limit of registers, and the buffers for messages. The client keeps them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

namespace coalesce::cudart {

class JitOptions {
 public:
  JitOptions() = default;
  // `values`: one for each option; sizes are in the pointers themselves, and there they are returned.
  JitOptions(unsigned count, const int* options, void** values)
      : count_(options != nullptr && values != nullptr ? count : 0), options_(options), values_(values) {}

  // The most registers of a thread; 0: as many as it needs. The number is the pointer itself.
  uint32_t most_registers() const {
    void** given = value(kMostRegisters);
    return given == nullptr ? 0 : static_cast<uint32_t>(reinterpret_cast<uintptr_t>(*given));
  }
  // Puts the text into the client's buffer for errors, and an empty one into that for information.
  void error(const std::string& text) const {
    put(kInfoBuffer, "");
    put(kErrorBuffer, text);
  }

 private:
  static constexpr int kMostRegisters = 0;
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
