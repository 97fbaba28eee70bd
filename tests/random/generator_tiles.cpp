// Where native code takes a short way because of what memory looks like: elements that go from memory through
// arithmetic to memory two or four at a time, and a tile of shared memory that is written by rows and read by columns.
#include <iterator>

#include "tests/random/generator_class.h"

namespace coalesce::machine::test {

void Generator::side_by_side() {
  struct Operation {
    const char* name;
    uint32_t operands;
  };
  static const Operation all[] = {{"mov.b32", 1},    {"add.u32", 2},    {"sub.u32", 2},    {"xor.b32", 2},
                                  {"mul.lo.u32", 2}, {"min.s32", 2},    {"shr.u32", 2},    {"mad.lo.u32", 3},
                                  {"add.rn.f32", 2}, {"mul.rn.f32", 2}, {"fma.rn.f32", 3}, {"max.f32", 2}};
  const uint32_t n = chance(2) ? 2 : 4;
  const auto t = [](uint32_t k) { return "%t" + std::to_string(k); };
  const auto list = [&](uint32_t from, bool backwards) {
    std::string text;
    for (uint32_t k = 0; k < n; ++k) text += (k ? ", " : "{") + t(from + (backwards ? n - 1 - k : k));
    return text + "}";
  };
  const std::string form = ".v" + std::to_string(n) + ".b32 ";
  // %t1 ...: the input's; %t5 ...: its, too, or what they are by chance.
  line("mad.wide.u32 %rd20, %me, " + std::to_string(4 * n) + ", %rd1");
  for (const uint32_t to : {1u, 5u})
    if (to == 1 || chance(2))
      line((chance(8) ? guard() : "") + "ld.global" + form + list(to, false) + ", [%rd20+" +
           std::to_string(4 * n * below(100)) + "]");
  const uint32_t rounds = 1 + below(3);
  for (uint32_t round = 0; round < rounds; ++round) {
    const Operation usual = all[below(std::size(all))];
    const std::string same = chance(2) ? uniform() : number();
    const bool with_same = chance(4);
    for (uint32_t k = 0; k < n; ++k) {
      const Operation o = chance(16) ? all[below(std::size(all))] : usual;
      // Numbers of single precision are written in another way.
      const bool real = std::string(o.name).ends_with("f32");
      const std::string second = !with_same ? t(5 + k) : real && *same.c_str() != '%' ? "0f40490FDB" : same;
      std::string text = std::string(o.name) + " " + t(round + 1 < rounds ? 1 + k : 9 + k) + ", " + t(1 + k);
      if (o.operands > 1) text += ", " + second;
      if (o.operands > 2) text += ", " + t(chance(2) ? 5 + k : 1 + k);
      line((chance(16) ? guard() : "") + text);
    }
  }
  // Behind the rows of 32 bytes: 16 a thread, and 8.
  line("mad.wide.u32 %rd21, %all, " + std::to_string(4 * n) + ", %rd0");
  line((chance(8) ? guard() : "") + "st.global" + form + "[%rd21+" + std::to_string((n == 4 ? 16 : 20) * planes_) +
       "], " + list(9, chance(8)));
  line("xor.b32 " + varying() + ", %t9, " + t(8 + n));
}

// Uniform places only, once in a kernel: registers that are written once have ranges.
void Generator::columns() {
  columns_ = true;
  if (flat_) {
    line("mov.u32 %k0, %laneid");
    line("mov.u32 %k1, %warpid");
  } else {
    line("mov.u32 %k0, %tid.x");
    line("mov.u32 %k2, %tid.y");
    line("mov.u32 %k10, %tid.z");
    line("add.u32 %k1, %k2, %k10");
  }
  static const uint32_t rows[] = {33, 32, 47};  // words
  const uint32_t words = rows[below(std::size(rows))];
  const std::string bytes = std::to_string(4 * words);
  line("bar.sync 0");
  line("mov.u32 %k3, T");
  line("mad.lo.u32 %k8, %k1, " + bytes + ", %k3");
  line("shl.b32 %k5, %k0, 2");
  line("add.u32 %k4, %k8, %k5");
  for (uint32_t j = 0; j < 4; ++j)
    line((chance(4) ? guard() : "") + "st.shared.u32 [%k4+" + std::to_string(16 * words * j) + "], " + any_register());
  line("bar.sync 0");
  line("mad.lo.u32 %k9, %k0, " + bytes + ", %k3");
  line("shl.b32 %k7, %k1, 2");
  line("add.u32 %k6, %k9, %k7");
  for (uint32_t j = 0; j < 4; ++j) {
    if (chance(12)) shared_own();
    if (chance(12)) line("st.shared.u32 [%k6+" + std::to_string(16 * j) + "], " + any_register());
    // Most often the next column; some behind a branch that parts the lanes, or could and does not.
    const uint32_t column = chance(3) ? below(4) : j;
    const std::string past = chance(3) ? label() : "";
    if (!past.empty()) {
      std::string p = pick("%p", 16);
      if (chance(3)) {
        p = condition(false);
      } else {
        const std::string t = pick("%t", 16);
        line("and.b32 " + t + ", " + varying() + ", 3");
        line("setp.gt.u32 " + p + ", " + t + ", 3");
      }
      line("@" + p + " bra " + past);
    }
    line((chance(8) ? guard() : "") + "ld.shared.u32 " + varying() + ", [%k6+" + std::to_string(16 * column) + "]");
    if (!past.empty()) put(past);
  }
  line("bar.sync 0");
}

}  // namespace coalesce::machine::test
