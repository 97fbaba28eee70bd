#include "machine/ptx/reader.h"

#include <algorithm>
#include <array>

namespace coalesce::ptx {
namespace {

// Directives that begin a statement at module scope. They end a directive that is not known.
constexpr auto module_directives = std::to_array<std::string_view>({
    "address_size",
    "alias",
    "common",
    "const",
    "entry",
    "extern",
    "file",
    "func",
    "global",
    "loc",
    "section",
    "shared",
    "target",
    "version",
    "visible",
    "weak",
});

}  // namespace

void Reader::unexpected(std::string_view wanted) const {
  std::string message = "expected " + std::string(wanted) + ", found ";
  if (at_end()) {
    message += "the end of the text";
  } else {
    constexpr size_t longest = 60;
    message += is_directive() ? "'." : "'";
    message += token.text.substr(0, longest);
    message += token.text.size() > longest ? "...'" : "'";
  }
  fail(std::move(message));
}

void Reader::expect(char mark, std::string_view where) {
  if (is(mark)) return advance();
  unexpected(std::string("'") + mark + "' " + std::string(where));
}

std::string_view Reader::name(std::string_view what) {
  if (!is_word() && token.kind != Token::Kind::string) unexpected(what);
  const std::string_view text = token.text;
  advance();
  return text;
}

uint64_t Reader::product() {
  uint64_t value = 1;
  for (bool first = true; first || accept('*'); first = false) {
    bool negative = false, inverted = false;
    if (accept('~')) inverted = true;
    while (is('-') || is('+')) {
      negative ^= is('-');
      advance();
    }
    Number factor;
    if (is_word() && token.text == "WARP_SZ") {
      factor.bits = 32;
    } else if (token.kind != Token::Kind::number) {
      unexpected("an integer");
    } else if (!decode_number(token.text, factor)) {
      fail("'" + std::string(token.text.substr(0, 60)) + "' is no number of PTX, or does not fit into 64 bits");
    } else if (factor.is_real) {
      unexpected("an integer");
    }
    advance();
    if (negative) factor.bits = 0 - factor.bits;
    value *= inverted ? ~factor.bits : factor.bits;
  }
  return value;
}

Number Reader::number() {
  bool negative = false;
  while (is('-') || is('+')) {
    negative ^= is('-');
    advance();
  }
  Number result;
  if (token.kind == Token::Kind::number && decode_number(token.text, result) && result.is_real) {
    advance();
    if (negative) result.bits ^= result.is_f32 ? uint64_t{1} << 31 : uint64_t{1} << 63;
    return result;
  }
  result = {};
  result.bits = product();
  if (negative) result.bits = 0 - result.bits;
  while (is('+') || is('-')) {
    const bool minus = is('-');
    advance();
    const uint64_t term = product();
    result.bits = minus ? result.bits - term : result.bits + term;
  }
  return result;
}

int64_t Reader::integer(std::string_view what) {
  const Token start = token;
  const Number value = number();
  if (value.is_real)
    lexer.fail(start.text.data(), "expected " + std::string(what) + ", an integer; found a real number");
  return static_cast<int64_t>(value.bits);
}

uint32_t Reader::small_integer(std::string_view what) {
  const Token start = token;
  const int64_t value = integer(what);
  if (value < 0 || value > UINT32_MAX)
    lexer.fail(start.text.data(),
               std::string(what) + " must lie between 0 and 4294967295, found " + std::to_string(value));
  return static_cast<uint32_t>(value);
}

std::string Reader::string(std::string_view what) {
  if (token.kind != Token::Kind::string) unexpected(what);
  std::string result;
  for (size_t i = 0; i < token.text.size(); i++) {
    // Only the quote and the backslash are escaped in what compilers write (Windows paths).
    if (token.text[i] == '\\' && i + 1 < token.text.size() && (token.text[i + 1] == '\\' || token.text[i + 1] == '"'))
      i++;
    result += token.text[i];
  }
  advance();
  return result;
}

void Reader::skip_statement(bool in_body) {
  bool continues = true;  // the token before says that more follows
  advance();
  while (!at_end() && !is('}')) {
    if (accept(';')) return;
    if (is('{')) {
      lexer.skip_block(token);
      return advance();
    }
    const auto known = [&] {
      return std::find(module_directives.begin(), module_directives.end(), token.text) != module_directives.end();
    };
    if (is_directive() && lexer.begins_line(token.text.data() - 1) && known()) return;
    if (in_body && !continues && (is_word() || is('@')) && lexer.begins_line(token.text.data())) return;
    continues = is(',') || is('(') || is('+') || is('-');
    advance();
  }
}

}  // namespace coalesce::ptx
