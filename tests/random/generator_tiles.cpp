// Kernels for native code's short paths: elements that go from memory through arithmetic to memory two or four at a
// time, a tile of shared memory that is written by rows and read by columns, and rows of global memory, one for each
// warp.
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
  // The bytes behind the rows of 32: 16 a thread, and 8.
  line("mad.wide.u32 %rd21, %all, " + std::to_string(4 * n) + ", %rd0");
  line((chance(8) ? guard() : "") + "st.global" + form + "[%rd21+" + std::to_string((n == 4 ? 16 : 20) * planes_) +
       "], " + list(9, chance(8)));
  line("xor.b32 " + varying() + ", %t9, " + t(8 + n));
}

// Uniform places only: a row of the input for each warp, lane after lane, again and again. Most begin at a line, or
// follow one another, or are all one; some end the launch.
void Generator::rows() {
  rows_read_ = true;
  struct Width {
    const char* type;
    uint32_t bytes, count;
  };
  static const Width widths[] = {{"u8", 1, 1},  {"u16", 2, 1}, {"b32", 4, 1},    {"b32", 4, 1},
                                 {"b32", 4, 1}, {"b64", 8, 1}, {"v2.b32", 8, 2}, {"v4.b32", 16, 4}};
  static const char* const pitches[] = {"32", "32", "64", "64", "96", "33", "0"};
  const Width w = widths[below(std::size(widths))];
  const std::string bytes = std::to_string(w.bytes), p = pick("%p", 16), again = label();
  const std::string warp = flat_ || !rows_ || chance(4) ? "%warpid" : chance(4) ? "%tid.z" : "%tid.y";
  line(chance(4) ? "sub.u32 %y0, 3, " + warp : "mov.u32 %y0, " + warp);
  if (chance(2))
    line("mov.u32 %y1, " + one(pitches));
  else
    line("and.b32 %y1, " + uniform() + (chance(4) ? ", 127" : ", 96"));
  line("mov.u32 %y2, 0");
  put(again);
  // %y3: the row; %y4: where it begins, at most 6 * 127 + 99. Registers of their own: each is of one class.
  line("mad.lo.u32 %y3, %y2, " + std::string(chance(2) ? "1" : "0") + ", %y0");
  line("mad.lo.u32 %y4, %y3, %y1, " + std::to_string(chance(4) ? below(100) : 32 * below(4)));
  const bool back = chance(4);  // from the input's middle, some of it before that
  if (back) line("sub.u32 %y5, %y4, 256");
  line("add.u32 %y6, %laneid, " + std::string(back ? "%y5" : "%y4"));
  const std::string base = back ? "%y9" : "%rd1";
  if (back) line("add.s64 %y9, %rd1, " + std::to_string(256 * w.bytes));
  // Read as a number without a sign, what lies before the middle is far out.
  const std::string type = back && !(faulty_ && chance(4)) ? "s32" : "u32";
  if (chance(3)) {
    line("mad.wide." + type + " %y11, %y6, " + bytes + ", " + base);
  } else if (chance(2)) {
    line("mul.wide." + type + " %y10, %y6, " + bytes);
    line("add.s64 %y11, %y10, " + base);
  } else {
    line("cvt." + std::string(type == "s32" ? "s64" : "u64") + "." + type + " %y12, %y6");
    line("mul.lo.s64 %y10, %y12, " + bytes);
    line("add.s64 %y11, %y10, " + base);
  }
  if (faulty_ && chance(8)) line("add.s64 %y11, %y11, 15000");
  const bool asks = chance(3);  // whether the row, or the lane's place in it, is below something
  const std::string past = asks ? label() : "";
  if (asks) {
    static const char* const compares[] = {"ge.u32", "gt.u32", "ge.s32", "gt.s32", "lt.u32", "le.s32"};
    line("setp." + one(compares) + " " + p + ", " + (chance(3) ? "%y3" : "%y6") + ", " +
         (chance(2)   ? std::to_string(below(8))
          : chance(2) ? uniform()
                      : std::to_string(32 * below(30))));
    line((chance(4) ? "@!" : "@") + p + " bra " + past);
  }
  std::string values = w.bytes == 8 && w.count == 1 ? "%w0" : w.bytes == 2 ? "%h0" : "%t1";
  if (w.count > 1) values = w.count == 2 ? "{%t1, %t2}" : "{%t1, %t2, %t3, %t4}";
  line((chance(8) ? guard() : "") + "ld.global." + w.type + " " + values + ", [%y11" +
       (chance(3) ? "+" + std::to_string(w.bytes * 32 * below(3)) : "") + "]");
  if (w.bytes != 2 && values != "%w0")
    line("xor.b32 " + varying() + ", " + varying() + ", %t" + std::to_string(w.count));
  if (chance(3)) line("st.global.u32 [%rd3+" + std::to_string(planes_ * below(8)) + "], " + varying());
  if (asks) put(past);
  line("add.u32 %y2, %y2, 1");
  line("setp.lt.u32 " + p + ", %y2, " + std::to_string(1 + below(4)));
  line("@" + p + " bra " + again);
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
