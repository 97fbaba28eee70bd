#include "native/tier/object_file.h"

#include <cstring>

namespace coalesce::native {

// The number of words, the words, the code; integers as this CPU has them, as the code is this CPU's.
std::string to_bytes(const Object& object) {
  const uint64_t words = object.words.size();
  std::string bytes(sizeof words + 4 * words + object.code.size(), '\0');
  std::memcpy(bytes.data(), &words, sizeof words);
  if (words) std::memcpy(bytes.data() + sizeof words, object.words.data(), 4 * words);
  if (!object.code.empty())
    std::memcpy(bytes.data() + sizeof words + 4 * words, object.code.data(), object.code.size());
  return bytes;
}

std::optional<Object> from_bytes(std::string_view bytes) {
  uint64_t words = 0;
  if (bytes.size() < sizeof words) return std::nullopt;
  std::memcpy(&words, bytes.data(), sizeof words);
  bytes.remove_prefix(sizeof words);
  if (words > bytes.size() / 4) return std::nullopt;
  Object object;
  object.words.resize(words);
  if (words) std::memcpy(object.words.data(), bytes.data(), 4 * words);
  bytes.remove_prefix(4 * words);
  object.code.assign(bytes.begin(), bytes.end());
  return object;
}

}  // namespace coalesce::native
