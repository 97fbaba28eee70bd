// Chains of carry instructions: every pair of types, every order of three of one type, against the definition with one
// flag: the carry out of the highest bit of a sum, where a difference is the sum a + (2^n - 1 - b) + 1. And against
// what an NVIDIA H200 computed (tests/truth/carry.txt).
#include <fstream>
#include <sstream>

#include "harness.h"
#include "tests/sanitized.h"

namespace coalesce::machine::test {

namespace {

__extension__ typedef unsigned __int128 Wide;
__extension__ typedef __int128 SignedWide;
using Chain = std::vector<std::string>;

constexpr uint32_t kCarryThreads = 512, kMost = 3, kOperands = 3 * kMost, kOutputs = kMost + 1;
constexpr const char* kSet[] = {"add.cc", "sub.cc", "mad.lo.cc", "mad.hi.cc"};
constexpr const char* kRead[] = {"addc", "subc", "madc.lo", "madc.hi"};
constexpr const char* kBoth[] = {"addc.cc", "subc.cc", "madc.lo.cc", "madc.hi.cc"};
constexpr const char* kTypes[] = {".u32", ".s32", ".u64", ".s64"};

std::vector<Chain> chains() {
  std::vector<Chain> all;
  std::vector<std::string> readers(std::begin(kRead), std::end(kRead)), middles;
  readers.insert(readers.end(), std::begin(kBoth), std::end(kBoth));
  middles = readers;
  middles.insert(middles.end(), std::begin(kSet), std::end(kSet));
  for (const std::string t : kTypes)
    for (const std::string first : kSet) {
      for (const std::string u : kTypes)
        for (const std::string& second : readers) all.push_back({first + t, second + u});
      for (const std::string& second : middles)
        for (const std::string& third : readers) all.push_back({first + t, second + t, third + t});
    }
  return all;
}

uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

uint64_t operand(uint32_t thread, uint32_t k) {
  constexpr uint64_t kSpecial[] = {0,          1,          2,          ~0ull,      ~0ull - 1,  1ull << 31,
                                   0x7fffffff, 1ull << 32, 0xffffffff, 1ull << 63, ~0ull >> 1, 0xffffffff00000000};
  const uint64_t h = mix(uint64_t{thread} * 64 + k);
  return h % 2 ? kSpecial[(h >> 8) % std::size(kSpecial)] : mix(h);
}

bool is_wide(const std::string& op) { return op.ends_with("64"); }

std::string kernel_of(const Chain& chain) {
  const auto reg = [](const std::string& op, std::size_t n) {
    return (is_wide(op) ? "%rd" : "%r") + std::to_string(n);
  };
  std::string t =
      "ld.param.u64 %rd1, [in];\nld.param.u64 %rd2, [out];\nmov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %ntid.x;\n"
      "mov.u32 %r3, %tid.x;\nmad.lo.u32 %r1, %r1, %r2, %r3;\nmad.wide.u32 %rd1, %r1, " +
      std::to_string(8 * kOperands) + ", %rd1;\nmad.wide.u32 %rd2, %r1, " + std::to_string(8 * kOutputs) + ", %rd2;\n";
  for (std::size_t k = 0; k < 3 * chain.size(); ++k)
    t += "ld.global.u64 %rd" + std::to_string(10 + k) + ", [%rd1+" + std::to_string(8 * k) + "];\ncvt.u32.u64 %r" +
         std::to_string(10 + k) + ", %rd" + std::to_string(10 + k) + ";\n";
  for (std::size_t n = 0; n < chain.size(); ++n) {
    t += chain[n] + " " + reg(chain[n], 30 + n);
    for (std::size_t k = 0; k < (chain[n].starts_with("mad") ? 3 : 2); ++k) t += ", " + reg(chain[n], 10 + 3 * n + k);
    t += ";\n";
  }
  t += "addc.u64 %rd40, 0, 0;\nst.global.u64 [%rd2+24], %rd40;\n";
  for (std::size_t n = 0; n < chain.size(); ++n) {
    const std::string wide = "%rd" + std::to_string(30 + n);
    if (!is_wide(chain[n])) t += "cvt.u64.u32 " + wide + ", %r" + std::to_string(30 + n) + ";\n";
    t += "st.global.u64 [%rd2+" + std::to_string(8 * n) + "], " + wide + ";\n";
  }
  return kernel(".param .u64 in, .param .u64 out", t);
}

std::array<uint64_t, kOutputs> meaning(const Chain& chain, uint32_t thread) {
  std::array<uint64_t, kOutputs> out{};
  Wide flag = 0;
  for (std::size_t n = 0; n < chain.size(); ++n) {
    const std::string& op = chain[n];
    const unsigned bits = is_wide(op) ? 64 : 32;
    const Wide end = Wide{1} << bits;
    const auto in = [&](uint32_t k) { return Wide{operand(thread, static_cast<uint32_t>(3 * n) + k)} % end; };
    const bool takes = op[3] == 'c', gives = op.find(".cc") != op.npos;
    Wide total;
    if (op.starts_with("mad")) {
      const bool is_signed = op[op.size() - 3] == 's';
      const auto number = [&](Wide v) {
        return static_cast<SignedWide>(v) - (is_signed && v >= end / 2 ? static_cast<SignedWide>(end) : 0);
      };
      const Wide product = static_cast<Wide>(number(in(0))) * static_cast<Wide>(number(in(1)));
      total = (op.find(".hi") != op.npos ? product >> bits : product) % end + in(2) + (takes ? flag : 0);
    } else if (op.starts_with("add")) {
      total = in(0) + in(1) + (takes ? flag : 0);
    } else {
      total = in(0) + (end - 1 - in(1)) + (takes ? flag : 1);
    }
    out[n] = static_cast<uint64_t>(total % end);
    if (gives) flag = total / end;
  }
  out[kMost] = static_cast<uint64_t>(flag);
  return out;
}

// For each chain: digest of all results.
std::map<std::string, std::string> carry_truth() {
  std::map<std::string, std::string> all;
  std::ifstream file(std::string(COALESCE_SOURCE_DIR) + "/tests/truth/carry.txt");
  for (std::string line; std::getline(file, line);)
    if (const auto at = line.rfind(' '); !line.starts_with('#')) all[line.substr(0, at)] = line.substr(at + 1);
  return all;
}

std::string digest_of(const std::vector<uint64_t>& values) {
  uint64_t h = 0;
  for (const uint64_t v : values) h = mix(h ^ v);
  std::ostringstream text;
  text << std::hex << std::setw(16) << std::setfill('0') << h;
  return text.str();
}

TEST(CarryChains, HaveOneFlag) {
  const std::map<std::string, std::string> truth = carry_truth();
  std::size_t measured = 0;
  std::vector<uint64_t> operands;
  for (uint32_t thread = 0; thread < kCarryThreads; ++thread)
    for (uint32_t k = 0; k < kOperands; ++k) operands.push_back(operand(thread, k));
  Bench interpreted(1), compiled(1, Shape{}.max_instructions, quick_native_code());
  const std::vector<Argument> arguments{buffer(operands), zeros<uint64_t>(std::size_t{kCarryThreads} * kOutputs)};
  Shape shape;
  shape.grid = {kCarryThreads / 128, 1, 1};
  shape.block = {128, 1, 1};
  std::size_t number = 0, turn = 0;
  for (const Chain& chain : chains()) {
    if (few_cases() && turn++ % (kSanitized ? 12 : 5) != 0) continue;
    SCOPED_TRACE(chain[0] + ", " + chain[1] + (chain.size() > 2 ? ", " + chain[2] : ""));
    const std::string ptx = kernel_of(chain);
    const Ran r = interpreted.run(ptx, arguments, shape, "k");
    ASSERT_EQ(r.report.fault, Fault::none) << r.message();
    const std::vector<uint64_t> got = r.read<uint64_t>(1);
    for (uint32_t thread = 0; thread < kCarryThreads; ++thread) {
      const std::array<uint64_t, kOutputs> want = meaning(chain, thread);
      ASSERT_TRUE(std::equal(want.begin(), want.end(), &got[std::size_t{thread} * kOutputs])) << "thread " << thread;
    }
    const auto card = truth.find(chain[0] + " " + chain[1] + (chain.size() > 2 ? " " + chain[2] : ""));
    if (card != truth.end()) {
      ++measured;
      EXPECT_EQ(digest_of(got), card->second);
    }
    // Native code takes tens of milliseconds a chain.
    if (number++ % 97 == 0 && quick_native_code())
      EXPECT_EQ(difference(r, compiled.run(ptx, arguments, shape, "k")), "");
  }
  if (few_cases()) return;
  EXPECT_EQ(measured, truth.size());
  EXPECT_GE(measured, 1200u);
}

}  // namespace

}  // namespace coalesce::machine::test
