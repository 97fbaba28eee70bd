// All of the command `coalesce`.
#pragma once

#include <string>

namespace coalesce::tool {

// What main() does: reads the command line, runs the subcommand, prints errors. Returns the exit code.
int command(int argc, const char* const* argv, const std::string& version);

}  // namespace coalesce::tool
