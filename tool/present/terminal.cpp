#include "tool/present/terminal.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <vector>

#include "tool/figures/findings.h"

namespace coalesce::tool {
namespace {

struct Character {
  std::string_view bytes;
  std::size_t width;
};

// One UTF-8 character from the front of `text`, which is not empty. A byte that starts none stands alone.
Character first(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  std::size_t size = lead < 0x80 ? 1 : (lead >> 5) == 6 ? 2 : (lead >> 4) == 14 ? 3 : (lead >> 3) == 30 ? 4 : 0;
  if (size == 0 || size > text.size()) return {text.substr(0, 1), 1};
  uint32_t code = size == 1 ? lead : lead & (0xffu >> (size + 1));
  for (std::size_t i = 1; i < size; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte >> 6) != 2) return {text.substr(0, 1), 1};
    code = code << 6 | (byte & 0x3f);
  }
  // Combining marks take no column; the blocks below take two. That is enough for names and paths, without a locale.
  const bool zero =
      (code >= 0x300 && code <= 0x36f) || code == 0x200b || code == 0x200d || (code >= 0xfe00 && code <= 0xfe0f);
  const bool wide = (code >= 0x1100 && code <= 0x115f) || (code >= 0x2e80 && code <= 0xa4cf) ||
                    (code >= 0xac00 && code <= 0xd7a3) || (code >= 0xf900 && code <= 0xfaff) ||
                    (code >= 0xff00 && code <= 0xff60) || (code >= 0x1f300 && code <= 0x1faff) ||
                    (code >= 0x20000 && code <= 0x3fffd);
  return {text.substr(0, size), zero ? 0u : wide ? 2u : 1u};
}

}  // namespace

bool use_colour(Colour wish, int descriptor) {
  if (wish != Colour::automatic) return wish == Colour::always;
  const char* no_colour = std::getenv("NO_COLOR");
  if (no_colour && *no_colour) return false;
  const char* term = std::getenv("TERM");
  return isatty(descriptor) == 1 && !(term && std::string_view(term) == "dumb");
}

std::string styled(std::string_view text, Style style, bool colour) {
  static constexpr const char* kCodes[] = {"", "1", "2", "32", "31"};
  const char* code = kCodes[static_cast<int>(style)];
  if (!colour || !*code || text.empty()) return std::string(text);
  return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

std::string plural(uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : noun.ends_with("ch") ? "es" : "s");
}

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  while (!text.empty()) {
    const Character character = first(text);
    width += character.width;
    text.remove_prefix(character.bytes.size());
  }
  return width;
}

std::string fit(std::string_view text, std::size_t columns) {
  if (display_width(text) <= columns) return std::string(text);
  if (columns == 0) return "";
  std::vector<Character> characters;
  while (!text.empty()) {
    characters.push_back(first(text));
    text.remove_prefix(characters.back().bytes.size());
  }
  // The end of a path or a name tells more than its middle.
  const std::size_t back = (columns - 1) / 2, front = columns - 1 - back;
  std::string result;
  std::size_t used = 0;
  for (const Character& c : characters) {
    if (used + c.width > front) break;
    used += c.width;
    result += c.bytes;
  }
  result += "…";
  used = 0;
  std::size_t start = characters.size();
  while (start > 0 && used + characters[start - 1].width <= back) used += characters[--start].width;
  for (; start < characters.size(); ++start) result += characters[start].bytes;
  return result;
}

std::string grouped(uint64_t value) {
  const std::string digits = std::to_string(value);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

std::string compact(uint64_t value) { return count_text(value); }

std::vector<std::string> wrapped(std::string_view text, std::size_t width, std::size_t indent) {
  std::vector<std::string> lines(1);
  std::size_t used = 0;
  bool fresh = true;  // no word in the line yet
  while (!text.empty()) {
    const std::size_t start = text.find_first_not_of(' ');
    if (start == std::string_view::npos) break;
    text.remove_prefix(start);
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(word.size());
    const std::size_t size = display_width(word);
    if (!fresh && used + 1 + size > width) {
      lines.emplace_back(indent, ' ');
      used = indent, fresh = true;
    }
    if (!fresh) lines.back() += ' ', ++used;
    lines.back() += word;
    used += size, fresh = false;
  }
  return lines;
}

std::size_t terminal_width(int descriptor) {
  constexpr std::size_t kNone = 80, kLeast = 40;
  winsize size{};
  if (isatty(descriptor) != 1 || ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kNone;
  return std::max<std::size_t>(size.ws_col, kLeast);
}

std::string fixed(double value, int digits) { return fmt::format("{:.{}f}", value, digits); }

void print_error(const std::string& message, const std::string& hint, bool colour) {
  std::cerr << styled("error:", Style::bad, colour) << ' ' << message << '\n';
  if (!hint.empty()) std::cerr << styled("hint:", Style::bold, colour) << ' ' << hint << '\n';
}

}  // namespace coalesce::tool
