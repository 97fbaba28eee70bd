// PTX text -> tokens, one at a time, and the words that errors in PTX text are reported with.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace coalesce::ptx {

struct Token {
  enum class Kind : uint8_t {
    end,
    word,       // name, register, keyword: "%r1", "$L_2", "_"
    directive,  // ".reg": text is "reg". A part of a mnemonic after a space looks the same.
    number,     // "12", "0x1F", "0f3F800000", "1.5e-3": see decode_number
    string,     // "...": text is what stands between the quotes, escapes as written
    mark,       // one character of punctuation
  };
  Kind kind = Kind::end;
  char mark = 0;
  uint32_t line = 0;      // from 1
  std::string_view text;  // points into the text given to the lexer; where the token starts for errors
};

// A literal's value. Integers are 64 bits wide, reals are f64 bits unless `is_f32`.
struct Number {
  bool is_real = false;
  bool is_f32 = false;
  uint64_t bits = 0;
};
// False: not a number, or one that does not fit 64 bits. No sign.
bool decode_number(std::string_view text, Number& number);

class Lexer {
 public:
  // `text` must outlive the lexer and every token.
  Lexer(std::string_view text, const std::string& name);

  // The next token; comments and white space are passed over. Throws machine::Error on a byte that no token starts
  // with, an unterminated comment or string.
  Token next();
  // After next() gave a word: takes the suffixes that follow it without a space (".global.L1::no_allocate") and gives
  // word and suffixes as one. Gives the word alone when none follow.
  std::string_view mnemonic(const Token& word);
  // True if the next token is this mark.
  bool next_is(char mark);
  // After next() gave '{': goes past the brace that closes it, comments and strings left aside.
  void skip_block(const Token& open);

  // True if only white space stands before `at` on its line.
  bool begins_line(const char* at) const;

  // Throws machine::Error at `at`, a place in the text.
  [[noreturn]] void fail(const char* at, std::string message) const;

 private:
  void skip_space();
  void take_number();

  std::string_view text_;
  std::string name_;
  const char* at_;
  const char* end_;
  uint32_t line_ = 1;
};

}  // namespace coalesce::ptx
