#include "tests/random/reference_program.h"

#include <cmath>
#include <cstring>
#include <map>
#include <stdexcept>

namespace coalesce::machine::test::reference {

using ptx::Function;
using ptx::Instruction;

namespace {

float as_float(uint64_t v) {
  const auto bits = static_cast<uint32_t>(v);
  float f;
  std::memcpy(&f, &bits, 4);
  return f;
}
uint64_t of_float(float f) {
  uint32_t bits;
  std::memcpy(&bits, &f, 4);
  return std::isnan(f) ? 0x7fffffff : bits;  // PTX: the result of arithmetic is the canonical NaN
}
uint32_t u(uint64_t v) { return static_cast<uint32_t>(v); }
int32_t s(uint64_t v) { return static_cast<int32_t>(v); }
int64_t ss(uint64_t v) { return static_cast<int64_t>(v); }
uint64_t sx(int64_t v) { return static_cast<uint64_t>(v); }

const std::map<std::string, Pure>& pure_table() {
#define OP(expression) \
  [](uint64_t a, [[maybe_unused]] uint64_t b, [[maybe_unused]] uint64_t c) -> uint64_t { return expression; }
#define COMPARE(name, operation)                                                                    \
  {"setp." name ".s32", OP(s(a) operation s(b))}, {"setp." name ".u32", OP(u(a) operation u(b))},   \
      {"setp." name ".s64", OP(ss(a) operation ss(b))}, {"setp." name ".u64", OP(a operation b)}, { \
    "setp." name ".f32", OP(as_float(a) operation as_float(b))                                      \
  }
  static const std::map<std::string, Pure> table{
      {"mov.u32", OP(u(a))},
      {"mov.b32", OP(u(a))},
      {"mov.s32", OP(u(a))},
      {"mov.f32", OP(u(a))},
      {"mov.u64", OP(a)},
      {"mov.b64", OP(a)},
      {"add.u32", OP(u(a + b))},
      {"add.s32", OP(u(a + b))},
      {"sub.u32", OP(u(a - b))},
      {"sub.s32", OP(u(a - b))},
      {"mul.lo.u32", OP(u(u(a) * u(b)))},
      {"mul.lo.s32", OP(u(u(a) * u(b)))},
      {"mad.lo.u32", OP(u(u(a) * u(b) + c))},
      {"mad.lo.s32", OP(u(u(a) * u(b) + c))},
      {"mul.wide.u32", OP(uint64_t{u(a)} * u(b))},
      {"mul.wide.s32", OP(sx(int64_t{s(a)} * s(b)))},
      {"mad.wide.u32", OP(uint64_t{u(a)} * u(b) + c)},
      {"mad.wide.s32", OP(sx(int64_t{s(a)} * s(b)) + c)},
      {"add.u64", OP(a + b)},
      {"add.s64", OP(a + b)},
      {"sub.s64", OP(a - b)},
      {"sub.u64", OP(a - b)},
      {"mul.lo.s64", OP(a * b)},
      {"mul.lo.u64", OP(a * b)},
      {"shl.b32", OP(u(b) > 31 ? 0 : u(u(a) << u(b)))},
      {"shl.b64", OP(u(b) > 63 ? 0 : a << u(b))},
      {"shr.u32", OP(u(b) > 31 ? 0 : u(a) >> u(b))},
      {"shr.s32", OP(u(sx(s(a) >> std::min(31u, u(b)))))},
      {"shr.u64", OP(u(b) > 63 ? 0 : a >> u(b))},
      {"shr.s64", OP(sx(ss(a) >> std::min(63u, u(b))))},
      {"and.b32", OP(u(a & b))},
      {"or.b32", OP(u(a | b))},
      {"xor.b32", OP(u(a ^ b))},
      {"not.b32", OP(u(~a))},
      {"and.b64", OP(a & b)},
      {"xor.b64", OP(a ^ b)},
      {"neg.s32", OP(u(0 - a))},
      {"min.s32", OP(u(sx(std::min(s(a), s(b)))))},
      {"max.s32", OP(u(sx(std::max(s(a), s(b)))))},
      {"min.u32", OP(std::min(u(a), u(b)))},
      {"max.u32", OP(std::max(u(a), u(b)))},
      {"rem.u32", OP(u(a) % u(b))},
      {"div.u32", OP(u(a) / u(b))},
      {"cvt.u64.u32", OP(u(a))},
      {"cvt.s64.s32", OP(sx(s(a)))},
      {"cvt.u64.s32", OP(sx(s(a)))},
      {"cvt.s64.u32", OP(u(a))},
      {"cvt.u32.u64", OP(u(a))},
      {"cvt.s32.s64", OP(u(a))},
      {"selp.b32", OP(c ? u(a) : u(b))},
      {"selp.b64", OP(c ? a : b)},
      COMPARE("eq", ==),
      COMPARE("lt", <),
      COMPARE("le", <=),
      COMPARE("gt", >),
      COMPARE("ge", >=),
      {"setp.ne.s32", OP(s(a) != s(b))},
      {"setp.ne.u32", OP(u(a) != u(b))},
      {"setp.ne.s64", OP(a != b)},
      {"setp.ne.u64", OP(a != b)},
      {"and.pred", OP(a & b)},
      {"or.pred", OP(a | b)},
      {"xor.pred", OP(a ^ b)},
      {"not.pred", OP(!a)},
      {"mov.pred", OP(a & 1)},
      {"add.f32", OP(of_float(as_float(a) + as_float(b)))},
      {"mul.f32", OP(of_float(as_float(a) * as_float(b)))},
      {"sub.f32", OP(of_float(as_float(a) - as_float(b)))},
      {"fma.rn.f32", OP(of_float(std::fma(as_float(a), as_float(b), as_float(c))))},
      {"cvt.rn.f32.s32", OP(of_float(static_cast<float>(s(a))))},
  };
#undef COMPARE
#undef OP
  return table;
}
std::vector<std::string> words_of(const std::string& mnemonic) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at <= mnemonic.size();) {
    const std::size_t dot = std::min(mnemonic.find('.', at), mnemonic.size());
    words.push_back(mnemonic.substr(at, dot - at));
    at = dot + 1;
  }
  return words;
}

