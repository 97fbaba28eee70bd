#include "machine/users_place.h"

namespace coalesce::machine {

bool is_system_file(std::string_view path) {
  for (const char* folder : {"/usr/include/", "/usr/lib/", "/usr/local/cuda", "/opt/"})
    if (path.starts_with(folder)) return true;
  return path.find("/targets/x86_64-linux/include/") != std::string_view::npos;
}

const SourcePlace& users_place(const SourcePlace& place, const std::vector<SourcePlace>& inlined_at) {
  if (place.file.empty() || !is_system_file(place.file)) return place;
  for (const SourcePlace& at : inlined_at)
    if (!at.file.empty() && !is_system_file(at.file)) return at;
  return place;
}

}  // namespace coalesce::machine
