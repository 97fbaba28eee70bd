#include "machine/program/flatten.h"
#include "native/emit/operations.h"

namespace coalesce::native {

using namespace llvm;
using machine::Mnemonic;

namespace {

unsigned bits_of_type(std::string_view t) {
  return t.ends_with("64") ? 64 : t.ends_with("32") ? 32 : t.ends_with("16") ? 16 : t.ends_with("8") ? 8 : 0;
}
bool is_integer(std::string_view t) {
  return (t[0] == 's' || t[0] == 'u' || t[0] == 'b') && bits_of_type(t) >= 16 &&
         t.find('x') == std::string_view::npos && t.substr(0, 2) != "bf";
}
}  // namespace

bool compare_operation(Emitter& e, const machine::PureOp& op, const std::vector<Value*>& s, Value* out[2]) {
  IRBuilder<>& ir = e.ir;
  std::string_view name = op.mnemonic;
  const bool pair = name.ends_with("|");
  if (pair) name.remove_suffix(1);
  const Mnemonic m(name);
  const std::string_view how = m.suffixes[0], t = m.suffixes.back();
  if (m.has("ftz")) return false;
  static const std::pair<std::string_view, CmpInst::Predicate> kInteger[] = {
      {"eq", CmpInst::ICMP_EQ},  {"ne", CmpInst::ICMP_NE},  {"lt", CmpInst::ICMP_SLT}, {"le", CmpInst::ICMP_SLE},
      {"gt", CmpInst::ICMP_SGT}, {"ge", CmpInst::ICMP_SGE}, {"lo", CmpInst::ICMP_ULT}, {"ls", CmpInst::ICMP_ULE},
      {"hi", CmpInst::ICMP_UGT}, {"hs", CmpInst::ICMP_UGE}};
  static const std::pair<std::string_view, CmpInst::Predicate> kFloat[] = {
      {"eq", CmpInst::FCMP_OEQ},  {"ne", CmpInst::FCMP_ONE},  {"lt", CmpInst::FCMP_OLT},  {"le", CmpInst::FCMP_OLE},
      {"gt", CmpInst::FCMP_OGT},  {"ge", CmpInst::FCMP_OGE},  {"equ", CmpInst::FCMP_UEQ}, {"neu", CmpInst::FCMP_UNE},
      {"ltu", CmpInst::FCMP_ULT}, {"leu", CmpInst::FCMP_ULE}, {"gtu", CmpInst::FCMP_UGT}, {"geu", CmpInst::FCMP_UGE},
      {"num", CmpInst::FCMP_ORD}, {"nan", CmpInst::FCMP_UNO}};
  Value* test = nullptr;
  if (t == "f32" || t == "f64") {
    Type* f = s[0]->getType()->getWithNewType(t == "f32" ? ir.getFloatTy() : ir.getDoubleTy());
    for (const auto& [text, predicate] : kFloat)
      if (how == text) test = ir.CreateFCmp(predicate, ir.CreateBitCast(s[0], f), ir.CreateBitCast(s[1], f));
  } else if (is_integer(t)) {
    for (auto [text, predicate] : kInteger)
      if (how == text) {
        if (t[0] != 's' && ICmpInst::isSigned(predicate)) predicate = ICmpInst::getUnsignedPredicate(predicate);
        test = ir.CreateICmp(predicate, s[0], s[1]);
      }
  }
  if (!test) return false;
  const auto joined = [&](Value* v) {
    if (m.suffixes.size() == 2) return v;
    const std::string_view join = m.suffixes[1];
    return join == "and" ? ir.CreateAnd(v, s[2]) : join == "or" ? ir.CreateOr(v, s[2]) : ir.CreateXor(v, s[2]);
  };
  if (m.suffixes.size() > 3 || (m.suffixes.size() == 3) != (s.size() == 3)) return false;
  out[0] = joined(test);
  out[1] = pair ? joined(ir.CreateNot(test)) : nullptr;
  return true;
}

}  // namespace coalesce::native
