// setp, set, selp, slct.
//
// setp.lt.s32 p, a, b has one result; the form with two, setp.lt.s32 p|q, a, b, has the mnemonic "setp.lt.s32|" and
// gives the comparison and its opposite. With a boolean operation (setp.lt.and.s32 p, a, b, c) the predicate c is the
// last source: p = (a < b) and c, q = not (a < b) and c.
//
// One function compares the lanes (Step::extra names it); the forms around it (two predicates, boolean operations, set)
// are a few words of bit arithmetic each and the same for all comparisons: written out for each of the 138 they were
// 3,700 functions, which took a compiler a minute.
#include "machine/execute/ops/half.h"
#include "machine/execute/ops/numbers.h"
#include "machine/execute/ops/rows.h"

namespace coalesce::machine {
namespace {

enum class Join { none, conjunction, disjunction, exclusive };
constexpr const char* name_of(Join join) {
  return join == Join::none ? "" : join == Join::conjunction ? ".and" : join == Join::disjunction ? ".or" : ".xor";
}
template <Join J>
uint32_t joined(uint32_t test, const Step& step, const Context& context) {
  if constexpr (J == Join::none) return test;
  const uint32_t c = *context.at<uint32_t>(step.src[2]);
  return J == Join::conjunction ? test & c : J == Join::disjunction ? test | c : test ^ c;
}

// The parts that differ between comparisons: all lanes' results in a word, and that of the scalar slots as 0 or ~0.
struct Comparison {
  uint32_t (*lanes)(const Step&, const Context&);
  uint32_t (*scalar)(const Step&, const Context&);
};
template <class F>
using Compare = Handlers<F>;
template <class F>
constexpr Comparison kComparison{Compare<F>::bits, Compare<F>::bit};

template <Form kForm>
uint32_t test(const Step& step, const Context& context) {
  const Comparison& compare = *static_cast<const Comparison*>(step.extra);
  return kForm == Form::scalar ? compare.scalar(step, context) : compare.lanes(step, context);
}
template <Form kForm>
uint32_t lanes_on(const Context& context) {
  return kForm == Form::masked ? context.active : ~0u;
}
inline void assign(uint32_t& d, uint32_t value, uint32_t on) { d = (d & ~on) | (value & on); }

// `work` for each warp of Context::together.
template <Form kForm, class Work>
void each_warp(Context& context, Work work) {
  std::byte* const area = context.base[kWarp];
  const uint32_t active = context.active;
  const Context* warp = &context;
  for (uint32_t left = context.together;;) {
    work();
    if (--left == 0) break;
    context.base[kWarp] += context.stride[kWarp];
    warp = reinterpret_cast<const Context*>(reinterpret_cast<const std::byte*>(warp) + context.next);
    if (kForm == Form::masked) context.active = warp->active;
  }
  context.base[kWarp] = area;
  context.active = active;
}

template <Join J, bool kPair, Form kForm>
void setp(const Step& step, Context& context) {
  each_warp<kForm>(context, [&] {
    const uint32_t t = test<kForm>(step, context);
    const uint32_t on = lanes_on<kForm>(context);
    const uint32_t p = joined<J>(t, step, context), q = joined<J>(~t, step, context);
    assign(*context.at<uint32_t>(step.dst[0]), p, on);
    if constexpr (kPair) assign(*context.at<uint32_t>(step.dst[1]), q, on);
  });
}

// Writes kTrue or 0 to each lane of a 32-bit result.
template <Form kForm, uint32_t kTrue>
void spread(uint32_t* d, uint32_t bits, uint32_t on) {
  if constexpr (kForm == Form::scalar) {
    *d = bits & kTrue;
  } else {
    [[maybe_unused]] constexpr uint32_t kWidth = kVectorBytes / 4;
    COALESCE_INDEPENDENT_LANES
    for (uint32_t i = 0; i < kLanes; ++i) {
      const uint32_t value = (bits & (1u << i)) ? kTrue : 0u;
      d[i] = (kForm == Form::full || (on & (1u << i))) ? value : d[i];
    }
  }
}
template <uint32_t kTrue, Form kForm>
void set(const Step& step, Context& context) {
  each_warp<kForm>(context, [&] {
    const uint32_t bits = test<kForm>(step, context);
    spread<kForm, kTrue>(context.at<uint32_t>(step.dst[0]), bits, lanes_on<kForm>(context));
  });
}

template <Join J, bool kPair>
void keep_setp(Rows& row, const Name& compare, const Name& rest, PureOp op) {
  if (J != Join::none) op.source[op.sources++] = Element::pred;
  if (kPair) op.result[op.results++] = Element::pred;
  op.scalar = setp<J, kPair, Form::scalar>;
  op.full = setp<J, kPair, Form::full>;
  op.masked = setp<J, kPair, Form::masked>;
  row.keep("setp." + compare + name_of(J) + rest + (kPair ? "|" : ""), op);
}

// With a boolean operation set is not provided.
template <uint32_t kTrue>
void keep_set(Rows& row, const Name& compare, const Name& ftz, const char* result, const Name& type, PureOp op) {
  op.result[0] = Element::b32;
  op.scalar = set<kTrue, Form::scalar>;
  op.full = set<kTrue, Form::full>;
  op.masked = set<kTrue, Form::masked>;
  row.keep("set." + compare + ftz + result + type, op);
}

void forms(Rows& row, const Name& compare, const Name& ftz, const Name& type, const PureOp& op) {
  const Name rest = ftz + type;
  keep_setp<Join::none, false>(row, compare, rest, op);
  keep_setp<Join::none, true>(row, compare, rest, op);
  keep_setp<Join::conjunction, false>(row, compare, rest, op);
  keep_setp<Join::conjunction, true>(row, compare, rest, op);
  keep_setp<Join::disjunction, false>(row, compare, rest, op);
  keep_setp<Join::disjunction, true>(row, compare, rest, op);
  keep_setp<Join::exclusive, false>(row, compare, rest, op);
  keep_setp<Join::exclusive, true>(row, compare, rest, op);
  keep_set<~0u>(row, compare, ftz, ".u32", type, op);
  keep_set<~0u>(row, compare, ftz, ".s32", type, op);
  keep_set<std::bit_cast<uint32_t>(1.0f)>(row, compare, ftz, ".f32", type, op);
}

template <class F>
void comparison(Rows& row, const Name& compare, const Name& ftz, const Name& type, F) {
  PureOp op = Compare<F>::described();
  op.extra = &kComparison<F>;
  forms(row, compare, ftz, type, op);
}

template <class T>
void equality(Rows& row, const Name& t) {
  comparison(row, "eq", "", t, [](T a, T b) { return a == b; });
  comparison(row, "ne", "", t, [](T a, T b) { return a != b; });
}
template <class T>
void integers(Rows& row, const Name& t) {
  equality<T>(row, t);
  const auto ordered = [&](const char* lt, const char* le, const char* gt, const char* ge) {
    comparison(row, lt, "", t, [](T a, T b) { return a < b; });
    comparison(row, le, "", t, [](T a, T b) { return a <= b; });
    comparison(row, gt, "", t, [](T a, T b) { return a > b; });
    comparison(row, ge, "", t, [](T a, T b) { return a >= b; });
  };
  ordered("lt", "le", "gt", "ge");
  if (std::is_unsigned_v<T>) ordered("lo", "ls", "hi", "hs");
}

// The value of an operand that a comparison sees.
template <bool kFtz>
float seen(float a) {
  return in<kFtz>(a);
}
template <bool>
double seen(double a) {
  return a;
}
template <bool kFtz>
float seen(Half a) {
  return to_float(kFtz ? flush(a) : a);
}
template <bool kFtz>
float seen(Bfloat a) {
  return to_float(a);
}

template <class T, bool kFtz>
void floats(Rows& row, const Name& t) {
  const Name ftz = kFtz ? ".ftz" : "";
  // Comparisons are false with a NaN, except "ne" of C++; the forms with u are true with a NaN.
  comparison(row, "eq", ftz, t, [](T a, T b) { return seen<kFtz>(a) == seen<kFtz>(b); });
  comparison(row, "ne", ftz, t,
             [](T a, T b) { return seen<kFtz>(a) < seen<kFtz>(b) || seen<kFtz>(a) > seen<kFtz>(b); });
  comparison(row, "lt", ftz, t, [](T a, T b) { return seen<kFtz>(a) < seen<kFtz>(b); });
  comparison(row, "le", ftz, t, [](T a, T b) { return seen<kFtz>(a) <= seen<kFtz>(b); });
  comparison(row, "gt", ftz, t, [](T a, T b) { return seen<kFtz>(a) > seen<kFtz>(b); });
  comparison(row, "ge", ftz, t, [](T a, T b) { return seen<kFtz>(a) >= seen<kFtz>(b); });
  comparison(row, "equ", ftz, t,
             [](T a, T b) { return !(seen<kFtz>(a) < seen<kFtz>(b) || seen<kFtz>(a) > seen<kFtz>(b)); });
  comparison(row, "neu", ftz, t, [](T a, T b) { return seen<kFtz>(a) != seen<kFtz>(b); });
  comparison(row, "ltu", ftz, t, [](T a, T b) { return !(seen<kFtz>(a) >= seen<kFtz>(b)); });
  comparison(row, "leu", ftz, t, [](T a, T b) { return !(seen<kFtz>(a) > seen<kFtz>(b)); });
  comparison(row, "gtu", ftz, t, [](T a, T b) { return !(seen<kFtz>(a) <= seen<kFtz>(b)); });
  comparison(row, "geu", ftz, t, [](T a, T b) { return !(seen<kFtz>(a) < seen<kFtz>(b)); });
  comparison(row, "num", ftz, t, [](T a, T b) { return !is_nan(seen<kFtz>(a)) && !is_nan(seen<kFtz>(b)); });
  comparison(row, "nan", ftz, t, [](T a, T b) { return is_nan(seen<kFtz>(a)) || is_nan(seen<kFtz>(b)); });
}

template <class T>
void select(Rows& row, std::initializer_list<const char*> types) {
  for (const Name t : types) {
    row("selp." + t, [](T a, T b, bool p) { return p ? a : b; });
    row("slct." + t + ".s32", [](T a, T b, int32_t c) { return c >= 0 ? a : b; });
    row("slct." + t + ".f32", [](T a, T b, float c) { return c >= 0.0f ? a : b; });  // -0 counts as +0, NaN selects b
    row("slct.ftz." + t + ".f32", [](T a, T b, float c) { return flush(c) >= 0.0f ? a : b; });
  }
}

}  // namespace

void compare_rows(Rows& row) {
  equality<uint16_t>(row, ".b16");
  equality<uint32_t>(row, ".b32");
  equality<uint64_t>(row, ".b64");
  integers<uint16_t>(row, ".u16");
  integers<uint32_t>(row, ".u32");
  integers<uint64_t>(row, ".u64");
  integers<int16_t>(row, ".s16");
  integers<int32_t>(row, ".s32");
  integers<int64_t>(row, ".s64");
  floats<float, false>(row, ".f32");
  floats<float, true>(row, ".f32");
  floats<double, false>(row, ".f64");
  floats<Half, false>(row, ".f16");
  floats<Half, true>(row, ".f16");
  floats<Bfloat, false>(row, ".bf16");
  select<uint16_t>(row, {"b16", "u16", "s16", "f16", "bf16"});
  select<uint32_t>(row, {"b32", "u32", "s32", "f32", "f16x2", "bf16x2"});
  select<uint64_t>(row, {"b64", "u64", "s64", "f64"});
}

}  // namespace coalesce::machine
