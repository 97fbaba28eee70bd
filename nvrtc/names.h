// Name expressions: from `kernel<float>` to the symbol in the PTX.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace coalesce::nvrtc {

// Text to append to a source: for each expression a variable that holds its address. That instantiates templates, and
// the PTX says to which symbol the variable points.
std::string name_variables(const std::vector<std::string>& expressions);

// Removes those variables from the PTX and returns the symbols by expression. One that is missing is left out.
std::map<std::string, std::string> take_names(const std::vector<std::string>& expressions, std::string& ptx);

}  // namespace coalesce::nvrtc
