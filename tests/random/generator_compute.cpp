// Straight-line code: integers, floats, any computing instruction, and what lanes do together.
#include "tests/machine/isa/operations.h"
#include "tests/random/generator_class.h"

namespace coalesce::machine::test {

std::string Generator::register_of(Element e, bool destination) {
  switch (e) {
    case Element::pred:
      return pick("%p", 16);
    case Element::b16:
      return pick("%h", 6);
    case Element::b64:
      return wide();
    case Element::b128:
      return pick("%q", 3);
    default:
      return destination ? (chance(4) ? real() : varying()) : chance(5) ? real() : any_register();
  }
}

// Any row of the table of operations. Its operands are what the registers happen to hold: loads of odd values see to
// it that they are NaNs and subnormals often enough.
void Generator::operation() {
  static const std::vector<operations::Subject> all = operations::subjects();
  const operations::Subject& s = all[below(all.size())];
  std::string name(s.op->mnemonic);
  const bool pair = name.ends_with('|');
  if (pair) name.pop_back();
  const bool takes_carry = name.starts_with("addc.") || name.starts_with("subc.") || name.starts_with("madc.");
  const bool gives_carry = s.op->results == 2 && !pair;
  if (takes_carry) line((chance(2) ? "sub.cc.u32 %t0, " : "add.cc.u32 %t0, ") + varying() + ", " + varying());
  // A carry is nobody's register, so who takes or gives one is not guarded.
  std::string text = (takes_carry || gives_carry ? "" : guard()) + name + " " + register_of(s.op->result[0], true);
  if (pair) {
    std::string second = register_of(s.op->result[1], true);
    while (text.ends_with(second)) second = register_of(s.op->result[1], true);
    text += "|" + second;
  }
  const uint32_t sources = s.op->sources - (s.immediate >= 0) - takes_carry;
  for (uint32_t k = 0; k < sources; ++k) text += ", " + register_of(s.op->source[k], false);
  if (s.immediate >= 0) text += ", " + std::to_string(s.immediate);
  line(text);
  if (gives_carry) line((chance(2) ? "subc.u32 " : "addc.u32 ") + varying() + ", 0, 0");
}

std::vector<uint32_t> generated_input(Breadth breadth) {
  std::vector<uint32_t> in(kInWords);
  for (uint32_t i = 0; i < kInWords; ++i) in[i] = i % 3 == 0 ? i : (i * 2654435761u) >> (i % 29);
  if (breadth == Breadth::reference) return in;
  // Operands as the comparison with a GPU uses them: halves, words and doubles where each is aligned.
  for (uint32_t i = 0; i + 4 <= kInWords; i += 8) {
    const auto half = [&](uint32_t k) { return static_cast<uint32_t>(operations::operand(Element::b16, k, i)); };
    in[i] = half(0) | half(1) << 16;
    in[i + 1] = static_cast<uint32_t>(operations::operand(Element::b32, 0, i));
    const auto both = static_cast<uint64_t>(operations::operand(Element::b64, 0, i));
    in[i + 2] = static_cast<uint32_t>(both), in[i + 3] = static_cast<uint32_t>(both >> 32);
  }
  return in;
}

void Generator::compute(const std::string& to, const std::string& a, const std::string& b, const std::string& c,
                        const std::string& g) {
  static const char* const two[] = {"add.u32", "add.s32", "sub.s32", "sub.u32", "mul.lo.s32", "and.b32",
                                    "or.b32",  "xor.b32", "min.s32", "max.u32", "min.u32",    "max.s32"};
  switch (below(9)) {
    case 0:
      line(g + "mad.lo.s32 " + to + ", " + a + ", " + b + ", " + c);
      break;
    case 1:
      line(g + "shl.b32 " + to + ", " + a + ", " + std::to_string(below(33)));
      break;
    case 2:
      line(g + (chance(2) ? "shr.u32 " : "shr.s32 ") + to + ", " + a + ", " + std::to_string(below(33)));
      break;
    case 3:
      line(g + "mov.u32 " + to + ", " + a);
      break;
    case 4:
      line(g + "selp.b32 " + to + ", " + a + ", " + b + ", " + pick("%p", 16));
      break;
    default:
      line(g + one(two) + " " + to + ", " + a + ", " + b);
      break;
  }
}

void Generator::arithmetic(bool uniform_context) {
  const uint32_t steps = 1 + below(4);
  std::vector<std::string> fresh;
  const auto operand = [&] { return !fresh.empty() && chance(2) ? fresh[below(fresh.size())] : any(); };
  for (uint32_t i = 0; i < steps; ++i) {
    const std::string t = pick("%t", 16);
    compute(t, operand(), operand(), operand(), "");
    fresh.push_back(t);
  }
  compute(varying(), operand(), operand(), operand(), guard());
  if (uniform_context && chance(2)) {
    // No predicate here may vary: selp is left out.
    static const char* const ops[] = {"add.u32", "sub.s32", "mul.lo.s32", "xor.b32", "min.s32", "and.b32"};
    line(one(ops) + " " + uniform() + ", " + uniform() + ", " + (chance(2) ? number() : uniform()));
  }
}

void Generator::affine() {
  const std::string v = varying();
  line("mad.lo.s32 " + v + ", %me, " + number() + ", " + (chance(2) ? number() : uniform()));
  if (chance(2)) line("shl.b32 " + v + ", " + v + ", " + std::to_string(below(31)));
}

void Generator::widen() {
  const std::string w = wide();
  static const char* const cvt[] = {"cvt.u64.u32", "cvt.s64.s32"};
  static const char* const mul[] = {"mul.wide.u32", "mul.wide.s32"};
  static const char* const mad[] = {"mad.wide.u32", "mad.wide.s32"};
  static const char* const two[] = {"add.s64", "sub.s64", "mul.lo.s64", "xor.b64"};
  switch (below(6)) {
    case 0:
      line(guard() + one(cvt) + " " + w + ", " + (chance(2) ? "%me" : varying()));
      break;
    case 1:
      line(one(mul) + " " + w + ", " + (chance(2) ? "%me" : varying()) + ", " + number());
      break;
    case 2:
      line(one(mad) + " " + w + ", " + (chance(2) ? "%me" : varying()) + ", " + number() + ", " + wide());
      break;
    case 3:
      line("shl.b64 " + w + ", " + wide() + ", " + std::to_string(below(40)));
      break;
    case 4:
      line(one(two) + " " + w + ", " + wide() + ", " + (chance(2) ? number() : wide()));
      break;
    default:
      line(one(mul) + " " + w + ", " + uniform() + ", " + (chance(2) ? number() : varying()));
      break;
  }
  const std::string half = pick("%rd", 4, 20), t = pick("%t", 16), v = varying();
  if (chance(2)) {
    line("shr.u64 " + half + ", " + w + ", " + std::to_string(below(48)));
    line("cvt.u32.u64 " + t + ", " + half);
    line("xor.b32 " + v + ", " + v + ", " + t);
  }
}

void Generator::floats() {
  static const char* const two[] = {"add.f32", "mul.f32", "sub.f32"};
  switch (below(4)) {
    case 0:
      line("cvt.rn.f32.s32 " + real() + ", " + any_register());
      break;
    case 1:
      line("fma.rn.f32 " + real() + ", " + real() + ", " + real() + ", " + real());
      break;
    case 2:
      line("setp.lt.f32 " + pick("%p", 16) + ", " + real() + ", " + real());
      break;
    default:
      line(guard() + one(two) + " " + real() + ", " + real() + ", " + real());
      break;
  }
  if (chance(3)) {
    const std::string v = varying();
    line("mov.b32 %t0, " + real());
    line("xor.b32 " + v + ", " + v + ", %t0");
  }
}

void Generator::lanes(bool uniform_context) {
  if (uniform_context && !exits_ && chance(2)) {
    static const char* const modes[] = {"up", "down", "bfly", "idx"};
    static const char* const bounds[] = {"31", "0", "7199", "6175", "4127"};
    const std::string mode = one(modes), bound = mode == "up" ? "0" : one(bounds);
    const std::string by = chance(2) ? std::to_string(below(32)) : any_register();
    line("shfl.sync." + mode + ".b32 " + varying() + (chance(2) ? "|" + pick("%p", 16) : "") + ", " + any_register() +
         ", " + by + ", " + bound + ", -1");
    return;
  }
  line("activemask.b32 %t0");
  switch (below(4)) {
    case 0:
      line("vote.sync.ballot.b32 " + varying() + ", " + pick("%p", 16) + ", %t0");
      break;
    case 1: {
      static const char* const modes[] = {"all", "any", "uni"};
      line("vote.sync." + one(modes) + ".pred " + pick("%p", 16) + ", " + pick("%p", 16) + ", %t0");
      break;
    }
    case 2:
      line("redux.sync.add.s32 " + varying() + ", " + any_register() + ", %t0");
      break;
    default:
      line("xor.b32 " + varying() + ", %t0, " + varying());
      break;
  }
}

// More of what lanes do together, among those that are there; barriers that give a result where all are.
void Generator::wide_lanes(bool uniform_context) {
  if (uniform_context && chance(3)) {
    switch (below(4)) {
      case 0:
        return line("bar.red.popc.u32 " + varying() + ", 0, " + pick("%p", 16));
      case 1:
        return line("bar.red.and.pred " + pick("%p", 16) + ", 0, " + pick("%p", 16));
      case 2:
        return line("barrier.red.or.pred " + pick("%p", 16) + ", 0, " + pick("%p", 16));
      default:
        line("activemask.b32 %t0");
        return line("bar.warp.sync %t0");
    }
  }
  line("activemask.b32 %t0");
  switch (below(6)) {
    case 0:
      return line("match.any.sync.b32 " + varying() + ", " + any_register() + ", %t0");
    case 1:
      return line("match.any.sync.b64 " + varying() + ", " + wide() + ", %t0");
    case 2:
      return line("match.all.sync.b32 " + varying() + "|" + pick("%p", 16) + ", " + any_register() + ", %t0");
    case 3:
      return line("elect.sync " + varying() + "|" + pick("%p", 16) + ", %t0");
    case 4: {
      static const char* const ops[] = {"min.s32", "max.s32", "min.u32", "max.u32",
                                        "add.u32", "and.b32", "or.b32",  "xor.b32"};
      return line("redux.sync." + one(ops) + " " + varying() + ", " + any_register() + ", %t0");
    }
    default: {
      static const char* const modes[] = {"all", "any", "uni"};
      return line("vote.sync." + one(modes) + ".pred " + pick("%p", 16) + ", !" + pick("%p", 16) + ", %t0");
    }
  }
}

void Generator::call() {
  text_ += "  {\n";
  line(".param .b32 a0");
  line(".param .b32 a1");
  line(".param .b32 q");
  line("st.param.b32 [a0+0], " + any_register());
  line("st.param.b32 [a1+0], " + any_register());
  line("call.uni (q), helper, (a0, a1)");
  line("ld.param.b32 " + varying() + ", [q+0]");
  text_ += "  }\n";
}

}  // namespace coalesce::machine::test
