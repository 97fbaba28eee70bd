// An error that ends the command: one `error:` line, perhaps one `hint:` line, and an exit code.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace coalesce::tool {

enum class Exit : int {
  done = 0,
  failed = 1,         // a result is wrong, or what is compared differs
  usage = 2,          // an option, a metric or a device nobody knows
  environment = 3,    // no compiler, no GPU, an installation with parts missing
  hazard = 4,         // a launch was stopped: memory error, deadlock, instruction budget
  not_started = 125,  // the program was not found, does not compile, or cannot run here: it did not begin
  interrupted = 130,
};

class Error : public std::runtime_error {
 public:
  Error(Exit exit_code, const std::string& message, std::string hint_text = "")
      : std::runtime_error(message), code(exit_code), hint(std::move(hint_text)) {}
  Exit code;
  std::string hint;  // what to do about it; empty: nothing useful to say
};

}  // namespace coalesce::tool
