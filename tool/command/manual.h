// The manual page, made from CLI11's own description of the command, so it cannot drift from --help.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace coalesce::tool {

// coalesce(1) in the man macros of roff: a section for each subcommand, with its options and examples.
std::string manual_page(const CLI::App& app);

}  // namespace coalesce::tool
