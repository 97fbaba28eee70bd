#include "native/tier/cpu.h"

#include <cstdint>

#if defined(__x86_64__)
#include <cpuid.h>
#else
#include <sys/auxv.h>
#endif

namespace coalesce::native {

std::string cpu_identity() {
  std::string text;
  const auto add = [&](uint32_t word) { text += std::to_string(word) + ' '; };
#if defined(__x86_64__)
  uint32_t a = 0, b = 0, c = 0, d = 0;
  // Leaf 0: vendor; 1: model and features, without the fields that say which core asks; 7: later features.
  if (__get_cpuid(0, &a, &b, &c, &d)) add(b), add(c), add(d);
  constexpr uint32_t kOsxsave = 1u << 27;
  bool saves = false;
  if (__get_cpuid(1, &a, &b, &c, &d)) add(a), add(c), add(d), saves = c & kOsxsave;
  for (uint32_t leaf = 0; leaf < 2; ++leaf)
    if (__get_cpuid_count(7, leaf, &a, &b, &c, &d)) add(a), add(b), add(c), add(d);
  if (__get_cpuid(0x80000001, &a, &b, &c, &d)) add(c), add(d);
  if (saves) {  // which registers the operating system keeps: without that a feature is of no use
    uint32_t low = 0, high = 0;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    add(low);
  }
#else
  add(static_cast<uint32_t>(getauxval(AT_HWCAP))), add(static_cast<uint32_t>(getauxval(AT_HWCAP2)));
#endif
  return text;
}

}  // namespace coalesce::native
