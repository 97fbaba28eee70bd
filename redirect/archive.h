// The code of a libcudart_static.a, to be found again in what was linked with it and then stripped.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "redirect/static_runtime.h"

namespace coalesce::redirect {

struct Code {
  std::string_view text;            // of the archive's bytes
  std::vector<bool> linked;         // per byte of text: the linker writes it
  uint64_t run = 0, run_bytes = 0;  // the longest part of it that the linker leaves as it is
  std::vector<Entry> entries;       // their addresses are places in `text`
};

// `archive`: the whole file, which outlives the result. None: it holds no runtime whose code lies in one section.
std::optional<Code> read_code(std::string_view archive);

// The place of `code` in `bytes`, equal in everything that the linker does not write. None: it is not there.
std::optional<uint64_t> find_code(const Code& code, std::string_view bytes);

}  // namespace coalesce::redirect
