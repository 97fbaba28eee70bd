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

Value* convert_operation(Emitter& e, const machine::PureOp& op, const std::vector<Value*>& s) {
  IRBuilder<>& ir = e.ir;
  const Mnemonic m(op.mnemonic);
  const std::size_t n = m.suffixes.size();
  const std::string_view to = m.suffixes[n - 2], from = m.suffixes[n - 1];
  if (m.has("sat") || m.has("ftz")) return nullptr;
  const auto of_bits = [&](unsigned bits) { return s[0]->getType()->getWithNewBitWidth(bits); };
  if (is_integer(to) && is_integer(from) && n == 2) {
    Type* type = of_bits(bits_of_type(to));
    return from[0] == 's' ? ir.CreateSExtOrTrunc(s[0], type) : ir.CreateZExtOrTrunc(s[0], type);
  }
  const bool to_float = to == "f32" || to == "f64";
  const auto float_type = [&](std::string_view t) {
    return s[0]->getType()->getWithNewType(t == "f32" ? ir.getFloatTy() : ir.getDoubleTy());
  };
  if (to_float && is_integer(from) && n == 3 && m.suffixes[0] == "rn" && bits_of_type(from) >= 32) {
    if (bits_of_type(from) == 64 && s[0]->getType()->isVectorTy()) return nullptr;
    Value* f = from[0] == 's' ? ir.CreateSIToFP(s[0], float_type(to)) : ir.CreateUIToFP(s[0], float_type(to));
    return ir.CreateBitCast(f, of_bits(bits_of_type(to)));
  }
  if (from == "f32" && (to == "s32" || to == "u32") && n == 3 && e.target.rounds) {
    Value* f = ir.CreateBitCast(s[0], float_type(from));
    const std::string_view mode = m.suffixes[0];
    const Intrinsic::ID rounding = mode == "rni"   ? Intrinsic::roundeven
                                   : mode == "rzi" ? Intrinsic::trunc
                                   : mode == "rmi" ? Intrinsic::floor
                                                   : Intrinsic::ceil;
    f = ir.CreateUnaryIntrinsic(rounding, f);
    // Out of range: the nearest number; NaN: 0.
    return ir.CreateIntrinsic(to[0] == 's' ? Intrinsic::fptosi_sat : Intrinsic::fptoui_sat, {of_bits(32), f->getType()},
                              {f});
  }
  return nullptr;
}

}  // namespace coalesce::native
