// SHA-256 (FIPS 180-4): the cache's keys. A weaker hash that collides would run the wrong program.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace coalesce::cache {

class Sha256 {
 public:
  Sha256& add(std::string_view bytes);
  // A length and then the text, so that {"ab","c"} and {"a","bc"} differ.
  Sha256& field(std::string_view text);
  // 64 hexadecimal digits. The object is used up.
  std::string hex();

 private:
  void block(const unsigned char* bytes);
  std::array<uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<unsigned char, 64> rest_{};
  uint64_t size_ = 0;
};

}  // namespace coalesce::cache
