// Addresses as sums of registers, on random straight-line code: the sum is the address for any values, modulo 2^32, and
// the bits that are said to be 0 are.
#include "machine/program/addresses.h"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <random>

#include "tests/machine/program/decoded.h"

namespace coalesce::machine {
namespace {

constexpr uint32_t kValues = 12;

// Code over %r0 ... %r11, and what each line computes of their values.
class Affine {
 public:
  explicit Affine(std::mt19937& random) : random_(random) {
    line("mov.u32 %r0, %tid.x;", [](Values& v, const Inputs& in) { v[0] = in[0]; });
    line("ld.param.u32 %r1, [n];", [](Values& v, const Inputs& in) { v[1] = in[1]; });
    line("mov.u32 %r2, %ctaid.x;", [](Values& v, const Inputs& in) { v[2] = in[2]; });
    written_ = {0, 1, 2};
    line("setp.lt.u32 %p1, %r1, 1000;", [](Values&, const Inputs&) {});
    for (uint32_t n = 3 + below(9); n > 0; --n) operation();
    last_ = written_.back();
    text += "st.shared.u32 [%r" + std::to_string(last_) + "+" + std::to_string(kOffset) + "], 1;\n";
  }

  using Values = std::array<uint32_t, kValues>;
  using Inputs = std::array<uint32_t, 3>;
  static constexpr int kOffset = 8;
  std::string text;
  Values run(const Inputs& in) const {
    Values v{};
    for (const auto& s : steps_) s(v, in);
    return v;
  }
  // The line, from 1, that wrote the register last; 0: none.
  std::array<uint32_t, kValues> line_of{};
  uint32_t last_ = 0;

 private:
  uint32_t below(uint32_t n) { return static_cast<uint32_t>(random_() % n); }
  void line(const std::string& t, std::function<void(Values&, const Inputs&)> step) {
    text += t + "\n";
    steps_.push_back(std::move(step));
    ++lines_;
  }
  uint32_t source() {
    return below(4) == 0 ? written_.back() : written_[below(static_cast<uint32_t>(written_.size()))];
  }
  uint32_t constant() {
    switch (below(4)) {
      case 0:
        return below(16);
      case 1:
        return 1u << below(32);
      case 2:
        return ~0u << below(8);
      default:
        return below(1u << 12) * 4;
    }
  }

  void operation() {
    const uint32_t a = source(), b = source(), c = source(), k = constant(), shift = below(21);
    uint32_t d = below(16) ? 3 + below(kValues - 3) : a;  // now and then over its own source
    if (d < 3) d = 3;
    const bool guarded = below(24) == 0;
    const auto r = [](uint32_t n) { return "%r" + std::to_string(n); };
    const auto to = [&](const std::string& operation, const std::string& sources, auto value) {
      line((guarded ? "@%p1 " : "") + operation + " " + r(d) + ", " + sources + ";", [=](Values& v, const Inputs&) {
        if (!guarded || v[1] < 1000) v[d] = value(v);
      });
      line_of[d] = lines_;
    };
    const std::string n = std::to_string(k), s = std::to_string(shift);
    static constexpr uint32_t sums[] = {0, 1, 2, 3, 6, 8, 11};
    const uint32_t which = below(3) ? sums[below(7)] : below(18);
    switch (which) {
      case 0:
        to("add.s32", r(a) + ", " + r(b), [=](const Values& v) { return v[a] + v[b]; });
        break;
      case 1:
        to("add.u32", r(a) + ", " + n, [=](const Values& v) { return v[a] + k; });
        break;
      case 2:
        to("sub.s32", r(a) + ", " + r(b), [=](const Values& v) { return v[a] - v[b]; });
        break;
      case 3:
        to("sub.u32", r(a) + ", " + n, [=](const Values& v) { return v[a] - k; });
        break;
      case 4:
        to("or.b32", r(a) + ", " + n, [=](const Values& v) { return v[a] | k; });
        break;
      case 5:
        to("or.b32", r(a) + ", " + r(b), [=](const Values& v) { return v[a] | v[b]; });
        break;
      case 6:
        to("shl.b32", r(a) + ", " + s, [=](const Values& v) { return v[a] << shift; });
        break;
      case 7:
        to("shl.b32", r(a) + ", " + r(b), [=](const Values& v) { return v[b] > 31 ? 0 : v[a] << v[b]; });
        break;
      case 8:
        to("mul.lo.s32", r(a) + ", " + n, [=](const Values& v) { return v[a] * k; });
        break;
      case 9:
        to("mul.lo.u32", n + ", " + r(a), [=](const Values& v) { return v[a] * k; });
        break;
      case 10:
        to("mul.lo.u32", r(a) + ", " + r(b), [=](const Values& v) { return v[a] * v[b]; });
        break;
      case 11:
        to("mad.lo.s32", r(a) + ", " + n + ", " + r(c), [=](const Values& v) { return v[a] * k + v[c]; });
        break;
      case 12:
        to("mad.lo.s32", r(a) + ", " + r(b) + ", " + r(c), [=](const Values& v) { return v[a] * v[b] + v[c]; });
        break;
      case 13:
        to("and.b32", r(a) + ", " + n, [=](const Values& v) { return v[a] & k; });
        break;
      case 14:
        to("xor.b32", r(a) + ", " + n, [=](const Values& v) { return v[a] ^ k; });
        break;
      case 15:
        to("mov.b32", r(a), [=](const Values& v) { return v[a]; });
        break;
      case 16:
        to("neg.s32", r(a), [=](const Values& v) { return 0u - v[a]; });
        break;
      default:
        to("selp.b32", r(a) + ", " + r(b) + ", %p1", [=](const Values& v) { return v[1] < 1000 ? v[a] : v[b]; });
    }
    written_.push_back(d);
  }

