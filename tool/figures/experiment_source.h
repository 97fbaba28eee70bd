// What the comments of an experiment's source say: the title of the experiment, and what each rung changes.
#pragma once

#include <string>

namespace coalesce::tool {

// The first sentence of the comment that a source begins with, without its full stop. Empty: it begins with none.
std::string title_of(const std::string& source);

struct Comment {
  std::string changed;   // what comes before "Counters:"
  std::string expected;  // what comes after it
};
// Of the comment right before the kernel of that name or, where there is no such kernel, the host function of that
// name. A heading "Rung 3." is left out. Empty: there is none.
Comment comment_of(const std::string& source, const std::string& name);

}  // namespace coalesce::tool
