// Kernels' names: mangled in a record, as people write them in tables.
#pragma once

#include <string>

namespace coalesce::record {

// Demangles; text that is no mangled name comes back as it is.
std::string demangle(const std::string& mangled);
// "void (anonymous namespace)::reduce<512u>(int const*, int)" -> "reduce<512u>".
std::string shorten(const std::string& demangled);
// "reduce<512u>" -> "reduce".
std::string without_template_arguments(const std::string& short_name);

}  // namespace coalesce::record
