// Has no runtime; opens a library that has one, and has it tell.
#include <dlfcn.h>

#include <cstdio>
#include <cstring>

int main(int words, char** word) {
  void* library = words > 1 ? dlopen(word[1], RTLD_NOW) : nullptr;
  void* function = library != nullptr ? dlsym(library, "tell") : nullptr;
  if (function == nullptr) return std::puts("nothing to open"), 1;
  void (*tell)() = nullptr;
  std::memcpy(&tell, &function, sizeof tell);
  tell();
  return 0;
}