Decoded decode_one(const Instruction& in) {
  Decoded d;
  if (const auto row = pure_table().find(in.mnemonic); row != pure_table().end()) {
    d.action = Action::pure;
    d.pure = row->second;
    return d;
  }
  const std::vector<std::string> w = words_of(in.mnemonic);
  static const std::map<std::string, Action> actions{
      {"ld", Action::load},     {"st", Action::store},     {"red", Action::reduce}, {"atom", Action::reduce},
      {"bra", Action::bra},     {"brx", Action::brx},      {"ret", Action::ret},    {"exit", Action::ret},
      {"bar", Action::barrier}, {"shfl", Action::shuffle}, {"vote", Action::vote},  {"activemask", Action::activemask},
      {"redux", Action::redux}, {"call", Action::call}};
  const auto found = actions.find(w[0]);
  if (found == actions.end()) throw std::runtime_error("reference: " + in.mnemonic);
  d.action = found->second;
  d.returns = w[0] == "atom";
  const ptx::Type type = ptx::type_from(w.back());
  d.width = ptx::size_of(type);
  d.sign = w.back()[0] == 's';
  for (std::size_t k = 1; k < w.size(); ++k) {
    if (w[k] == "v2")
      d.count = 2;
    else if (w[k] == "v4")
      d.count = 4;
    else if (w[k] == "global" || w[k] == "shared" || w[k] == "local" || w[k] == "param" || w[k] == "const")
      d.space = w[k];
    else if (w[k] != "sync" && d.mode.empty())
      d.mode = w[k];
  }
  return d;
}
}  // namespace

Program::Program(const Function& f, bool entry) : function(&f) {
  const auto n = static_cast<uint32_t>(f.body.size());
  std::vector<std::vector<uint32_t>> next(n + 1);
  for (uint32_t i = 0; i < n; ++i) {
    code.push_back(decode_one(f.body[i]));
    const Instruction& in = f.body[i];
    if (code[i].action == Action::bra) next[i].push_back(in.operands[0].target);
    if (code[i].action == Action::ret && (!entry || i + 1 == n)) next[i].push_back(n);
    if (code[i].action == Action::brx)
      for (const Function::Table& t : f.branch_tables)
        if (t.name == in.operands[1].name) next[i] = t.targets;
    const bool goes_on =
        code[i].action == Action::bra || code[i].action == Action::ret ? in.guard >= 0 : code[i].action != Action::brx;
    if (goes_on) next[i].push_back(i + 1);
  }
  const std::size_t words = (n + 64) / 64;
  using Set = std::vector<uint64_t>;
  std::vector<Set> after(n + 1, Set(words, ~uint64_t{0}));
  after[n].assign(words, 0);
  after[n][n / 64] |= uint64_t{1} << n % 64;
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t i = n; i-- > 0;) {
      Set now(words, ~uint64_t{0});
      for (uint32_t t : next[i])
        for (std::size_t k = 0; k < words; ++k) now[k] &= after[t][k];
      now[i / 64] |= uint64_t{1} << i % 64;
      if (now != after[i]) after[i] = now, changed = true;
    }
  }
  const auto size = [&](uint32_t i) {
    int c = 0;
    for (uint64_t w : after[i]) c += __builtin_popcountll(w);
    return c;
  };
  for (uint32_t i = 0; i < n; ++i) {
    uint32_t best = n;
    for (uint32_t j = 0; j <= n; ++j)
      if (j != i && (after[i][j / 64] >> j % 64 & 1) && size(j) == size(i) - 1) best = j;
    meets.push_back(best);
  }
}

}  // namespace coalesce::machine::test::reference
