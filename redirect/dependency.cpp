#include "redirect/dependency.h"

#include <cstdint>

#include "redirect/mapped_file.h"

namespace coalesce::redirect {

// Linkers leave empty entries at the end of the section. A name is an offset into the string table, and offsets wrap
// around, so that one may lead to any address.
bool add_dependency(const link_map& object, std::string_view file, const char* path) {
  uint64_t room = 0;
  for (const Elf64_Phdr& segment : program_of(file).segments())
    if (segment.p_type == PT_DYNAMIC) room = segment.p_memsz / sizeof(Elf64_Dyn);
  uint64_t strings = 0, n = 0;
  for (; n < room && object.l_ld[n].d_tag != DT_NULL; ++n)
    if (object.l_ld[n].d_tag == DT_STRTAB) strings = object.l_ld[n].d_un.d_ptr;
  if (strings == 0 || n + 1 >= room || object.l_ld[n + 1].d_tag != DT_NULL) return false;
  if (strings < object.l_addr) strings += object.l_addr;  // some C libraries leave it as it is in the file
  object.l_ld[n].d_un.d_val = reinterpret_cast<uintptr_t>(path) - strings;
  object.l_ld[n].d_tag = DT_NEEDED;
  return true;
}

}  // namespace coalesce::redirect
