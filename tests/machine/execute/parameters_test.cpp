// Parameters and constants read at addresses that lanes compute: every width, every way the lanes' addresses can
// differ. What is expected is the argument's own bytes.
#include "harness.h"
#include "machine/execute/code.h"

namespace coalesce::machine::test {

namespace {

constexpr uint32_t kBytes = 2048, kLaneCount = 32;

std::vector<uint8_t> argument_bytes() {
  std::vector<uint8_t> v(kBytes);
  for (uint32_t k = 0; k < kBytes; ++k) v[k] = static_cast<uint8_t>(k * 73 + k / 256 * 29 + 5);
  return v;
}

struct Width {
  const char* suffix;     // of ld and st
  const char* registers;  // one element, or a list of them
  uint32_t bytes;         // per lane
};
constexpr Width kWidths[] = {{"u8", "%h1", 1},
                             {"u16", "%h1", 2},
                             {"u32", "%r9", 4},
                             {"f32", "%f1", 4},
                             {"u64", "%rd9", 8},
                             {"f64", "%fd1", 8},
                             {"v2.u8", "{%h1, %h2}", 2},
                             {"v4.u8", "{%h1, %h2, %h3, %h4}", 4},
                             {"v2.u16", "{%h1, %h2}", 4},
                             {"v4.u16", "{%h1, %h2, %h3, %h4}", 8},
                             {"v2.u32", "{%r9, %r10}", 8},
                             {"v4.u32", "{%r9, %r10, %r11, %r12}", 16},
                             {"v2.u64", "{%rd9, %rd10}", 16},
                             {"b128", "%q1", 16}};

// The lanes' index: PTX that leaves it in %r2 (%r1: the lane), and what it is.
struct Index {
  const char* name;
  const char* ptx;
  std::function<uint32_t(uint32_t lane)> of;
};
const Index kIndexes[] = {
    {"one for all", "mov.u32 %r2, 3;", [](uint32_t) { return 3; }},
    {"one for all, computed", "and.b32 %r2, %r1, 32; add.u32 %r2, %r2, 5;", [](uint32_t) { return 5; }},
    {"lane after lane", "mov.u32 %r2, %r1;", [](uint32_t l) { return l; }},
    {"lane after lane from the third on", "add.u32 %r2, %r1, 3;", [](uint32_t l) { return l + 3; }},
    {"every second", "shl.b32 %r2, %r1, 1;", [](uint32_t l) { return 2 * l; }},
    {"downwards", "sub.u32 %r2, 40, %r1;", [](uint32_t l) { return 40 - l; }},
    {"anywhere", "mul.lo.u32 %r2, %r1, %r1; and.b32 %r2, %r2, 63;", [](uint32_t l) { return l * l & 63; }},
};

enum class Way : uint8_t { param, generic, constant };

// Which lanes load; the others keep what they had, which is 0.
struct Guard {
  const char* ptx;
  const char* predicate;
  std::function<bool(uint32_t lane)> on;
};
const Guard kGuards[] = {
    {"", "", [](uint32_t) { return true; }},
    {"setp.lt.u32 %p1, %r1, 9;\n", "@%p1 ", [](uint32_t l) { return l < 9; }},
    {"and.b32 %r3, %r1, 5;\nsetp.eq.u32 %p1, %r3, 1;\n", "@!%p1 ", [](uint32_t l) { return (l & 5) != 1; }},
};

constexpr uint32_t kSkip = 16;  // bytes before the array, as before a member

std::string copy(Way way, const Width& w, const Index& i, const Guard& g) {
  std::string constants;
  if (way == Way::constant) {
    constants = ".const .align 16 .b8 c[" + std::to_string(kBytes) + "] = {";
    for (const uint8_t b : argument_bytes()) constants += std::to_string(b) + ", ";
    constants.replace(constants.size() - 2, 2, "};\n");
  }
  const std::string base = way == Way::param     ? "mov.b64 %rd1, s;\n"
                           : way == Way::generic ? "mov.b64 %rd1, s;\ncvta.param.u64 %rd1, %rd1;\n"
                                                 : "mov.u64 %rd1, c;\n";
  const std::string load = way == Way::param ? "ld.param." : way == Way::generic ? "ld." : "ld.const.";
  const std::string bytes = std::to_string(w.bytes);
  std::string text =
      kernel(".param .align 16 .b8 s[" + std::to_string(kBytes) + "], .param .u64 to",
             ".reg .b128 %q<4>;\nmov.b32 %r9, 0;\nmov.b32 %r10, 0;\nmov.b32 %r11, 0;\nmov.b32 %r12, 0;\n"
             "mov.b64 %rd9, 0;\nmov.b64 %rd10, 0;\nmov.b128 %q1, {%rd9, %rd10};\nmov.b16 %h1, 0;\nmov.b16 %h2, 0;\n"
             "mov.b16 %h3, 0;\nmov.b16 %h4, 0;\nmov.f32 %f1, 0f00000000;\nmov.f64 %fd1, 0d0000000000000000;\n"
             "mov.u32 %r1, %tid.x;\n" +
                 std::string(i.ptx) + "\n" + g.ptx + base + "mul.wide.u32 %rd2, %r2, " + bytes +
                 ";\nadd.s64 %rd3, %rd1, %rd2;\n" + g.predicate + load + w.suffix + " " + w.registers + ", [%rd3+" +
                 std::to_string(kSkip) + "];\nld.param.u64 %rd4, [to];\nmul.wide.u32 %rd5, %r1, " + bytes +
                 ";\nadd.s64 %rd6, %rd4, %rd5;\nst.global." + w.suffix + " [%rd6], " + w.registers + ";\n");
  return text.insert(text.find(".visible"), constants);
}

class Parameters : public testing::TestWithParam<Way> {};

TEST_P(Parameters, AreReadAtAnyAddress) {
  const std::vector<uint8_t> from = argument_bytes();
  Bench interpreted(1), compiled(1, Shape{}.max_instructions, quick_native_code());
  for (const Width& w : kWidths)
    for (const Index& i : kIndexes)
      for (const Guard& g : kGuards) {
        SCOPED_TRACE(std::string(w.suffix) + ", " + i.name + ", guard: " + g.predicate);
        std::vector<uint8_t> expected(kLaneCount * w.bytes);
        for (uint32_t l = 0; l < kLaneCount; ++l)
          if (g.on(l)) std::copy_n(&from[kSkip + i.of(l) * w.bytes], w.bytes, &expected[l * w.bytes]);
        const std::string ptx = copy(GetParam(), w, i, g);
        const std::vector<Argument> arguments{{false, from}, zeros<uint8_t>(expected.size())};
        const Ran r = interpreted.run(ptx, arguments, {}, "k");
        ASSERT_EQ(r.report.fault, Fault::none) << r.message();
        EXPECT_EQ(r.buffers[0], expected);
        // Native code of one width of each size: what addresses become of is the same for the others.
        if (quick_native_code() && std::string(w.suffix).starts_with("u"))
          EXPECT_EQ(difference(r, compiled.run(ptx, arguments, {}, "k")), "");
      }
}

INSTANTIATE_TEST_SUITE_P(Spaces, Parameters, testing::Values(Way::param, Way::generic, Way::constant),
                         [](const auto& test) {
                           return test.param == Way::param     ? "param"
                                  : test.param == Way::generic ? "generic"
                                                               : "constant";
                         });

std::string load_word(const std::string& index) {
  return kernel(".param .align 16 .b8 s[64], .param .u64 to",
                "mov.u32 %r1, %tid.x;\nmov.b64 %rd1, s;\n" + index +
                    "add.s64 %rd3, %rd1, %rd2;\nld.param.u32 %r9, [%rd3];\nld.param.u64 %rd4, [to];\n"
                    "st.global.u32 [%rd4], %r9;\n");
}
std::string fault_of(const std::string& index) {
  const Ran r = run(load_word(index), {{false, std::vector<uint8_t>(64)}, zeros<uint32_t>(1)});
  return r.report.diagnostics.empty() ? "" : render(r.report.diagnostics[0], false);
}

TEST(ParameterFaults, NameTheFirstLaneThatIsOutside) {
  const std::string text = fault_of("mul.wide.u32 %rd2, %r1, 4;\n");
  EXPECT_THAT(text, testing::HasSubstr("outside the kernel's 72 bytes of parameters"));
  EXPECT_THAT(text, testing::HasSubstr("thread  (18, 0, 0)"));
}

TEST(ParameterFaults, NameTheLaneThatIsNotAligned) {
  const std::string text = fault_of("and.b32 %r2, %r1, 7;\nadd.u32 %r2, %r2, 4;\ncvt.u64.u32 %rd2, %r2;\n");
  EXPECT_THAT(text, testing::HasSubstr("not a multiple of 4"));
  EXPECT_THAT(text, testing::HasSubstr("thread  (1, 0, 0)"));
}

TEST(ParameterFaults, OfOneAddressForAllLanes) {
  EXPECT_THAT(fault_of("mov.b64 %rd2, 72;\n"), testing::HasSubstr("outside the kernel's 72 bytes of parameters"));
  EXPECT_THAT(fault_of("mov.b64 %rd2, 2;\n"), testing::HasSubstr("not a multiple of 4"));
}

TEST(ParameterFaults, StoresAreRefused) {
  const Ran r = run(kernel(".param .u32 s", "mov.b64 %rd1, s;\nmov.u32 %r1, 1;\nst.param.u32 [%rd1], %r1;\n"),
                    {value(uint32_t{0})});
  EXPECT_NE(r.report.fault, Fault::none);
}

// A shape without a handler must never be carried out by one that takes it for another.
// Both words, or none, of a vector that a lane stores to an argument and loads from a parameter.
TEST(ParametersUnderAGuard, LeaveLanesThatAreOffAsTheyAre) {
  const Ran r = run(
      module(
          ".func (.param .b32 result) f(.param .align 8 .b8 pair[8])\n{\n.reg .b32 %r<4>;\n"
          "ld.param.v2.u32 {%r1, %r2}, [pair];\nmad.lo.u32 %r3, %r1, 1000, %r2;\nst.param.b32 [result], %r3;\nret;\n}\n"
          ".visible .entry k(.param .u64 out, .param .align 8 .b8 bag[8])\n{\n.reg .pred %p<2>;\n.reg .b32 "
          "%r<16>;\n.reg .b64 %rd<4>;\nmov.u32 %r1, %tid.x;\nand.b32 %r2, %r1, 1;\nsetp.ne.u32 %p1, %r2, 0;\n"
          "add.u32 %r3, %r1, 100;\n{\n.param .align 8 .b8 pair[8];\n.param .b32 result;\n"
          "st.param.v2.u32 [pair], {%r1, %r3};\n@%p1 st.param.v2.u32 [pair], {7, 8};\ncall (result), f, (pair);\n"
          "ld.param.b32 %r4, [result];\n}\nmov.u32 %r5, 3;\nmov.u32 %r6, 4;\n"
          "@%p1 ld.param.v2.u32 {%r5, %r6}, [bag];\nld.param.u64 %rd1, [out];\nmad.wide.u32 %rd2, %r1, 12, %rd1;\n"
          "st.global.u32 [%rd2], %r4;\nst.global.u32 [%rd2+4], %r5;\nst.global.u32 [%rd2+8], %r6;\nret;\n}\n"),
      {zeros<uint32_t>(3 * kLaneCount), value(uint64_t{11} << 32 | 10)});
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  for (uint32_t t = 0; t < kLaneCount; ++t) {
    const std::vector<uint32_t> expected =
        t % 2 == 1 ? std::vector<uint32_t>{7008, 10, 11} : std::vector<uint32_t>{t * 1000 + t + 100, 3, 4};
    for (uint32_t k = 0; k < 3; ++k) EXPECT_EQ(r.read()[3 * t + k], expected[k]) << "lane " << t << ", " << k;
  }
}

TEST(Shapes, EveryOneIsTakenOrRefused) {
  using enum AddressShape;
  for (const AddressSpace space : {AddressSpace::generic, AddressSpace::global, AddressSpace::shared,
                                   AddressSpace::local, AddressSpace::constant, AddressSpace::param})
    for (const Kind kind : {Kind::load, Kind::store})
      for (const AddressShape shape : {vector, uniform, contiguous, strided}) {
        MemoryOp op;
        op.space = space;
        if (takes_shape(space, kind, shape))
          EXPECT_NE(memory_handler(op, kind, shape), nullptr);
        else
          EXPECT_THROW(memory_handler(op, kind, shape), std::logic_error);
      }
  EXPECT_FALSE(takes_shape(AddressSpace::param, Kind::load, contiguous));
  EXPECT_FALSE(takes_shape(AddressSpace::param, Kind::load, strided));
  EXPECT_FALSE(takes_shape(AddressSpace::param, Kind::store, vector));
  EXPECT_FALSE(takes_shape(AddressSpace::global, Kind::load, strided));
}

// The same of what is done at an address, between lanes and with the numbers there.
TEST(Handlers, ThereIsNoneForWhatNoInstructionDoes) {
  MemoryOp op;
  op.op = AtomicOp::add;
  op.width = 8;
  EXPECT_NE(atomic_lane(op), nullptr);
  op.width = 16;
  EXPECT_THROW(atomic_lane(op), std::logic_error);
  op.op = AtomicOp::exch;
  EXPECT_NE(atomic_lane(op), nullptr);
  op.width = 3;
  EXPECT_THROW(atomic_lane(op), std::logic_error);
  op.width = 4;
  op.number = Number::f16x2;
  EXPECT_THROW(atomic_lane(op), std::logic_error);
  op.op = AtomicOp::max;
  EXPECT_NE(atomic_lane(op), nullptr);
  op.number = Number::f32;
  op.op = AtomicOp::xor_;
  EXPECT_THROW(atomic_lane(op), std::logic_error);

  Instruction i;
  for (const Kind kind : {Kind::branch, Kind::load, Kind::pure, Kind::function_call}) {
    i.kind = kind;
    EXPECT_THROW(lane_handler(i), std::logic_error);
  }
  i.kind = Kind::shuffle;
  i.mode = 9;
  EXPECT_THROW(lane_handler(i), std::logic_error);
  i.kind = Kind::reduce_lanes;
  i.mode = static_cast<uint8_t>(AtomicOp::exch);
  EXPECT_THROW(lane_handler(i), std::logic_error);
  i.mode = static_cast<uint8_t>(AtomicOp::xor_);
  EXPECT_NE(lane_handler(i), nullptr);
  i.kind = Kind::call;
  i.mode = static_cast<uint8_t>(Callee::function);
  EXPECT_THROW(lane_handler(i), std::logic_error);

  MemoryOp moved;
  moved.value_bytes[0] = 2;
  moved.width = 4;
  Access access;
  access.op = &moved;
  EXPECT_THROW(choose_movers(access, Kind::load), std::logic_error);
  moved.value_bytes[0] = 4;
  moved.width = 3;
  EXPECT_THROW(choose_movers(access, Kind::load), std::logic_error);
}

}  // namespace

}  // namespace coalesce::machine::test
