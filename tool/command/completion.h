// Completion scripts for shells, made from CLI11's own description of the command, so they cannot drift from --help.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace coalesce::tool {

// `shell`: bash, zsh or fish.
std::string completion_script(const CLI::App& app, const std::string& shell);

}  // namespace coalesce::tool
