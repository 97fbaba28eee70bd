// Loads, stores and reductions whose effect does not depend on any order.
#include "tests/random/generator_class.h"

namespace coalesce::machine::test {

std::string Generator::element(const char* base, const std::string& index, uint32_t mask, uint32_t scale) {
  const std::string t = pick("%t", 16), a = pick("%rd", 4, 20);
  line("and.b32 " + t + ", " + index + ", " + std::to_string(mask));
  if (chance(2)) {
    line("mad.wide.u32 " + a + ", " + t + ", " + std::to_string(scale) + ", " + base);
  } else {
    line("mul.wide.u32 " + a + ", " + t + ", " + std::to_string(scale));
    line("add.s64 " + a + ", " + a + ", " + base);
  }
  return a;
}

void Generator::load_input(bool uniform_context) {
  const std::string g = guard();
  switch (below(8)) {
    case 6:
      line(g + "ld.const.u32 " + (g.empty() && uniform_context ? uniform() : varying()) + ", [K+" +
           std::to_string(4 * below(16)) + "]");
      break;
    case 7: {
      // The same index for all, or one for each lane.
      const bool same = uniform_context && chance(2);
      line("and.b32 %t5, " + (same ? uniform() : any_register()) + ", 15");
      line("mul.wide.u32 %rd20, %t5, 4");
      line("mov.u64 %rd23, K");
      line("add.s64 %rd20, %rd20, %rd23");
      line("ld.const.u32 " + (same ? uniform() : varying()) + ", [%rd20]");
      break;
    }
    case 0:
      line(g + "ld.global.u32 " + varying() + ", [" + element("%rd1", any_register(), 4095, 4) + "]");
      break;
    case 1: {
      const std::string a = element("%rd1", any_register(), 1023, 16);
      line(g + "ld.global.v4.u32 {%t1, %t2, %t3, %t4}, [" + a + "]");
      if (g.empty()) line("xor.b32 " + varying() + ", %t1, %t3"), line("add.u32 " + varying() + ", %t2, %t4");
      break;
    }
    case 2:
      line(g + "ld.global.v2.u32 {" + "%v0, %v1" + "}, [" + element("%rd1", any_register(), 2047, 8) + "]");
      break;
    case 3: {  // affine: tid * k + constant, always within 4096 words
      static const char* const steps[] = {"1", "2", "3", "4", "8"};
      line("mad.lo.u32 %t5, %me, " + one(steps) + ", " + std::to_string(below(1000)));
      line("mul.wide.u32 %rd20, %t5, 4");
      line("add.s64 %rd20, %rd20, %rd1");
      line(g + "ld.global.u32 " + varying() + ", [%rd20" + (chance(2) ? "+" + std::to_string(4 * below(100)) : "") +
           "]");
      break;
    }
    case 4:
      line(g + (chance(2) ? "ld.global.s8 " : "ld.global.u8 ") + varying() + ", [" +
           element("%rd1", any_register(), 16383, 1) + "]");
      break;
    default:
      line(g + "ld.global.u64 " + wide() + ", [" + element("%rd1", any_register(), 2047, 8) + "]");
      break;
  }
}

void Generator::own_output() {
  const std::string at = "[%rd3+" + std::to_string(planes_ * below(8)) + "]",
                    row = "[%rd4+" + std::to_string(16 * below(2)) + "]";
  switch (below(6)) {
    case 0:
      line(guard() + "ld.global.u32 " + varying() + ", " + at);
      break;
    case 1:
      line(guard() + "st.global.v4.b32 " + row + ", {" + varying() + ", " + any_register() + ", " + varying() + ", " +
           uniform() + "}");
      break;
    case 2:
      line(guard() + "st.global.v2.b32 " + row + ", {" + varying() + ", " + varying() + "}");
      break;
    case 3:
      line(guard() + "st.global.u64 " + row + ", " + wide());
      break;
    default:
      line(guard() + "st.global.u32 " + at + ", " + any_register());
      break;
  }
}

void Generator::reduce_global() {
  static const char* const ops[] = {"add.u32", "max.u32", "xor.b32", "or.b32"};
  // One operation for each word, so that the order does not matter.
  const uint32_t which = below(4);
  const std::string t = pick("%t", 16);
  line("and.b32 " + t + ", " + any_register() + ", 15");
  line("mad.lo.u32 " + t + ", " + t + ", 4, " + std::to_string(which));
  line("mad.wide.u32 %rd21, " + t + ", 4, %rd2");
  line(guard() + "red.global." + ops[which] + " [%rd21], " + any_register());
}

void Generator::locked_sum() {
  const std::string retry = label(), x = varying();
  ++locked_sums_;
  line("and.b32 %lk, " + any_register() + ", " + std::to_string(kLocks - 1));
  line("mul.wide.u32 %la, %lk, 8");
  line("add.s64 %la, %la, %rd2");
  line("add.s64 %la, %la, " + std::to_string(4 * kAccWords));
  if (sums_ == Sums::reduced) return line("red.global.add.u32 [%la+4], " + x);
  put(retry);
  line("atom.global.cas.b32 %lk, [%la], 0, 1");
  line("setp.ne.u32 %lp, %lk, 0");
  line("@%lp bra " + retry);
  line("ld.volatile.global.u32 %lk, [%la+4]");
  line("add.u32 %lk, %lk, " + x);
  line("st.volatile.global.u32 [%la+4], %lk");
  line("membar.gl");
  line("atom.global.exch.b32 %lk, [%la], 0");
}

void Generator::shared_own() {
  switch (below(5)) {
    case 0:
      return shared_read();
    default: {
      // B: 16 bytes a thread.
      line("mad.lo.u32 %t14, %me, 16, %c0");
      const std::string o = chance(2) ? "" : "+8";
      switch (below(6)) {
        case 0:
          line(guard() + "st.shared.u32 [%t14" + o + "], " + any_register());
          break;
        case 1:
          line(guard() + "ld.shared.u32 " + varying() + ", [%t14" + o + "]");
          break;
        case 2:
          line(guard() + "st.shared.v2.b32 [%t14" + o + "], {" + varying() + ", " + uniform() + "}");
          break;
        case 3:
          line(guard() + "ld.shared.u64 " + wide() + ", [%t14" + o + "]");
          break;
        case 4:
          line("st.shared.v4.b32 [%t14], {" + varying() + ", " + uniform() + ", %me, " + varying() + "}");
          break;
        default:
          line("ld.shared.v4.b32 {%t6, %t7, %t8, %t9}, [%t14]");
          line("xor.b32 " + varying() + ", %t6, %t9");
          break;
      }
    }
  }
}

void Generator::shared_read() {
  line("and.b32 %t10, " + any_register() + ", 127");
  line("shl.b32 %t10, %t10, 2");
  line("mov.u32 %t11, A");
  line("add.u32 %t10, %t10, %t11");
  line(guard() + "ld.shared.u32 " + varying() + ", [%t10]");
}

void Generator::shared_reduce() {
  line("and.b32 %t12, " + any_register() + ", 31");
  line("shl.b32 %t12, %t12, 2");
  line("mov.u32 %t13, S");
  line("add.u32 %t12, %t12, %t13");
  // The result, where there is one, goes to a register that nobody reads.
  line(guard() + (chance(2) ? "red.shared.add.u32 " : "atom.shared.add.u32 %c1, ") + "[%t12], " + any_register());
}

void Generator::local() {
  line("and.b32 %t10, " + any_register() + ", 7");
  line("shl.b32 %t10, %t10, 2");
  line("mov.u32 %t11, L");
  line("add.u32 %t10, %t10, %t11");
  line("cvt.u64.u32 %rd22, %t10");
  if (chance(2))
    line(guard() + "st.local.u32 [%rd22], " + any_register());
  else
    line(guard() + "ld.local.u32 " + varying() + ", [%rd22]");
}

}  // namespace coalesce::machine::test
