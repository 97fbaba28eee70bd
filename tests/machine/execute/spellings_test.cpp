// Every spelling of a computing instruction that ptxas accepts: what a GPU left in all registers, for 256 sets of
// operands (tests/truth/spellings.txt, made by tests/hardware/spellings.py).
#include <fstream>
#include <iomanip>
#include <sstream>

#include "harness.h"
#include "machine/program/program.h"
#include "machine/ptx/parser.h"
#include "tests/sanitized.h"

namespace coalesce::machine::test {

namespace {

struct Spelling {
  std::string text, digest, flag;  // flag: empty, approximate, undefined, refused
};

std::vector<Spelling> spellings() {
  std::vector<Spelling> all;
  std::ifstream file(std::string(COALESCE_SOURCE_DIR) + "/tests/truth/spellings.txt");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    const std::size_t first = line.find(" ; "), second = line.find(" ; ", first + 3);
    all.push_back(
        {line.substr(0, first), line.substr(first + 3, 8), second == line.npos ? "" : line.substr(second + 3)});
  }
  return all;
}

uint64_t mixed(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// The inputs are those of tests/hardware/spellings.py: 6 words a thread.
constexpr uint32_t kSets = 256, kWordsIn = 6, kWordsOut = 6;
uint64_t spelling_operand(uint32_t thread, uint32_t k) {
  constexpr uint64_t kSpecial[] = {0,
                                   1,
                                   2,
                                   ~0ull,
                                   ~0ull - 1,
                                   1ull << 31,
                                   0x7fffffff,
                                   1ull << 32,
                                   0xffffffff,
                                   1ull << 63,
                                   ~0ull >> 1,
                                   0xffffffff00000000,
                                   0x7f8000007f800000,
                                   0x3f800000bf800000,
                                   0x7fc000017f800001,
                                   0x0080000000000001,
                                   0x3c00bc007c00fc00,
                                   0x7c017e0000010400,
                                   0x80807f7fff0000ff,
                                   0x7fff800080010001,
                                   0x7ff0000000000000,
                                   0x3ff0000000000000,
                                   0x433000004b000000,
                                   0x0010000000000000,
                                   31,
                                   32,
                                   33,
                                   64,
                                   0x1f20};
  const uint64_t h = mixed(uint64_t{thread} * 64 + k);
  return h % 2 ? kSpecial[(h >> 8) % std::size(kSpecial)] : mixed(h);
}

const std::string kDeclared =
    ".reg .pred %p<8>;\n.reg .b16 %h<8>;\n.reg .b32 %r<16>, %t;\n.reg .b64 %rd<8>, %in, %out;\n.reg .b128 %q<4>;\n";

// One after the other, each on registers set anew, which are stored behind those of the one before.
std::string kernel_of(const std::vector<Spelling>& all, std::size_t first, std::size_t last) {
  std::string t = module(".visible .entry k(.param .u64 in, .param .u64 out)\n{\n" + kDeclared +
                         "ld.param.u64 %in, [in];\nld.param.u64 %out, [out];\nmov.u32 %t, %tid.x;\n"
                         "mad.wide.u32 %in, %t, 48, %in;\nmad.wide.u32 %out, %t, 48, %out;\n");
  for (std::size_t n = first; n < last; ++n) {
    for (const char* k : {"1", "2", "3", "4"})
      t += "ld.global.u64 %rd" + std::string(k) + ", [%in+" + std::to_string(8 * (k[0] - '0')) + "];\ncvt.u32.u64 %r" +
           k + ", %rd" + k + ";\ncvt.u16.u64 %h" + k + ", %rd" + k + ";\n";
    t += "mov.b128 %q1, {%rd1, %rd2};\nmov.b128 %q2, {%rd2, %rd3};\nld.global.u32 %t, [%in];\n";
    for (const char* k : {"1", "2", "3"})
      t += "and.b32 %r8, %t, " + std::to_string(1 << (k[0] - '0')) + ";\nsetp.ne.u32 %p" + k + ", %r8, 0;\n";
    t += all[n].text + ";\n";
    const auto at = [&](std::size_t word) {
      return "st.global.u64 [%out+" + std::to_string((n - first) * kSets * 48 + 8 * word) + "], ";
    };
    t += "cvt.u64.u32 %rd4, %r1;\n" + at(0) + "%rd4;\ncvt.u64.u16 %rd4, %h1;\n" + at(1) + "%rd4;\n" + at(2) +
         "%rd1;\nmov.b128 {%rd4, %rd5}, %q1;\n" + at(3) + "%rd4;\n" + at(4) +
         "%rd5;\nselp.u64 %rd4, 1, 0, %p1;\nselp.u64 %rd5, 2, 0, %p2;\nadd.u64 %rd4, %rd4, %rd5;\n" + at(5) + "%rd4;\n";
  }
  return t + "ret;\n}\n";
}

// Spellings whose results differ from those of the card, as lines.
std::string wrong_of(bool plain) {
  std::vector<Spelling> all = spellings();
  EXPECT_GE(all.size(), 9000u);
  std::erase_if(all, [](const Spelling& s) { return !s.flag.empty(); });
  EXPECT_GE(all.size(), 8000u);
  if (kSanitized)  // their arithmetic is looked at elsewhere, and takes ten times as long here
    std::erase_if(all, [n = 0](const Spelling&) mutable { return n++ % 16 != 0; });
  else if (plain && few_cases())  // all carries, of others every fifth
    std::erase_if(all, [n = 0](const Spelling& s) mutable { return s.text.find("cc") == s.text.npos && n++ % 5 != 0; });
  std::vector<uint64_t> operands;
  for (uint32_t t = 0; t < kSets; ++t)
    for (uint32_t k = 0; k < kWordsIn; ++k) operands.push_back(spelling_operand(t, k));
  Bench bench(1);
  bench.machine().use_plain(plain);
  Shape shape;
  shape.block = {kSets, 1, 1};
  std::string wrong;
  constexpr std::size_t kTogether = 100;
  for (std::size_t first = 0; first < all.size(); first += kTogether) {
    const std::size_t last = std::min(all.size(), first + kTogether);
    const Ran r = bench.run(kernel_of(all, first, last),
                            {buffer(operands), zeros<uint64_t>((last - first) * kSets * kWordsOut)}, shape, "k");
    if (r.report.fault != Fault::none) return all[first].text + " and what follows: " + r.message();
    const std::vector<uint64_t> got = r.read<uint64_t>(1);
    for (std::size_t n = first; n < last; ++n) {
      uint64_t h = 0;
      for (std::size_t k = 0; k < kSets * kWordsOut; ++k) h = mixed(h ^ got[(n - first) * kSets * kWordsOut + k]);
      std::ostringstream digest;
      digest << std::hex << std::setw(8) << std::setfill('0') << (h >> 32);
      if (digest.str() != all[n].digest) wrong += all[n].text + "\n";
    }
  }
  return wrong;
}

TEST(Spellings, ComputeWhatACardComputes) { EXPECT_EQ(wrong_of(false), ""); }
TEST(Spellings, ThePlainExecutorComputesWhatACardComputes) { EXPECT_EQ(wrong_of(true), ""); }

struct NoSymbols : SymbolTable {
  Symbol symbol(const std::string&) const override { return {}; }
  uint64_t function_address(const std::string&) const override { return 0; }
};

TEST(Spellings, AreKnownButForThoseRefused) {
  std::string text = module(".visible .entry k()\n{\n" + kDeclared);
  uint32_t line = static_cast<uint32_t>(std::count(text.begin(), text.end(), '\n'));
  std::map<uint32_t, const Spelling*> lines;
  const std::vector<Spelling> all = spellings();
  for (const Spelling& s : all) {
    text += s.text + ";\n";
    lines[++line] = &s;
  }
  const ptx::Module parsed = ptx::parse(text + "ret;\n}\n", "spellings.ptx");
  const auto program = decode(parsed, parsed.functions.at(0), NoSymbols{}, {});
  std::set<const Spelling*> unknown;
  for (const Instruction& i : program->code)
    if (i.kind == Kind::unknown) unknown.insert(lines.at(i.ptx_line));
  std::string wrong;
  for (const Spelling& s : all)
    if (unknown.contains(&s) != (s.flag == "refused")) wrong += s.text + "\n";
  EXPECT_EQ(wrong, "");
}

}  // namespace

}  // namespace coalesce::machine::test
