// Mistakes of this machine that lowering finds: an internal error, never a guess at the nearest handler.
#pragma once

#include <stdexcept>
#include <string>

namespace coalesce::machine {

// `what` and the value that was met, as "an atomic of width" and 3.
[[noreturn]] inline void no_handler(const char* what, unsigned value) {
  throw std::logic_error(std::string("internal error: no handler for ") + what + " " + std::to_string(value));
}
template <class E>
[[noreturn]] void no_handler(const char* what, E value) {
  no_handler(what, static_cast<unsigned>(value));
}

}  // namespace coalesce::machine
