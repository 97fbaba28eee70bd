// A mnemonic being put together from its parts while the tables are filled. Thousands of rows are named this way: a
// plain array with out-of-line operations keeps that code, and the time to compile it, small.
#pragma once

#include <cstdint>
#include <string_view>

namespace coalesce::machine {

class Name {
 public:
  Name(const char* text);  // NOLINT(google-explicit-constructor): a literal is a name
  friend Name operator+(const Name& a, const Name& b);
  std::string_view text() const { return {text_, size_}; }

 private:
  void append(std::string_view more);  // aborts beyond 63 characters: no mnemonic is that long

  uint32_t size_ = 0;
  char text_[63];
};

}  // namespace coalesce::machine
