#include "tests/random/reduce.h"

#include <algorithm>

namespace coalesce::machine::test {

GeneratedKernel reduced(GeneratedKernel k, const std::function<bool(const GeneratedKernel&)>& still) {
  constexpr const char* kInitialisers[] = {"ld.param.b32",   "mov.u32 %c",     "and.b32 %c",
                                           "setp.lt.u32 %p", "mov.u32 %t",     "mov.u32 %v",
                                           "cvt.u64.u32 %w", "cvt.u16.u32 %h", "mov.b128 %q"};
  for (std::size_t lines = 32; lines > 0; lines /= 2)
    for (std::size_t at = k.ptx.find("mov.u32 %c0, B"); at < k.ptx.size();) {
      std::size_t end = at;
      for (std::size_t l = 0; l < lines; ++l) end = std::min(k.ptx.find('\n', end), k.ptx.size() - 1) + 1;
      GeneratedKernel less = k;
      less.ptx.erase(at, end - at);
      const std::string gone = k.ptx.substr(at, end - at);
      const bool initialises = std::any_of(std::begin(kInitialisers), std::end(kInitialisers),
                                           [&](const char* text) { return gone.find(text) != std::string::npos; });
      if (!initialises && still(less))
        k = less;
      else
        at = k.ptx.find('\n', at) + 1;
    }
  return k;
}

}  // namespace coalesce::machine::test
