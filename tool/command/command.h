// All of the command `coalesce`.
#pragma once

#include <string>

namespace coalesce::tool {

// main() calls this: it reads the command line, runs the subcommand, prints errors. Returns the exit code.
int command(int argc, const char* const* argv, const std::string& version);

}  // namespace coalesce::tool
