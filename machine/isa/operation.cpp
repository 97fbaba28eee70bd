#include "machine/isa/operation.h"

#include <algorithm>

namespace coalesce::machine::isa {

namespace {

// Up to 8 characters as a number: names are compared by it. 0: longer, which no name is.
constexpr uint64_t key_of(std::string_view text) {
  if (text.size() > 8) return 0;
  uint64_t key = 0;
  for (const char c : text) key = key << 8 | static_cast<unsigned char>(c);
  return key;
}

template <class Value>
struct Named {
  consteval Named(std::string_view name, Value v) : key(key_of(name)), value(v) {}
  uint64_t key;
  Value value;
};

constexpr Named<Opcode> kOpcodes[] = {
    {"abs", Opcode::abs}, {"add", Opcode::add},       {"and", Opcode::and_},    {"bfe", Opcode::bfe},
    {"bfi", Opcode::bfi}, {"brev", Opcode::brev},     {"clz", Opcode::clz},     {"cnot", Opcode::cnot},
    {"cvt", Opcode::cvt}, {"div", Opcode::div},       {"fma", Opcode::fma},     {"lop3", Opcode::lop3},
    {"mad", Opcode::mad}, {"max", Opcode::max},       {"min", Opcode::min},     {"mov", Opcode::mov},
    {"mul", Opcode::mul}, {"narrow", Opcode::narrow}, {"neg", Opcode::neg},     {"not", Opcode::not_},
    {"or", Opcode::or_},  {"pack", Opcode::pack},     {"popc", Opcode::popc},   {"prmt", Opcode::prmt},
    {"rcp", Opcode::rcp}, {"rem", Opcode::rem},       {"selp", Opcode::selp},   {"setp", Opcode::setp},
    {"shf", Opcode::shf}, {"shl", Opcode::shl},       {"shr", Opcode::shr},     {"sqrt", Opcode::sqrt},
    {"sub", Opcode::sub}, {"unpack", Opcode::unpack}, {"widen", Opcode::widen}, {"xor", Opcode::xor_}};
constexpr Named<Type> kTypes[] = {
    {"b128", Type::b128},   {"b16", Type::b16},     {"b16x2", Type::b16x2},  {"b16x4", Type::b16x4},
    {"b32", Type::b32},     {"b32x2", Type::b32x2}, {"b64", Type::b64},      {"b64x2", Type::b64x2},
    {"b8", Type::b8},       {"bf16", Type::other},  {"bf16x2", Type::other}, {"f16", Type::other},
    {"f16x2", Type::other}, {"f32", Type::f32},     {"f64", Type::f64},      {"pred", Type::pred},
    {"s16", Type::s16},     {"s32", Type::s32},     {"s64", Type::s64},      {"s8", Type::s8},
    {"u16", Type::u16},     {"u32", Type::u32},     {"u64", Type::u64},      {"u8", Type::u8}};
constexpr Named<Product> kProducts[] = {{"hi", Product::hi}, {"lo", Product::lo}, {"wide", Product::wide}};
constexpr Named<Rounding> kRoundings[] = {{"rm", Rounding::rm},   {"rmi", Rounding::rmi}, {"rn", Rounding::rn},
                                          {"rni", Rounding::rni}, {"rp", Rounding::rp},   {"rpi", Rounding::rpi},
                                          {"rz", Rounding::rz},   {"rzi", Rounding::rzi}};
constexpr Named<Comparison> kComparisons[] = {
    {"eq", Comparison::eq},   {"equ", Comparison::equ}, {"ge", Comparison::ge},   {"geu", Comparison::geu},
    {"gt", Comparison::gt},   {"gtu", Comparison::gtu}, {"hi", Comparison::hi},   {"hs", Comparison::hs},
    {"le", Comparison::le},   {"leu", Comparison::leu}, {"lo", Comparison::lo},   {"ls", Comparison::ls},
    {"lt", Comparison::lt},   {"ltu", Comparison::ltu}, {"nan", Comparison::nan}, {"ne", Comparison::ne},
    {"neu", Comparison::neu}, {"num", Comparison::num}};
constexpr Named<Join> kJoins[] = {{"and", Join::and_}, {"or", Join::or_}, {"xor", Join::xor_}};

// Whether the table has the name; then `*out` is its value.
template <class Value, std::size_t N>
bool find(const Named<Value> (&table)[N], uint64_t key, Value* out) {
  for (const Named<Value>& row : table)
    if (row.key == key) return *out = row.value, true;
  return false;
}

void read_suffix(std::string_view suffix, Operation* op) {
  const uint64_t key = key_of(suffix);
  const bool compares = op->opcode == Opcode::setp;
  if (Type type; find(kTypes, key, &type)) {
    op->to = op->type;
    op->type = type;
  } else if (compares ? find(kComparisons, key, &op->comparison) || find(kJoins, key, &op->join)
                      : find(kProducts, key, &op->product) || find(kRoundings, key, &op->rounding)) {
  } else if (op->opcode == Opcode::shf && suffix.size() == 1) {
    op->left = suffix == "l";
  } else if (op->opcode == Opcode::shf) {
    op->wraps = suffix == "wrap";
  } else {
    op->modified = true;
  }
}

}  // namespace

unsigned bits_of(Type type) {
  switch (type) {
    case Type::b8:
    case Type::u8:
    case Type::s8:
      return 8;
    case Type::b16:
    case Type::u16:
    case Type::s16:
      return 16;
    case Type::b32:
    case Type::u32:
    case Type::s32:
    case Type::f32:
      return 32;
    case Type::b64:
    case Type::u64:
    case Type::s64:
    case Type::f64:
      return 64;
    case Type::b128:
      return 128;
    default:
      return 0;
  }
}

bool is_integer(Type type) {
  switch (type) {
    case Type::b16:
    case Type::b32:
    case Type::b64:
    case Type::u16:
    case Type::u32:
    case Type::u64:
    case Type::s16:
    case Type::s32:
    case Type::s64:
      return true;
    default:
      return false;
  }
}

bool is_signed(Type type) { return type == Type::s8 || type == Type::s16 || type == Type::s32 || type == Type::s64; }

Operation operation_of(std::string_view mnemonic) {
  Operation op;
  if (mnemonic.ends_with('|')) {
    op.pair = true;
    mnemonic.remove_suffix(1);
  }
  std::size_t dot = std::min(mnemonic.find('.'), mnemonic.size());
  if (!find(kOpcodes, key_of(mnemonic.substr(0, dot)), &op.opcode)) return {};
  while (dot < mnemonic.size()) {
    const std::size_t next = std::min(mnemonic.find('.', dot + 1), mnemonic.size());
    read_suffix(mnemonic.substr(dot + 1, next - dot - 1), &op);
    dot = next;
  }
  return op;
}

}  // namespace coalesce::machine::isa
