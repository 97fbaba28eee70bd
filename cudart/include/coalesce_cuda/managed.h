// Tells the runtime, before any variable is registered, where this program or library has its __managed__ variables.
#pragma once

#if defined(__CUDA__) && !defined(__CUDA_ARCH__)
extern "C" {
// The linker's names for the section's bounds; null where no file of the program has such a variable.
extern char __start_coalesce_managed[] __attribute__((weak, visibility("hidden")));
extern char __stop_coalesce_managed[] __attribute__((weak, visibility("hidden")));
void __coalesceRegisterManaged(void* begin, void* end);
}
static __attribute__((constructor(101))) void coalesce_register_managed() {
  char *begin = __start_coalesce_managed, *end = __stop_coalesce_managed;
  if (begin != end) __coalesceRegisterManaged(begin, end);
}
#endif