  std::mt19937& random_;
  std::vector<uint32_t> written_;
  std::vector<std::function<void(Values&, const Inputs&)>> steps_;
  uint32_t lines_ = 0;
};

TEST(Addresses, SumsAndZeroBitsHoldForAnyValues) {
  std::mt19937 random(25);
  int terms = 0, zeros = 0;
  for (int k = 0; k < 800; ++k) {
    const Affine program(random);
    const Case c = decoded(program.text);
    const MemoryOp* store = nullptr;
    for (const Instruction& i : c.p->code)
      if (i.kind == Kind::store) store = &c.p->memory[i.memory];
    ASSERT_NE(store, nullptr);
    const Addresses addresses(*c.p);
    const AddressSum sum = addresses.sum(*store);
    const uint32_t bits = addresses.zero_bits({{{store->address.reg, 1}}, 0}), of_sum = addresses.zero_bits(sum);
    terms += sum.terms.size() > 1;
    zeros += bits > 0 && bits < 32;
    for (int n = 0; n < 6; ++n) {
      const Affine::Inputs in{static_cast<uint32_t>(random() % 1024),
                              static_cast<uint32_t>(n % 2 ? random() : random() % 2000),
                              static_cast<uint32_t>(random() % 65536)};
      const Affine::Values v = program.run(in);
      const auto value_of = [&](uint32_t reg) {
        if (c.p->registers[reg].builtin == Builtin::tid_x) return in[0];
        if (c.p->registers[reg].builtin == Builtin::ctaid_x) return in[2];
        if (c.p->registers[reg].builtin == Builtin::parameter) return in[1];
        for (uint32_t r = 0; r < kValues; ++r)
          if (program.line_of[r] && c.line(program.line_of[r]).results[0] == reg) return v[r];
        ADD_FAILURE() << "a register that nothing wrote";
        return 0u;
      };
      const uint32_t address = v[program.last_];
      uint32_t total = static_cast<uint32_t>(sum.constant), low = 0;
      for (const auto& [reg, times] : sum.terms) {
        const uint32_t part = value_of(reg) * static_cast<uint32_t>(times);
        total += part;
        low |= part;
      }
      EXPECT_EQ(total, address + Affine::kOffset) << program.text;
      if (bits < 32) EXPECT_EQ(address & ((1u << bits) - 1), 0u) << program.text;
      if (bits >= 32) EXPECT_EQ(address, 0u) << program.text;
      if (of_sum < 32) EXPECT_EQ(low & ((1u << of_sum) - 1), 0u) << program.text;
      if (testing::Test::HasFailure()) return;
    }
  }
  EXPECT_GT(terms, 30);
  EXPECT_GT(zeros, 100);
}

}  // namespace
}  // namespace coalesce::machine
