// Random kernels as ptxas takes them, and which of them leave their result open.
#pragma once

#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "tests/random/generator.h"

namespace coalesce::machine::test {

inline void replace(std::string& text, std::string_view from, std::string_view to, std::size_t at = 0) {
  while ((at = text.find(from, at)) != std::string::npos) {
    text.replace(at, from.size(), to);
    at += to.size();
  }
}

// Instructions that clear the registers that `declarations` names: what they hold at first is undefined.
inline std::string zeros(const std::string& declarations) {
  std::string text;
  for (std::size_t at = 0; (at = declarations.find(".reg .", at)) != std::string::npos; ++at) {
    char type[8], name[8];
    unsigned count = 0;
    if (std::sscanf(declarations.c_str() + at, ".reg .%7s %%%7[a-z]<%u>", type, name, &count) != 3) continue;
    for (unsigned i = 0; i < count; ++i) {
      const std::string reg = std::string("%") + name + std::to_string(i);
      if (std::string(type) == "pred")
        text += "  setp.ne.u32 " + reg + ", %s_tid_x, %s_tid_x;\n";
      else if (std::string(type) == "b128")
        text += "  mov.b128 " + reg + ", {%rd0, %rd0};\n";
      else
        text += "  mov." + std::string(type) + " " + reg + ", 0;\n";
    }
  }
  return text;
}

// Instructions that clear the block's shared arrays, which hold anything at first. Every thread is there.
inline std::string cleared(const std::string& declarations) {
  std::string text;
  for (std::size_t at = 0; (at = declarations.find(".shared ", at)) != std::string::npos; ++at) {
    char name[8];
    unsigned align = 0, words = 0;
    if (std::sscanf(declarations.c_str() + at, ".shared .align %u .b32 %7[A-Z][%u]", &align, name, &words) != 3)
      continue;
    const std::string loop = std::string("$ZERO_") + name, array = name;
    text += "  mov.u32 %s_at, " + array +
            ";\n  mad.lo.u32 %s_at, %s_thread, 4, %s_at;\n  mov.u32 %s_word, %s_thread;\n" + loop +
            ":\n  setp.lt.u32 %s_in, %s_word, " + std::to_string(words) +
            ";\n  @%s_in st.shared.u32 [%s_at], 0;\n  add.u32 %s_word, %s_word, %s_threads;\n"
            "  mad.lo.u32 %s_at, %s_threads, 4, %s_at;\n  setp.lt.u32 %s_in, %s_word, " +
            std::to_string(words) + ";\n  @%s_in bra " + loop + ";\n";
  }
  return text.empty() ? text : text + "  bar.sync 0;\n";
}

// The kernel as ptxas takes it, which the machine's reader does not ask for: special registers as operands of `mov`
// only. And %warpid from the thread's indices: hardware gives a warp's slot.
inline GeneratedKernel legal(GeneratedKernel k) {
  const std::size_t entry = k.ptx.find(".visible .entry"), first = k.ptx.find("\n  ", entry) + 1;
  std::string body = k.ptx.substr(first);
  for (const char* const name : {"laneid", "warpid", "tid.x", "tid.y", "tid.z", "ntid.x", "ntid.y", "ctaid.x"}) {
    std::string own = std::string("%s_") + name;
    replace(own, ".", "_");
    replace(body, std::string("%") + name, own);
  }
  std::string start =
      ".reg .b32 %s_laneid, %s_warpid, %s_tid_x, %s_tid_y, %s_tid_z, %s_ntid_x, %s_ntid_y, %s_ctaid_x, "
      "%s_thread, %s_threads, %s_at, %s_word;\n.reg .pred %s_in;\n";
  for (const char* const name : {"laneid", "tid.x", "tid.y", "tid.z", "ntid.x", "ntid.y", "ctaid.x"}) {
    std::string own = std::string("%s_") + name;
    replace(own, ".", "_");
    start += "  mov.u32 " + own + ", %" + name + ";\n";
  }
  start +=
      "  mad.lo.u32 %s_warpid, %s_tid_z, %s_ntid_y, %s_tid_y;\n  mad.lo.u32 %s_warpid, %s_warpid, %s_ntid_x, "
      "%s_tid_x;\n"
      "  mov.u32 %s_thread, %s_warpid;\n  shr.u32 %s_warpid, %s_warpid, 5;\n"
      "  mov.u32 %s_at, %ntid.z;\n  mul.lo.u32 %s_threads, %s_ntid_x, %s_ntid_y;\n"
      "  mul.lo.u32 %s_threads, %s_threads, %s_at;\n" +
      cleared(k.ptx.substr(entry, first - entry));
  k.ptx = k.ptx.substr(0, first) + start + zeros(k.ptx.substr(entry, first - entry)) + body;
  return k;
}

// Why the kernel's result is left open; empty: it is not.
inline std::string open(const std::string& ptx) {
  // Which lanes are together is for the compiler to choose.
  for (const char* const name : {"activemask", "elect.sync"})
    if (ptx.find(name) != std::string::npos) return "asks which lanes are together";
  // The old value depends on the order of warps and blocks.
  if (ptx.find(" atom.") != std::string::npos) return "reads an atomic's old value";
  // Results within a bound, not to the bit (docs/results/agreement.md).
  for (const char* const name : {".approx", "div.full", "tanh"})
    if (ptx.find(name) != std::string::npos) return "computes an approximation";
  // ptxas 13.0 drops the guard of `set`, `testp` and `vsub4`: lanes without it have the result, too.
  for (std::size_t at = 0; (at = ptx.find("  @", at)) != std::string::npos; at += 3)
    for (const char* const name : {" set.", " testp.", " vsub4."})
      if (ptx.compare(ptx.find(' ', at + 2), std::strlen(name), name) == 0) return "guards set, testp or vsub4";
  return "";
}

// The same kernel with its variables at other places, which are the compiler's choice.
inline GeneratedKernel moved(GeneratedKernel k) {
  const std::size_t at = k.ptx.find(".shared .align", k.ptx.find(".visible .entry"));
  k.ptx.insert(at, ".shared .align 16 .b32 PAD[4];\n.local .align 16 .b32 LOW[4];\n");
  return k;
}

// One module of several kernels; the one at `i` is named k<i>. `kernels` are legal.
inline std::string module_of(const std::vector<std::string>& kernels) {
  std::string text;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const std::string& ptx = kernels[i];
    const std::size_t own = ptx.find('\n', ptx.find(".const .align 4 .u32 K[16]")) + 1;  // K is the same in all
    if (i == 0) text = ptx.substr(0, own);
    std::string rest = ptx.substr(own);
    replace(rest, "helper", "helper" + std::to_string(i));
    replace(rest, ".visible .entry k(", ".visible .entry k" + std::to_string(i) + "(");
    text += rest;
  }
  return text;
}

}  // namespace coalesce::machine::test
