// libcuda.so.1: every function is a jump to the libcudart that the process has, of whichever version, so that both APIs
// have one state. Where it has none, the newest beside this file is loaded.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

constexpr const char* kRuntimes[] = {"libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0"};
constexpr char kTable[] = "__coalesceDriverFunctions";
constexpr int kFunctions = 0
#define X(name, base, since) +1
#include "cudart/driver/driver.def"
#undef X
    ;

using Table = const void* const* (*)();

Table table_of(void* library) {
  void* symbol = library != nullptr ? dlsym(library, kTable) : nullptr;
  Table table = nullptr;
  std::memcpy(&table, &symbol, sizeof table);
  return table;
}

Table find_table() {
  for (const char* name : kRuntimes)
    if (const Table table = table_of(dlopen(name, RTLD_NOW | RTLD_NOLOAD))) return table;
  // The name comes first: beside this file (DT_RUNPATH) there may be one for each level of CPUs.
  for (const char* name : kRuntimes)
    if (const Table table = table_of(dlopen(name, RTLD_NOW | RTLD_LOCAL))) return table;
  Dl_info self{};
  if (dladdr(&kTable, &self) == 0) return nullptr;
  const std::string path = self.dli_fname;
  const std::string folder = path.substr(0, path.rfind('/') + 1);
  for (const char* name : kRuntimes)
    if (const Table table = table_of(dlopen((folder + name).c_str(), RTLD_NOW | RTLD_LOCAL))) return table;
  return nullptr;
}

}  // namespace

extern "C" {
__attribute__((visibility("hidden"))) const void* coalesce_driver_jumps[kFunctions];
}

namespace {

// Before the program's own constructors, which may call us.
__attribute__((constructor(101))) void fill_jumps() {
  const Table table = find_table();
  if (table == nullptr) {
    std::fprintf(stderr, "coalesce: error: libcuda.so.1 finds no libcudart beside it: %s\n", dlerror());
    std::exit(3);
  }
  std::memcpy(coalesce_driver_jumps, table(), sizeof coalesce_driver_jumps);
}

}  // namespace

// One jump for each name, in the order of the table.
asm(".text\n.set coalesce_jump, 0\n");
#define X(name, base, since)                                                           \
  asm(".globl " #name "\n.type " #name ", @function\n.p2align 4\n" #name               \
      ":\n\tjmp *coalesce_driver_jumps+coalesce_jump(%rip)\n.size " #name ", .-" #name \
      "\n.set coalesce_jump, coalesce_jump+8\n");
#include "cudart/driver/driver.def"
#undef X
