// The language in which claims are judged (claims.h): read and evaluated in one pass, without a tree.
#include <fmt/format.h>

#include <charconv>
#include <stdexcept>

#include "tool/figures/claims.h"

namespace coalesce::tool {
namespace {

bool letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool digit(char c) { return c >= '0' && c <= '9'; }

class Reader {
 public:
  Reader(std::string_view text, const std::function<double(const Name&)>& lookup, bool plain)
      : text_(text), lookup_(lookup), plain_(plain) {}

  double whole() {
    const double value = either();
    skip();
    if (at_ != text_.size()) fail("an operator expected");
    return value;
  }

 private:
  static constexpr int kDepth = 64;  // of parentheses and signs

  [[noreturn]] void fail(const std::string& what) const {
    throw std::invalid_argument(fmt::format("'{}', column {}: {}", text_, at_ + 1, what));
  }
  void skip() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool take(std::string_view symbol) {
    skip();
    if (!text_.substr(at_).starts_with(symbol)) return false;
    const std::size_t end = at_ + symbol.size();
    if (letter(symbol[0]) && end < text_.size() && (letter(text_[end]) || digit(text_[end]))) return false;
    at_ = end;
    return true;
  }
  void expect(std::string_view symbol) {
    if (!take(symbol)) fail(fmt::format("'{}' expected", symbol));
  }

  // Both sides of `and` and `or` are evaluated: a name that is wrong is found out whatever the figures are.
  double either() {
    double value = both();
    while (take("or")) {
      const double right = both();
      value = value != 0 || right != 0;
    }
    return value;
  }
  double both() {
    double value = comparison();
    while (take("and")) {
      const double right = comparison();
      value = value != 0 && right != 0;
    }
    return value;
  }
  double comparison() {
    const double left = sum();
    // Longer symbols first.
    for (const std::string_view symbol : {"<=", ">=", "==", "!=", "<", ">"}) {
      if (!take(symbol)) continue;
      const double right = sum();
      if (symbol == "<=") return left <= right;
      if (symbol == ">=") return left >= right;
      if (symbol == "==") return left == right;
      if (symbol == "!=") return left != right;
      return symbol == "<" ? left < right : left > right;
    }
    return left;
  }
  double sum() {
    double value = product();
    for (;;) {
      if (take("+")) {
        value += product();
      } else if (take("-")) {
        value -= product();
      } else {
        return value;
      }
    }
  }
  double product() {
    double value = factor();
    for (;;) {
      if (take("*")) {
        value *= factor();
      } else if (take("/")) {
        const double divisor = factor();
        if (divisor == 0) fail("division by zero");
        value /= divisor;
      } else {
        return value;
      }
    }
  }
  double factor() {
    if (depth_ == kDepth) fail("nested too deep");
    ++depth_;
    double value = 0;
    if (take("(")) {
      value = either();
      expect(")");
    } else if (take("-")) {
      value = -factor();
    } else {
      value = operand();
    }
    --depth_;
    return value;
  }
  double operand() {
    skip();
    if (at_ < text_.size() && digit(text_[at_])) return number();
    Name name;
    if (take("'")) {
      const auto end = text_.find('\'', at_);
      if (end == std::string_view::npos) fail("the closing quote is missing");
      name.rung = text_.substr(at_, end - at_);
      at_ = end + 1;
    } else {
      name.rung = identifier();
      if (name.rung == "value" || name.rung == "figure" || (plain_ && !text_.substr(at_).starts_with('.'))) {
        name.quantity.swap(name.rung);
        return lookup_(name);
      }
    }
    expect(".");
    name.quantity = identifier();
    if (name.quantity == "step") {
      expect("[");
      skip();
      const double step = number();
      if (step < 1 || step > 64 || step != static_cast<double>(static_cast<int>(step))) fail("no such step");
      name.step = static_cast<std::size_t>(step);
      expect("]");
      expect(".");
      name.quantity = identifier();
    }
    return lookup_(name);
  }
  double number() {
    double value = 0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc()) fail("a number expected");
    at_ = static_cast<std::size_t>(end - text_.data());
    return value;
  }
  std::string identifier() {
    skip();
    const std::size_t start = at_;
    while (at_ < text_.size() && (letter(text_[at_]) || (at_ > start && digit(text_[at_])))) ++at_;
    if (at_ == start) fail("a number or a name expected");
    return std::string(text_.substr(start, at_ - start));
  }

  std::string_view text_;
  const std::function<double(const Name&)>& lookup_;
  std::size_t at_ = 0;
  bool plain_;
  int depth_ = 0;
};

}  // namespace

double evaluate(std::string_view expression, const std::function<double(const Name&)>& lookup, bool plain) {
  return Reader(expression, lookup, plain).whole();
}

}  // namespace coalesce::tool
