// Objects as entries of the cache folder.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "native/compile.h"

namespace coalesce::native {

std::string to_bytes(const Object& object);
// Nothing where the bytes are no object.
std::optional<Object> from_bytes(std::string_view bytes);

}  // namespace coalesce::native
