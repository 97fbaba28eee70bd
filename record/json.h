// JSON text, written by libraries that programs load: no dependency, and no locale (a program may have set one with
// decimal commas).
#pragma once

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace coalesce::record {

inline void put(std::string& out, std::string_view text) { out += text; }

inline void put(std::string& out, uint64_t number) {
  char digits[24];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
}

// A JSON string: quotes, backslashes and control characters escaped; other bytes as they are.
inline void put_string(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", c);
      out += escape;
    } else {
      out += c;
    }
  }
  out += '"';
}

// Seconds, rounded to nanoseconds. Negative ones, and those that are no number, are written as 0.
inline void put_seconds(std::string& out, double seconds) {
  const auto n = seconds > 0 && seconds < 1e9 ? static_cast<uint64_t>(std::llround(seconds * 1e9)) : uint64_t{0};
  constexpr uint64_t kNano = 1'000'000'000;
  char text[40];
  std::snprintf(text, sizeof text, "%llu.%09llu", static_cast<unsigned long long>(n / kNano),
                static_cast<unsigned long long>(n % kNano));
  out += text;
}

inline void put_key(std::string& out, std::string_view key) {
  if (!out.empty() && out.back() != '{') out += ',';
  put_string(out, key);
  out += ':';
}

inline void put_member(std::string& out, std::string_view key, std::string_view text) {
  put_key(out, key);
  put_string(out, text);
}
inline void put_member(std::string& out, std::string_view key, uint64_t number) {
  put_key(out, key);
  put(out, number);
}
inline void put_seconds_member(std::string& out, std::string_view key, double seconds) {
  put_key(out, key);
  put_seconds(out, seconds);
}
inline void put_triple(std::string& out, std::string_view key, const std::array<uint32_t, 3>& v) {
  put_key(out, key);
  out += '[';
  put(out, v[0]);
  out += ',';
  put(out, v[1]);
  out += ',';
  put(out, v[2]);
  out += ']';
}
inline void put_seconds_list(std::string& out, std::string_view key, const std::vector<double>& seconds) {
  put_key(out, key);
  out += '[';
  for (const double& s : seconds) {
    if (&s != seconds.data()) out += ',';
    put_seconds(out, s);
  }
  out += ']';
}

}  // namespace coalesce::record
