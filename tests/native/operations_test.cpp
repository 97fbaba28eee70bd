// Every computing instruction as native code, in each Form of operands. Expected are the rows' results, which were
// compared with a GPU (tests/machine/isa).
#include "tests/machine/isa/operations.h"

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "tests/machine/execute/harness.h"
#include "tests/sanitized.h"

namespace coalesce::machine::test::operations_tests {
namespace {

using operations::Raw;
using operations::Subject;

constexpr uint32_t kThreads = 32, kTogether = 24, kPlace = 16;
constexpr Element kElements[] = {Element::pred, Element::b16, Element::b32, Element::b64, Element::b128};
constexpr uint32_t kRow = 4 * kPlace, kTable = kThreads * kRow;  // four sources of each thread; one table an element

uint32_t number_of(uint32_t thread) { return thread * 97; }  // of the thread's operands

uint32_t table_of(Element e) {
  uint32_t k = 0;
  while (kElements[k] != e) ++k;
  return k * kTable;
}

// Operands: all differ from lane to lane; all but the first are the block's, under a guard; all are the block's; all
// but the first are numbers in the text: special ones, and a width as the last.
enum Form : uint32_t { kLanewise, kGuarded, kScalar, kNumbers, kWidths, kForms };
constexpr uint32_t kNumbersOf = 20;  // the thread whose operands the text holds

std::string bits(Element e) { return "b" + std::to_string(8 * operations::file_bytes(e)); }

// The carry flag is nobody's register.
bool has_pair(const PureOp& op) { return op.mnemonic.ends_with('|'); }
bool takes_carry(const PureOp& op) {
  return op.mnemonic.starts_with("addc.") || op.mnemonic.starts_with("subc.") || op.mnemonic.starts_with("madc.");
}
bool gives_carry(const PureOp& op) { return op.results == 2 && !has_pair(op); }

// Rows whose operands may be numbers in the text.
bool takes_numbers(const Subject& s) {
  for (uint32_t k = 1; k < s.op->sources; ++k)
    if (s.op->source[k] != Element::pred && s.op->source[k] != Element::b128 &&
        (s.immediate < 0 || k + 1 < s.op->sources))
      return true;
  return false;
}

// Source `k` of a thread; `other` is the thread whose operands all have.
Raw operand_of(const Subject& s, Form form, uint32_t k, uint32_t thread, uint32_t other) {
  const PureOp& op = *s.op;
  const Element e = op.source[k];
  if (s.immediate >= 0 && k + 1 == op.sources) return static_cast<Raw>(s.immediate);
  if (form >= kNumbers && k > 0 && e != Element::pred && e != Element::b128) {
    const bool last = k + 1 == op.sources;
    if (form == kNumbers) return operations::operand(e, k, number_of(kNumbersOf));
    return last && op.sources > 1 ? 8 * operations::file_bytes(op.source[0]) : 3;
  }
  return operations::operand(e, k, number_of(form == kScalar || (k > 0 && form == kGuarded) ? other : thread));
}

// A number of the text: 0f3f800000, 0d3ff0000000000000 or 0xffffffff.
std::string in_text(const PureOp& op, Element e, uint32_t k, Raw v) {
  std::string_view type = op.mnemonic;
  if (type.ends_with('|')) type.remove_suffix(1);
  if (type.starts_with("slct.") && k < 2) type.remove_suffix(4);
  const char* prefix = type.ends_with(".f32") && e == Element::b32   ? "0f"
                       : type.ends_with(".f64") && e == Element::b64 ? "0d"
                                                                     : "0x";
  char text[40];
  std::snprintf(text, sizeof text, e == Element::b64 ? "%s%016llx" : "%s%08llx", prefix,
                static_cast<unsigned long long>(operations::cut(v, e)));
  return text;
}

// One instruction in a scope of its own. %rd1: the thread's operands, %rd2: those of the thread that all use, %rd3:
// where its results go, `at` bytes on, %p1: the guard.
std::string scope(const Subject& s, Form form, uint32_t at) {
  const PureOp& op = *s.op;
  std::string name(op.mnemonic);
  const bool pair = has_pair(op), carry_in = takes_carry(op), carry_out = gives_carry(op);
  if (pair) name.pop_back();
  std::string t = "{\n.reg .b16 %b;\n.reg .b32 %c;\n";
  const auto declare = [&](const std::string& r, Element e) {
    t += ".reg ." + (e == Element::pred ? "pred" : bits(e)) + " " + r + ";\n";
  };
  const std::size_t loaded = op.sources - (s.immediate >= 0 ? 1u : 0u);
  std::vector<std::string> sources;
  for (std::size_t k = 0; k < op.results; ++k) declare("%d" + std::to_string(k), op.result[k]);
  for (uint32_t k = 0; k < loaded; ++k) {
    const Element e = op.source[k];
    if (form >= kNumbers && k > 0 && e != Element::pred && e != Element::b128) {
      sources.push_back(in_text(op, e, k, operand_of(s, form, k, 0, 0)));
      continue;
    }
    const std::string reg = "%s" + std::to_string(k);
    const std::string from = std::string(form == kScalar || (form == kGuarded && k > 0) ? "[%rd2+" : "[%rd1+") +
                             std::to_string(table_of(e) + k * kPlace) + "];\n";
    sources.push_back(reg);
    declare(reg, e);
    t += e == Element::pred ? "ld.global.u8 %b, " + from + "setp.ne.u16 " + reg + ", %b, 0;\n"
                            : "ld.global." + bits(e) + " " + reg + ", " + from;
  }
  if (carry_in) t += "selp.b32 %c, 1, 0, " + sources.back() + ";\nadd.cc.u32 %c, %c, -1;\n", sources.pop_back();
  if (form == kGuarded && !carry_in && !carry_out) t += "@%p1 ";
  t += name + " %d0" + (pair ? "|%d1" : "");
  for (const std::string& source : sources) t += ", " + source;
  t += (s.immediate >= 0 ? ", " + std::to_string(s.immediate) : "") + ";\n";
  if (carry_out) t += "addc.u32 %c, 0, 0;\nsetp.ne.u32 %d1, %c, 0;\n";
  for (std::size_t k = 0; k < op.results; ++k) {
    const std::string to = "[%rd3+" + std::to_string(at + k * kPlace) + "], ";
    t += op.result[k] == Element::pred
             ? "selp.u16 %b, 1, 0, %d" + std::to_string(k) + ";\nst.global.u8 " + to + "%b;\n"
             : "st.global." + bits(op.result[k]) + " " + to + "%d" + std::to_string(k) + ";\n";
  }
  return t + "}\n";
}

Raw read(const std::vector<uint8_t>& bytes, std::size_t at, Element e) {
  Raw r = 0;
  std::memcpy(&r, bytes.data() + at, sizeof r);
  return operations::cut(r, e);
}

// Compares with the row itself.
void expect(const Subject& s, Form form, const std::vector<uint8_t>& out, std::size_t at, uint32_t thread,
            uint32_t others) {
  const PureOp& op = *s.op;
  alignas(64) std::byte slots[6][64] = {};
  Context context{};
  for (auto& base : context.base) base = slots[0];
  context.active = 1;
  Step step{};
  step.extra = op.extra;
  const auto slot = [](std::size_t k) { return static_cast<Slot>(k * sizeof(slots[0])) | kWarp; };
  for (uint32_t k = 0; k < op.sources; ++k) {
    step.src[k] = slot(k);
    Raw v = operand_of(s, form, k, thread, others);
    if (op.source[k] == Element::pred && v) v = 0xffffffffu;
    std::memcpy(slots[k], &v, sizeof v);
  }
  for (uint32_t k = 0; k < op.results; ++k) step.dst[k] = slot(4 + k);
  const bool always = form != kGuarded || takes_carry(op) || gives_carry(op);
  if (always || thread % 2 == 1) op.scalar(step, context);
  for (uint32_t k = 0; k < op.results; ++k) {
    Raw wanted = 0;
    std::memcpy(&wanted, slots[4 + k], sizeof wanted);
    const Raw got = read(out, at + k * kPlace, op.result[k]);
    EXPECT_TRUE(got == operations::cut(wanted, op.result[k]))
        << op.mnemonic << ", form " << form << ", result " << k << " of thread " << thread
        << " with the others of thread " << others << ": " << std::hex << static_cast<uint64_t>(got) << ", not "
        << static_cast<uint64_t>(wanted);
  }
}

// Rows of words, of single and of double precision: LLVM has a form of most.
bool is_of_words(const Subject& s) {
  for (const std::string_view part : {"f16", "x2", "x4", "e4m3", "e5m2", "approx", "vadd", "vsub", "vabs", "vset"})
    if (s.op->mnemonic.find(part) != s.op->mnemonic.npos) return false;
  return true;
}

// In each change's tests one of them: rows beside each other have different ones.
std::vector<Form> forms_of(const Subject& s, std::size_t number) {
  std::vector<Form> forms{kLanewise, kGuarded, kScalar};
  if (is_of_words(s) && takes_numbers(s)) forms.push_back(kNumbers);
  if (is_of_words(s) && takes_numbers(s) && s.op->mnemonic.find(".f") == s.op->mnemonic.npos) forms.push_back(kWidths);
  if (few_cases()) forms = {forms[number % forms.size()]};
  return forms;
}

void compare(bool of_words) {
  if (!native_code()) GTEST_SKIP() << "built without LLVM";
  std::vector<uint8_t> in(std::size(kElements) * kTable + kPlace);
  for (const Element e : kElements)
    for (uint32_t t = 0; t < kThreads; ++t)
      for (uint32_t k = 0; k < 4; ++k) {
        const Raw v = operations::operand(e, k, number_of(t));
        std::memcpy(in.data() + table_of(e) + t * kRow + k * kPlace, &v, sizeof v);
      }
  std::vector<Subject> all = operations::subjects();
  std::erase_if(all, [&](const Subject& s) { return is_of_words(s) != of_words; });
  native::Settings settings = native_settings();
  settings.level = 0;  // LLVM takes nearly all of the time
  const auto engine = std::make_shared<native::Engine>(std::move(settings));
  Bench bench(1, Shape{}.max_instructions, engine);
  Shape shape;
  shape.block = {kThreads, 1, 1};
  constexpr uint32_t kEach = kForms * 2 * kPlace;  // two results
  for (std::size_t from = 0; from < all.size() && !testing::Test::HasFailure(); from += kTogether) {
    const std::vector<Subject> some(all.begin() + static_cast<std::ptrdiff_t>(from),
                                    all.begin() + static_cast<std::ptrdiff_t>(std::min(from + kTogether, all.size())));
    const auto row = static_cast<uint32_t>(some.size() * kEach);
    std::string body =
        "ld.param.u64 %rd4, [in];\nld.param.u32 %r2, [other];\nld.param.u64 %rd5, [out];\nmov.u32 %r1, %tid.x;\n"
        "mad.wide.u32 %rd1, %r1, " +
        std::to_string(kRow) + ", %rd4;\nmad.wide.u32 %rd2, %r2, " + std::to_string(kRow) +
        ", %rd4;\nmad.wide.u32 %rd3, %r1, " + std::to_string(row) +
        ", %rd5;\nand.b32 %r3, %r1, 1;\nsetp.ne.u32 %p1, %r3, 0;\n";
    for (std::size_t k = 0; k < some.size(); ++k)
      for (const Form form : forms_of(some[k], from + k))
        body += scope(some[k], form, static_cast<uint32_t>(k * kEach + form * 2 * kPlace));
    const auto program =
        bench.machine().load(kernel(".param .u64 out, .param .u64 in, .param .u32 other", body), "test.ptx");
    for (const uint32_t other : {3u, 20u}) {
      const Ran r =
          bench.run(*program, {zeros<uint8_t>(kThreads * row + kPlace), buffer(in), value(other)}, shape, "k");
      ASSERT_EQ(r.report.fault, Fault::none) << r.message();
      for (std::size_t k = 0; k < some.size(); ++k)
        for (const Form form : forms_of(some[k], from + k))
          for (uint32_t t = 0; t < kThreads; ++t)
            expect(some[k], form, r.buffers[0], t * row + k * kEach + form * 2 * kPlace, t, other);
    }
  }
  EXPECT_EQ(engine->statistics().compiled, (all.size() + kTogether - 1) / kTogether);
}

TEST(Operations, OfWordsAsNativeCode) { compare(true); }
TEST(OperationsNightly, OthersAsNativeCode) { compare(false); }

}  // namespace
}  // namespace coalesce::machine::test::operations_tests
