#include "machine/ptx/lexer.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>

#include "machine/diagnostic.h"

namespace coalesce::ptx {
namespace {

enum : uint8_t { word_start = 1, word_part = 2, digit = 4, space = 8, punctuation = 16 };

constexpr std::array<uint8_t, 256> make_classes() {
  std::array<uint8_t, 256> table{};
  for (int c = 'a'; c <= 'z'; c++)
    table[static_cast<size_t>(c)] = table[static_cast<size_t>(c - 32)] = word_start | word_part;
  for (int c = '0'; c <= '9'; c++) table[static_cast<size_t>(c)] = digit | word_part;
  table['_'] = table['$'] = word_start | word_part;
  table['%'] = word_start;
  for (char c : {' ', '\t', '\r', '\n', '\v', '\f'}) table[static_cast<uint8_t>(c)] = space;
  for (char c : {'{', '}', '(', ')', '[', ']', '<', '>', ',', ';', ':', '@',
                 '!', '|', '+', '-', '*', '=', '~', '/', '&', '^', '?'})
    table[static_cast<uint8_t>(c)] = punctuation;
  return table;
}
constexpr std::array<uint8_t, 256> classes = make_classes();

inline bool is(char c, uint8_t mask) { return (classes[static_cast<uint8_t>(c)] & mask) != 0; }

// All of `text` as an unsigned number in `base`; false when it has other characters, none, or does not fit.
bool whole(std::string_view text, int base, uint64_t& value) {
  const char* end = text.data() + text.size();
  auto [stop, error] = std::from_chars(text.data(), end, value, base);
  return !text.empty() && error == std::errc() && stop == end;
}

}  // namespace

bool decode_number(std::string_view text, Number& number) {
  number = {};
  const char second = text.size() > 1 && text[0] == '0' ? static_cast<char>(text[1] | 0x20) : '\0';
  if (second == 'f' || second == 'd') {
    const size_t digits = second == 'f' ? 8 : 16;
    number.is_real = true;
    number.is_f32 = second == 'f';
    return text.size() == digits + 2 && whole(text.substr(2), 16, number.bits);
  }
  std::string_view digits = text;
  if (!digits.empty() && digits.back() == 'U') digits.remove_suffix(1);
  if (second == 'x') return whole(digits.substr(2), 16, number.bits);
  if (second == 'b') return whole(digits.substr(2), 2, number.bits);
  if (text.find_first_of(".eE") != std::string_view::npos) {
    double value = 0;
    auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    number.is_real = true;
    number.bits = std::bit_cast<uint64_t>(value);
    return error == std::errc() && stop == text.data() + text.size();
  }
  return whole(digits, digits.size() > 1 && digits[0] == '0' ? 8 : 10, number.bits);
}

Lexer::Lexer(std::string_view text, const std::string& name) : text_(text), name_(name) {
  // Embedded PTX comes with the zero that ends it, sometimes with more as padding.
  while (!text_.empty() && text_.back() == '\0') text_.remove_suffix(1);
  at_ = text_.data();
  end_ = at_ + text_.size();
  if (text_.starts_with("\xef\xbb\xbf")) at_ += 3;  // byte order mark
}

void Lexer::skip_space() {
  while (at_ < end_) {
    if (is(*at_, space)) {
      line_ += *at_++ == '\n';
    } else if (*at_ == '/' && at_ + 1 < end_ && at_[1] == '/') {
      at_ = std::find(at_, end_, '\n');
    } else if (*at_ == '/' && at_ + 1 < end_ && at_[1] == '*') {
      const std::string_view rest(at_ + 2, static_cast<size_t>(end_ - at_ - 2));
      const size_t close = rest.find("*/");
      if (close == std::string_view::npos) fail(at_, "this comment does not end: expected '*/'");
      line_ += static_cast<uint32_t>(std::count(at_, at_ + 2 + close, '\n'));
      at_ += close + 4;
    } else {
      return;
    }
  }
}

// Takes a literal from a digit on, decimal point and exponent included. The sign of an exponent belongs to it only in
// decimal reals: 0x1e-5 is a difference.
void Lexer::take_number() {
  const char* start = at_;
  const bool prefixed = at_ + 1 < end_ && *at_ == '0' && is(at_[1], word_start);
  while (at_ < end_) {
    const bool sign = at_ > start && !prefixed && (*at_ == '-' || *at_ == '+') && (at_[-1] == 'e' || at_[-1] == 'E');
    if (!is(*at_, word_part) && !sign && !(*at_ == '.' && !prefixed)) break;
    at_++;
  }
}

Token Lexer::next() {
  skip_space();
  Token token;
  token.line = line_;
  const char* start = at_;
  const auto done = [&](Token::Kind kind) {
    token.kind = kind;
    token.text = std::string_view(start, static_cast<size_t>(at_ - start));
    return token;
  };
  if (at_ == end_) return done(Token::Kind::end);
  if (is(*at_, word_start)) {
    do at_++;
    while (at_ < end_ && is(*at_, word_part));
    return done(Token::Kind::word);
  }
  if (is(*at_, digit)) {
    take_number();
    return done(Token::Kind::number);
  }
  if (*at_ == '.') {
    at_++;
    start++;
    while (at_ < end_ && is(*at_, word_part)) at_++;
    if (at_ == start) fail(start - 1, "expected a name after '.'");
    return done(Token::Kind::directive);
  }
  if (*at_ == '"') {
    at_++;
    start++;
    while (at_ < end_ && *at_ != '"' && *at_ != '\n') at_ += *at_ == '\\' && at_ + 1 < end_ && at_[1] != '\n' ? 2 : 1;
    if (at_ >= end_ || *at_ != '"') fail(start - 1, "this string does not end on its line: expected '\"'");
    done(Token::Kind::string);
    at_++;
    return token;
  }
  if (is(*at_, punctuation)) {
    token.mark = *at_++;
    return done(Token::Kind::mark);
  }
  const unsigned byte = static_cast<uint8_t>(*at_);
  if (byte > ' ' && byte < 0x7f) fail(at_, std::string("PTX has no '") + *at_ + "' here");
  char hex[3] = {"0123456789abcdef"[byte >> 4], "0123456789abcdef"[byte & 15], 0};
  fail(at_, std::string("this is not PTX text: found the byte 0x") + hex);
}

std::string_view Lexer::mnemonic(const Token& word) {
  while (at_ < end_) {
    if (*at_ == '.' && at_ + 1 < end_ && is(at_[1], word_part)) {
      at_++;
    } else if (*at_ == ':' && at_ + 2 < end_ && at_[1] == ':' && is(at_[2], word_part)) {
      at_ += 2;
    } else {
      break;
    }
    while (at_ < end_ && is(*at_, word_part)) at_++;
  }
  return std::string_view(word.text.data(), static_cast<size_t>(at_ - word.text.data()));
}

bool Lexer::next_is(char mark) {
  skip_space();
  return at_ < end_ && *at_ == mark;
}

void Lexer::skip_block(const Token& open) {
  for (uint64_t depth = 1; depth > 0;) {
    skip_space();
    if (at_ == end_) fail(open.text.data(), "this '{' has no matching '}'");
    if (*at_ == '{') depth++;
    if (*at_ == '}') depth--;
    if (*at_ == '"') {
      next();
    } else {
      at_++;
    }
  }
}

bool Lexer::begins_line(const char* at) const {
  while (at > text_.data() && is(at[-1], space) && at[-1] != '\n') at--;
  return at == text_.data() || at[-1] == '\n';
}

void Lexer::fail(const char* at, std::string message) const {
  const char* begin = text_.data();
  at = std::clamp(at, begin, end_);
  const char* line = at;
  while (line > begin && line[-1] != '\n') line--;
  machine::Diagnostic d;
  d.message = std::move(message);
  d.place = {name_, static_cast<uint32_t>(std::count(begin, at, '\n') + 1), static_cast<uint32_t>(at - line + 1)};
  d.ptx_line = d.place.line;
  d.ptx_text = std::string(line, std::find(at, end_, '\n'));
  throw machine::Error(std::move(d));
}

}  // namespace coalesce::ptx
