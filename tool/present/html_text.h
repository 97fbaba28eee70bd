// Text that goes into an HTML page. Whatever a kernel, a file or a program is called, it must not become markup.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>

namespace coalesce::tool {

// For element content and for attribute values in either quotes. Bytes that are no UTF-8, and control characters that
// HTML does not allow, become U+FFFD.
std::string escape(std::string_view text);

// JSON that can stand in a <script> element: `<` is written \u003c, so nothing in it can end the element or open a
// comment. Bytes that are no UTF-8 become U+FFFD.
std::string json_for_script(const nlohmann::ordered_json& value);

// At most `digits` significant digits and no exponent: 7.9412 -> "7.94", 12345.6 -> "12,346", 0.00012 -> "0.00012".
// "-" for what is no finite number.
std::string figure(double value, int digits = 3);

// Ids for elements: letters, digits and - of `text`, and a number where that was given out before.
class Ids {
 public:
  std::string make(std::string_view text);

 private:
  std::set<std::string> given_;
};

}  // namespace coalesce::tool
