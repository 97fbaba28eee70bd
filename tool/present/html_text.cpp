#include "tool/present/html_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tool/present/terminal.h"

namespace coalesce::tool {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

// Bytes of the UTF-8 sequence that `text` starts with; 0: it starts with none. Overlong forms, surrogates and what is
// above U+10FFFF are no UTF-8 (Unicode 15, table 3-7).
std::size_t sequence_length(std::string_view text) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = at(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xC2 && first <= 0xDF   ? 2
                             : first >= 0xE0 && first <= 0xEF ? 3
                             : first >= 0xF0 && first <= 0xF4 ? 4
                                                              : 0;
  if (length == 0 || text.size() < length) return 0;
  const unsigned char low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  const unsigned char high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  if (at(1) < low || at(1) > high) return 0;
  for (std::size_t i = 2; i < length; ++i) {
    if (at(i) < 0x80 || at(i) > 0xBF) return 0;
  }
  return length;
}

}  // namespace

std::string escape(std::string_view text) {
  std::string out;
  out.reserve(text.size() + text.size() / 8);
  while (!text.empty()) {
    const std::size_t length = sequence_length(text);
    const char c = text[0];
    const bool control = static_cast<unsigned char>(c) < 0x20 && c != '\t' && c != '\n';
    if (length == 0 || control || c == 0x7F) {
      out += kReplacement;
    } else if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '"') {
      out += "&quot;";
    } else if (c == '\'') {
      out += "&#39;";
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out;
}

std::string json_for_script(const nlohmann::ordered_json& value) {
  const std::string json = value.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  std::string out;
  out.reserve(json.size());
  for (const char c : json) {
    if (c == '<') {
      out += "\\u003c";  // outside of strings JSON has no `<`
    } else {
      out += c;
    }
  }
  return out;
}

std::string figure(double value, int digits) {
  if (!std::isfinite(value)) return "-";
  if (value == 0) return "0";
  const double size = std::fabs(value);
  if (size >= 1e18) return fmt::format("{:.{}g}", value, digits);
  const int whole = static_cast<int>(std::floor(std::log10(size))) + 1;  // digits before the point
  std::string text = fmt::format("{:.{}f}", size, std::clamp(digits - whole, 0, 20));
  if (const auto point = text.find('.'); point != std::string::npos) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
  }
  const auto point = text.find('.');
  const std::string fraction = point == std::string::npos ? "" : text.substr(point);
  return (value < 0 ? "-" : "") + grouped(std::stoull(text.substr(0, point))) + fraction;
}

std::string Ids::make(std::string_view text) {
  std::string id;
  for (const char c : text) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    if (letter) {
      id += c;
    } else if (!id.empty() && id.back() != '-') {
      id += '-';
    }
    if (id.size() >= 80) break;
  }
  while (!id.empty() && id.back() == '-') id.pop_back();
  if (id.empty()) id = "x";
  std::string unique = id;
  for (int n = 2; !given_.insert(unique).second; ++n) unique = fmt::format("{}-{}", id, n);
  return unique;
}

}  // namespace coalesce::tool
