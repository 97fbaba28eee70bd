// The comments of an experiment's source: the title of the experiment, and the change of each rung.
#pragma once

#include <string>

namespace coalesce::tool {

// The first sentence of the comment that a source begins with, without its full stop. Empty: it begins with none.
std::string title_of(const std::string& source);

struct Comment {
  std::string changed;   // what comes before "Counters:"
  std::string expected;  // what comes after it
};
// The comment right before the kernel of that name, or before the host function of that name if there is no such
// kernel. A heading "Rung 3." is left out. Empty: there is none.
Comment comment_of(const std::string& source, const std::string& name);

}  // namespace coalesce::tool
