// See unsupported.cpp. A file of its own: here the names are declared without arguments, which the caller owns in the C
// calling convention, so that one shape serves for all.
#include "cudart/api/unsupported.h"

#define X(name)                                                        \
  extern "C" __attribute__((visibility("default"), weak)) int name() { \
    static std::atomic<bool> said{false};                              \
    return coalesce::cudart::refuse(#name, said);                      \
  }
#include "cudart/api/symbols.def"
#undef X
