// Statements for what the decoder and code generation decide by rules: lane classes and ranges of what is computed from
// indices, regions that some warps skip, checks that are made once for all warps. Registers of their own, written
// once: most rules ask for that.
#include <iterator>

#include "tests/random/generator_class.h"

namespace coalesce::machine::test {

std::string Generator::own_word() { return "%i" + std::to_string(own_words_++); }
std::string Generator::own_wide() { return "%j" + std::to_string(own_wides_++); }
std::string Generator::own_predicate() { return "%o" + std::to_string(own_predicates_++); }

// A chain of operations, each on the value before it.
void Generator::rules() {
  static const char* const starts[] = {"%me", "%all", "%laneid", "%warpid"};
  std::string at = chance(4) ? uniform() : one(starts);
  const uint32_t steps = 1 + below(4);
  for (uint32_t k = 0; k < steps; ++k) {
    const std::string to = own_word();
    const auto factor = [&] { return chance(3) ? uniform() : number(); };
    switch (k == 0 ? turn(10) : below(10)) {
      case 0:
        line("neg.s32 " + to + ", " + at);
        break;
      case 1:
        line("mul.lo." + std::string(chance(2) ? "u32 " : "s32 ") + to + ", " + at + ", " + factor());
        break;
      case 2: {
        const std::string product = own_wide(), sum = own_wide();
        const std::string type = chance(2) ? "u32" : "s32";
        line("mul.wide." + type + " " + product + ", " + at + ", " + factor());
        line("neg.s64 " + sum + ", " + product);
        line("cvt.u32.u64 " + to + ", " + (chance(2) ? product : sum));
        break;
      }
      case 3: {
        const std::string far = own_wide(), further = own_wide();
        line("cvt.s64.s32 " + far + ", " + at);
        line("mad.lo.s64 " + further + ", " + far + ", " + std::to_string(1 + below(9)) + ", " + far);
        line("cvt.u32.u64 " + to + ", " + further);
        break;
      }
      case 4: {
        const std::string far = own_wide(), further = own_wide();
        line("cvt.u64.u32 " + far + ", " + at);
        line("shl.b64 " + further + ", " + far + ", " + std::to_string(below(34)));
        line("cvt.u32.u64 " + to + ", " + further);
        break;
      }
      case 5:
        line("shl.b32 " + to + ", " + at + ", " + (chance(3) ? uniform() : std::to_string(below(34))));
        break;
      case 6: {  // lanes' distances that cancel, or double
        const std::string same = own_word();
        line("add.u32 " + same + ", " + at + ", " + (chance(2) ? uniform() : number()));
        line((chance(3) ? "add.u32 " : "sub.u32 ") + to + ", " + same + ", " + at);
        break;
      }
      case 7:
        line("mad.lo." + std::string(chance(2) ? "u32 " : "s32 ") + to + ", " + at + ", " + factor() + ", " +
             (chance(2) ? "%me" : factor()));
        break;
      case 8:
        line((chance(2) ? "shr.s32 " : "shr.u32 ") + to + ", " + at + ", " + std::to_string(below(34)));
        break;
      default:
        line("rem." + std::string(chance(2) ? "u32 " : "s32 ") + to + ", " + at + ", " + std::to_string(1 + below(40)));
        break;
    }
    at = to;
  }
  line("xor.b32 " + varying() + ", " + varying() + ", " + at);
}

// Uniform places only: a region that lanes skip by a condition, or do not.
void Generator::skipped_region() {
  static const char* const compares[] = {"ge.u32", "gt.u32", "ge.s32", "gt.s32", "lt.u32", "le.s32"};
  const std::string p = own_predicate(), past = label();
  // %u3: the threads in x. A count of threads has the warps run one by one.
  line(!exits_ && flat_ && chance(8) ? "bar.sync 1, %u3" : "bar.sync 0");
  const std::string bound = chance(2) ? uniform() : std::to_string(below(130));
  const std::string index = chance(4) ? "%all" : "%me", part = own_word();
  bool skip = true;  // lanes of which the condition holds
  switch (turn(5)) {
    case 0:
      line("setp." + one(compares) + " " + p + ", " + index + ", " + bound);
      break;
    case 1:
      line("mul.lo.u32 " + part + ", " + index + ", " + (chance(2) ? uniform() : std::to_string(1 + below(8))));
      line("setp." + one(compares) + " " + p + ", " + part + ", " + bound);
      break;
    case 2:
      line("rem.u32 " + part + ", " + index + ", " + (chance(2) ? "%u3" : std::to_string(1 << below(8))));
      line("setp.ne.u32 " + p + ", " + part + ", 0");
      break;
    case 3:
      line("and.b32 " + part + ", " + index + ", " + std::to_string(chance(4) ? below(100) : (1 << below(7)) - 1));
      line("setp." + std::string(chance(2) ? "ne" : "eq") + ".u32 " + p + ", " + part + ", 0");
      skip = chance(2);
      break;
    default:
      line("mul.lo.u32 " + part + ", " + index + ", " + (chance(2) ? uniform() : "3"));
      line("setp.ne.u32 " + p + ", " + part + ", 0");
      break;
  }
  line((skip ? "@" : "@!") + p + " bra " + past);
  const std::string at = own_wide(), got = own_word(), made = own_word();
  const std::string place = "[%rd3+" + std::to_string(planes_ * (1 + below(7))) + "]";
  line("mad.wide.u32 " + at + ", %me, 4, %rd1");
  line("ld.global.u32 " + got + ", [" + at + (chance(2) ? "+400]" : "]"));
  line("add.u32 " + made + ", " + got + ", " + (chance(2) ? "%me" : uniform()));
  line("st.global.u32 " + place + ", " + made);
  put(past);
  line("bar.sync 0");
}

// Uniform places only: sums in words of shared memory, one a lane, or a lane's place of several.
void Generator::shared_sums() {
  const std::string start = own_word(), at = own_word(), got = own_word();
  line("bar.sync 0");
  line("mov.u32 " + start + ", A");
  line("mad.lo.u32 " + at + ", %me, 4, " + start);
  line((chance(4) ? guard() : "") + "red.shared.add.u32 [" + at + "], " + any_register());
  line("bar.sync 0");
  line("ld.shared.u32 " + got + ", [" + at + "]");
  line("xor.b32 " + varying() + ", " + varying() + ", " + got);
  line("bar.sync 0");
}

void Generator::decisions() {
  switch (turn(4)) {
    case 0:
      return skipped_region();
    case 1:
      return shared_sums();
    default:
      return rules();
  }
}

}  // namespace coalesce::machine::test
