#include "cudart/check/trace.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>
#include <unwind.h>

#include <algorithm>
#include <cstdio>
#include <string_view>
#include <utility>

namespace coalesce::cudart {
namespace {

constexpr std::size_t kMostFrames = 24;

struct Walk {
  Frames frames;
  uintptr_t from = 0, to = 0;  // this library
};

_Unwind_Reason_Code take_frame(_Unwind_Context* context, void* data) {
  auto& walk = *static_cast<Walk*>(data);
  int exact = 0;  // of a signal's frame: not the address behind a call
  const uintptr_t at = _Unwind_GetIPInfo(context, &exact);
  if (at == 0) return _URC_END_OF_STACK;
  if (at >= walk.from && at < walk.to) return _URC_NO_REASON;
  walk.frames.push_back(exact != 0 ? at : at - 1);
  return walk.frames.size() < kMostFrames ? _URC_NO_REASON : _URC_END_OF_STACK;
}

// Where the object that holds `inside` is mapped.
struct LoadedObject {
  uintptr_t inside, from = 0, to = 0;
};

int find_object(dl_phdr_info* info, size_t, void* data) {
  auto& object = *static_cast<LoadedObject*>(data);
  uintptr_t from = UINTPTR_MAX, to = 0;
  for (int k = 0; k < info->dlpi_phnum; ++k) {
    const auto& part = info->dlpi_phdr[k];
    if (part.p_type != PT_LOAD) continue;
    from = std::min<uintptr_t>(from, info->dlpi_addr + part.p_vaddr);
    to = std::max<uintptr_t>(to, info->dlpi_addr + part.p_vaddr + part.p_memsz);
  }
  if (object.inside < from || object.inside >= to) return 0;
  object.from = from;
  object.to = to;
  return 1;
}

}  // namespace

Frames frames_here() {
  static const LoadedObject self = [] {
    LoadedObject o{reinterpret_cast<uintptr_t>(&take_frame)};
    dl_iterate_phdr(find_object, &o);
    return o;
  }();
  Walk walk{{}, self.from, self.to};
  walk.frames.reserve(kMostFrames);
  _Unwind_Backtrace(take_frame, &walk);
  return std::move(walk.frames);
}

machine::Trace trace_of(std::string title, const Frames& frames) {
  machine::Trace trace{std::move(title), {}};
  for (const uintptr_t at : frames) {
    Dl_info info{};
    link_map* map = nullptr;
    if (dladdr1(reinterpret_cast<void*>(at), &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) == 0) continue;
    // The loader gives the program itself no name.
    const char* file = map->l_name != nullptr && *map->l_name != '\0' ? map->l_name : "/proc/self/exe";
    char path[4096];
    if (std::string_view(file) == "/proc/self/exe") {
      const ssize_t length = readlink(file, path, sizeof path - 1);
      if (length <= 0) continue;
      path[length] = '\0';
      file = path;
    }
    char offset[32];
    std::snprintf(offset, sizeof offset, "+0x%zx", static_cast<std::size_t>(at - map->l_addr));
    trace.frames.push_back(std::string(file) + offset);
  }
  return trace;
}

}  // namespace coalesce::cudart
