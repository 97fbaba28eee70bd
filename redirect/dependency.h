// A loaded object's dynamic section: what it needs besides what its file says.
#pragma once

#include <link.h>

#include <string_view>

namespace coalesce::redirect {

// Makes the library at `path` a dependency of an object that is mapped and whose dependencies are not looked at yet
// (la_objopen). `path` must live as long as the object. False: its dynamic section has no room.
bool add_dependency(const link_map& object, std::string_view file, const char* path);

}  // namespace coalesce::redirect
