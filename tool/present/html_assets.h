// The page's script and style, as report/build.mjs made them.
#pragma once

#include <string_view>

namespace coalesce::tool {

std::string_view report_script();
std::string_view report_style();

}  // namespace coalesce::tool
