#include "redirect/patch.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "redirect/mapped_file.h"
#include "redirect/static_runtime.h"

namespace coalesce::redirect {
namespace {

// jmp *0(%rip), and the address behind it.
constexpr unsigned char kJump[6] = {0xff, 0x25, 0, 0, 0, 0};
static_assert(sizeof kJump + sizeof(uint64_t) == kJumpBytes);

int protection(uint32_t flags) {
  return ((flags & PF_R) != 0 ? PROT_READ : 0) | ((flags & PF_W) != 0 ? PROT_WRITE : 0) |
         ((flags & PF_X) != 0 ? PROT_EXEC : 0);
}

}  // namespace

bool write_jumps(const std::vector<Jump>& jumps, std::string_view file, uint64_t base) {
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  for (const Elf64_Phdr& segment : program_of(file).segments()) {
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
    const uint64_t begin = base + segment.p_vaddr, end = begin + segment.p_memsz;
    uint64_t lowest = end, highest = begin;
    const auto inside = [&](const Jump& j) { return j.from >= begin && j.from < end && end - j.from >= kJumpBytes; };
    for (const Jump& j : jumps) {
      if (!inside(j)) continue;
      lowest = std::min(lowest, j.from);
      highest = std::max(highest, j.from + kJumpBytes);
    }
    if (lowest >= highest) continue;
    auto* first = reinterpret_cast<void*>(lowest / page * page);
    const uint64_t bytes = (highest + page - 1) / page * page - lowest / page * page;
    if (mprotect(first, bytes, PROT_READ | PROT_WRITE) != 0) return false;
    for (const Jump& j : jumps) {
      if (!inside(j)) continue;
      std::memcpy(reinterpret_cast<void*>(j.from), kJump, sizeof kJump);
      std::memcpy(reinterpret_cast<void*>(j.from + sizeof kJump), &j.to, sizeof j.to);
    }
    if (mprotect(first, bytes, protection(segment.p_flags & ~uint32_t{PF_W})) != 0) return false;
  }
  return true;
}

}  // namespace coalesce::redirect
