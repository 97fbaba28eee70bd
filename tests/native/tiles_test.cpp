// Native code's short paths for memory of a certain form: tiles of shared memory that are written by rows and read by
// columns, and elements that go from memory through arithmetic to memory two or four at a time. run() compares
// executors; this file computes the results.
#include <bit>
#include <cstdlib>
#include <functional>
#include <string>

#include "tests/machine/execute/harness.h"
#include "tests/sanitized.h"

namespace coalesce::machine::test {
namespace {

std::string number(uint32_t n) { return std::to_string(n); }

// A tile of 32 rows, `words` apart; `warps` warps, each with a row at a time, then with a column of 32 words at a time.
struct Columns {
  uint32_t words, warps;
  uint32_t leave;     // threads from this one on are gone before they read
  std::string twist;  // between reading a column, to %r10 from [%r9], and writing it out
  std::function<uint32_t(uint32_t row, uint32_t column)> result;
};

void check(const Columns& c) {
  std::string body = ".shared .align 4 .b32 tile[" + number(32 * c.words) +
                     "];\nld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, %tid.y;\nmov.u32 %r3, tile;\n"
                     "mad.lo.u32 %r4, %r2, 32, %r1;\nmad.lo.u32 %r15, %r2, " +
                     number(4 * c.words) + ", %r3;\nshl.b32 %r6, %r1, 2;\nadd.u32 %r5, %r15, %r6;\n";
  for (uint32_t row = 0; row < 32; row += c.warps)  // word: 100 times its row and its column
    body += "add.u32 %r7, %r2, " + number(row) + ";\nmad.lo.u32 %r7, %r7, 100, %r1;\nst.shared.u32 [%r5+" +
            number(4 * c.words * row) + "], %r7;\n";
  body += "setp.ge.u32 %p1, %r4, " + number(c.leave) + ";\n@%p1 exit;\nbar.sync 0;\nmad.lo.u32 %r8, %r1, " +
          number(4 * c.words) + ", %r3;\nshl.b32 %r11, %r2, 2;\nadd.u32 %r9, %r8, %r11;\n" +
          "mul.wide.u32 %rd2, %r4, 4;\nadd.s64 %rd1, %rd1, %rd2;\n";
  for (uint32_t column = 0; column < 32; column += c.warps) {
    std::string twist = c.twist;
    const std::string offset = number(4 * column);
    for (std::size_t at; (at = twist.find("FURTHER")) != std::string::npos;)
      twist.replace(at, 7, number((4 * column + 64) % 128));
    for (std::size_t at; (at = twist.find("OFFSET")) != std::string::npos;) twist.replace(at, 6, offset);
    body += "ld.shared.u32 %r10, [%r9+" + offset + "];\n" + twist + "st.global.u32 [%rd1+" + number(128 * column) +
            "], %r10;\n";
  }
  const Ran r = run(kernel(".param .u64 out", body), {zeros<uint32_t>(1024)}, Shape{.block = {32, c.warps, 1}});
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  const std::vector<uint32_t> results = r.read();
  for (uint32_t column = 0; column < 32; ++column)
    for (uint32_t row = 0; row < 32; ++row)
      ASSERT_EQ(results[32 * column + row], column % c.warps * 32 + row < c.leave ? c.result(row, column) : 0)
          << c.words << " words, " << c.warps << " warps, " << c.leave << ": row " << row << ", column " << column
          << "\n"
          << c.twist;
}

TEST(Tiles, ReadByColumns) {
  const auto word = [](uint32_t row, uint32_t column) { return 100 * row + column; };
  for (const uint32_t words : {33u, 32u, 36u, 47u}) check({words, 8, 256, "", word});
  check({33, 16, 512, "", word});
  check({33, 32, 1024, "", word});
  check({33, 2, 64, "", word});
  if (kSanitized) return;
  check({33, 8, 100, "", word});  // some warps, and lanes of one
  check({33, 8, 255, "", word});
  // A read sees what was written meanwhile: by the lane itself, and by an atomic.
  check({33, 8, 256, "add.u32 %r10, %r10, 7;\nst.shared.u32 [%r9+OFFSET], %r10;\nld.shared.u32 %r10, [%r9+OFFSET];\n",
         [](uint32_t row, uint32_t column) { return 100 * row + column + 7; }});
  check({33, 8, 256, "atom.shared.add.u32 %r12, [%r9+OFFSET], 5;\nld.shared.u32 %r10, [%r9+OFFSET];\n",
         [](uint32_t row, uint32_t column) { return 100 * row + column + 5; }});
  // Some lanes only: they alone load again.
  check({33, 8, 256, "setp.lt.u32 %p2, %r1, 9;\nmov.u32 %r10, 1;\n@%p2 ld.shared.u32 %r10, [%r9+OFFSET];\n",
         [](uint32_t row, uint32_t column) { return row < 9 ? 100 * row + column : 1; }});
  // Loads behind a branch that some lanes might not take, though all do, from other columns than those read behind it.
  check({33, 8, 256,
         "mov.u32 %r12, %nctaid.x;\nmul.lo.u32 %r12, %r12, 40;\nsetp.ge.u32 %p2, %r1, %r12;\n@%p2 bra PAST_OFFSET;\n"
         "ld.shared.u32 %r10, [%r9+FURTHER];\nPAST_OFFSET:\n",
         [](uint32_t row, uint32_t column) { return 100 * row + (column + 16) % 32; }});
}

// Words a step apart that nobody can know before, up to the last word of shared memory: what lies between stays.
TEST(Tiles, WordsAStepApart) {
  for (const int step : few_cases() ? std::vector{2, -2} : std::vector{1, 2, 3, 4, -1, -2})
    for (const uint32_t first : {0u, 1u}) {
      const uint32_t all = first + 63 * static_cast<uint32_t>(std::abs(step)) + 1;
      SCOPED_TRACE("every word " + std::to_string(step) + " on, from " + number(first));
      const std::string each = "mov.u32 %r4, %r1;\nWORDNAME:\nsetp.ge.u32 %p1, %r4, " + number(all) +
                               ";\n@%p1 bra ENDNAME;\nmad.lo.u32 %r5, %r4, 4, %r3;\nmad.wide.u32 %rd2, %r4, 4, "
                               "%rd1;\nadd.u32 %r7, %r4, 100;\nDO;\nadd.u32 %r4, %r4, 64;\nbra WORDNAME;\nENDNAME:\n";
      const auto with = [&](const std::string& name, const std::string& what) {
        std::string text = each;
        for (std::size_t at; (at = text.find("NAME")) != std::string::npos;) text.replace(at, 4, name);
        return text.replace(text.find("DO"), 2, what);
      };
      const Ran r = run(
          kernel(
              ".param .u64 out, .param .u32 step, .param .u32 first",
              ".shared .align 4 .b32 words[" + number(all) +
                  "];\nld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\nmov.u32 %r3, words;\nmov.u32 %r13, %ctaid.x;\n"
                  "mul.wide.u32 %rd3, %r13, " +
                  number(4 * all) + ";\nadd.s64 %rd1, %rd1, %rd3;\n" + with("A", "st.shared.u32 [%r5], %r7") +
                  "ld.param.u32 %r8, [step];\nld.param.u32 %r9, [first];\nmad.lo.u32 %r10, %r1, %r8, "
                  "%r9;\nmad.lo.u32 %r10, %r10, 4, %r3;\nmov.u32 %r12, 0;\nAGAIN:\nbar.sync 0;\n"
                  "ld.shared.u32 %r11, [%r10];\nmad.lo.u32 %r11, %r11, 3, %r1;\nst.shared.u32 [%r10], "
                  "%r11;\nadd.u32 %r12, %r12, 1;\nsetp.lt.u32 %p2, %r12, 4;\n@%p2 bra AGAIN;\n"
                  "bar.sync 0;\n" +
                  with("B", "ld.shared.u32 %r7, [%r5];\nst.global.u32 [%rd2], %r7")),
          {zeros<uint32_t>(3 * all), value(step), value(step < 0 ? first + 63 * static_cast<uint32_t>(-step) : first)},
          Shape{.grid = {3, 1, 1}, .block = {64, 1, 1}});
      ASSERT_EQ(r.report.fault, Fault::none) << r.message();
      std::vector<uint32_t> expected(all);
      for (uint32_t k = 0; k < all; ++k) expected[k] = k + 100;
      for (uint32_t t = 0; t < 64; ++t) {
        uint32_t& word = expected[first + (step < 0 ? 63 - t : t) * static_cast<uint32_t>(std::abs(step))];
        for (int k = 0; k < 4; ++k) word = word * 3 + t;
      }
      std::vector<uint32_t> blocks;
      for (int b = 0; b < 3; ++b) blocks.insert(blocks.end(), expected.begin(), expected.end());
      EXPECT_EQ(r.read(), blocks);
    }
}

// Region after region with a tile of its own, in one place.
TEST(Tiles, OfManyRegions) {
  const uint32_t kRegions = few_cases() ? 3 : 12;
  std::string body =
      ".shared .align 4 .b32 tile[1056];\nld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, %tid.y;\n"
      "mov.u32 %r3, tile;\nmad.lo.u32 %r4, %r2, 132, %r3;\nshl.b32 %r5, %r1, 2;\nadd.u32 %r6, %r4, %r5;\n"
      "mad.lo.u32 %r7, %r1, 132, %r3;\nshl.b32 %r8, %r2, 2;\nadd.u32 %r9, %r7, %r8;\nmad.lo.u32 %r10, %r2, 100, %r1;\n"
      "mov.u32 %r11, 0;\n";
  for (uint32_t round = 0; round < kRegions; ++round)
    body += "mad.lo.u32 %r12, %r10, " + number(round + 1) +
            ", 7;\nst.shared.u32 [%r6], %r12;\nbar.sync 0;\n"
            "ld.shared.u32 %r13, [%r9];\nmad.lo.u32 %r11, %r11, 3, %r13;\nbar.sync 0;\n";
  body +=
      "mad.lo.u32 %r14, %r2, 32, %r1;\nmul.wide.u32 %rd2, %r14, 4;\nadd.s64 %rd1, %rd1, %rd2;\n"
      "st.global.u32 [%rd1], %r11;\n";
  const Ran r = run(kernel(".param .u64 out", body), {zeros<uint32_t>(1024)}, Shape{.block = {32, 32, 1}});
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  const std::vector<uint32_t> results = r.read();
  for (uint32_t column = 0; column < 32; ++column)
    for (uint32_t row = 0; row < 32; ++row) {
      uint32_t sum = 0;
      for (uint32_t round = 0; round < kRegions; ++round) sum = 3 * sum + (100 * row + column) * (round + 1) + 7;
      ASSERT_EQ(results[32 * column + row], sum) << "row " << row << ", column " << column;
    }
}

// ---- Elements side by side ----------------------------------------------------------------------------------------

uint32_t float_bits(float f) { return std::bit_cast<uint32_t>(f); }

// `count` words a thread of `a` (%r10 ...) and `b` (%r20 ...) to %r30 ...
struct Elements {
  uint32_t count;
  std::string work;
  std::function<uint32_t(const uint32_t* a, const uint32_t* b, uint32_t k)> result;
  uint32_t off = 0;  // words between a line's beginning and the first thread's
};

std::string list(uint32_t from, uint32_t count) {
  std::string text = "{";
  for (uint32_t k = 0; k < count; ++k) text += (k ? ", %r" : "%r") + number(from + k);
  return text + "}";
}

void check(const Elements& e) {
  constexpr uint32_t kThreads = 96, kBlocks = 3;
  const std::string form = ".v" + number(e.count) + ".u32 ";
  const std::string body =
      "ld.param.u64 %rd1, [out];\nld.param.u64 %rd2, [a];\nld.param.u64 %rd3, [b];\nmov.u32 %r1, %tid.x;\n"
      "mov.u32 %r2, %ctaid.x;\nmad.lo.u32 %r2, %r2, 96, %r1;\nmul.wide.u32 %rd4, %r2, " +
      number(4 * e.count) + ";\nadd.s64 %rd4, %rd4, " + number(4 * e.off) +
      ";\nadd.s64 %rd1, %rd1, %rd4;\nadd.s64 %rd2, %rd2, %rd4;\nadd.s64 %rd3, %rd3, %rd4;\nld.global" + form +
      list(10, e.count) + ", [%rd2];\nld.global" + form + list(20, e.count) + ", [%rd3];\n" + e.work + "st.global" +
      form + "[%rd1], " + list(30, e.count) + ";\n";
  const uint32_t words = kThreads * kBlocks * e.count + e.off;
  std::vector<uint32_t> a(words), b(words);
  for (uint32_t i = 0; i < words; ++i) {
    // Numbers, of which every fifth is a NaN, with a payload of its own, or an infinity.
    a[i] = i % 5 == 3 ? 0x7f800000u + i : float_bits(static_cast<float>(i % 91) - 40);
    b[i] = i % 7 == 2 ? 0xff800000u : float_bits(static_cast<float>(i % 53) / 8);
  }
  const Ran r =
      run(kernel(".param .u64 out, .param .u64 a, .param .u64 b", body), {zeros<uint32_t>(words), buffer(a), buffer(b)},
          Shape{.grid = {kBlocks, 1, 1}, .block = {kThreads, 1, 1}});
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  const std::vector<uint32_t> results = r.read();
  for (uint32_t i = e.off; i < words; ++i) {
    const uint32_t k = (i - e.off) % e.count, first = i - k;
    ASSERT_EQ(results[i], e.result(&a[first], &b[first], k)) << "word " << i << "\n" << e.work;
  }
}

// For each of the elements, N its number.
std::string each(uint32_t count, const std::string& line) {
  std::string text;
  for (uint32_t k = 0; k < count; ++k) {
    std::string one = line;
    for (std::size_t at; (at = one.find('N')) != std::string::npos;) one.replace(at, 1, number(k));
    text += one;
  }
  return text;
}

uint32_t canonical_sum(uint32_t a, uint32_t b) {
  const float sum = std::bit_cast<float>(a) + std::bit_cast<float>(b);
  return sum == sum ? float_bits(sum) : 0x7fffffffu;
}

TEST(Tiles, ElementsSideBySide) {
  const auto sum = [](const uint32_t* a, const uint32_t* b, uint32_t k) { return a[k] + b[k]; };
  for (const uint32_t count : {2u, 4u})
    for (const uint32_t off : {0u, 4u}) check({count, each(count, "add.u32 %r3N, %r1N, %r2N;\n"), sum, off});
  // With what is the same for all lanes, and is something else in between.
  check({4, "mov.u32 %r3, %ctaid.y;\nadd.u32 %r3, %r3, 3;\n" + each(4, "mad.lo.u32 %r3N, %r1N, %r3, %r2N;\n"),
         [](const uint32_t* a, const uint32_t* b, uint32_t k) { return 3 * a[k] + b[k]; }});
  check({4,
         "mov.u32 %r3, %ctaid.y;\nadd.u32 %r3, %r3, 3;\nmul.lo.u32 %r30, %r10, %r3;\nmul.lo.u32 %r31, %r11, %r3;\n"
         "add.u32 %r3, %r3, 1;\nmul.lo.u32 %r32, %r12, %r3;\nmul.lo.u32 %r33, %r13, %r3;\n",
         [](const uint32_t* a, const uint32_t*, uint32_t k) { return (k < 2 ? 3 : 4) * a[k]; }});
  // In another order; another operation for one; a register that is written twice; lanes in which one is not written.
  check({4, "mov.b32 %r30, %r13;\nmov.b32 %r31, %r12;\nmov.b32 %r32, %r11;\nmov.b32 %r33, %r10;\n",
         [](const uint32_t* a, const uint32_t*, uint32_t k) { return a[3 - k]; }});
  check({2, "add.u32 %r30, %r10, %r20;\nsub.u32 %r31, %r11, %r21;\n",
         [](const uint32_t* a, const uint32_t* b, uint32_t k) { return k ? a[k] - b[k] : a[k] + b[k]; }});
  check({2, each(2, "add.u32 %r3N, %r1N, %r2N;\n") + "add.u32 %r31, %r31, %r30;\n",
         [](const uint32_t* a, const uint32_t* b, uint32_t k) { return a[k] + b[k] + (k ? a[0] + b[0] : 0); }});
  check({2, "add.u32 %r10, %r10, 1;\n" + each(2, "xor.b32 %r3N, %r1N, %r2N;\n"),
         [](const uint32_t* a, const uint32_t* b, uint32_t k) { return (a[k] + (k ? 0 : 1)) ^ b[k]; }});
  check({2, each(2, "add.u32 %r3N, %r1N, %r2N;\n") + "setp.lt.f32 %p1, %r20, 0f40000000;\n@%p1 mov.u32 %r30, 5;\n",
         [](const uint32_t* a, const uint32_t* b, uint32_t k) {
           return k == 0 && std::bit_cast<float>(b[0]) < 2 ? 5 : a[k] + b[k];
         }});
  // NaNs: as they are, of arithmetic the canonical one, whatever is done with it.
  check({4, each(4, "mov.b32 %r3N, %r1N;\n"), [](const uint32_t* a, const uint32_t*, uint32_t k) { return a[k]; }});
  for (const uint32_t count : {2u, 4u})
    check({count, each(count, "add.rn.f32 %r3N, %r1N, %r2N;\n"),
           [](const uint32_t* a, const uint32_t* b, uint32_t k) { return canonical_sum(a[k], b[k]); }});
  check({2, each(2, "add.rn.f32 %r3N, %r1N, %r2N;\n") + each(2, "add.u32 %r3N, %r3N, 1;\n"),
         [](const uint32_t* a, const uint32_t* b, uint32_t k) { return canonical_sum(a[k], b[k]) + 1; }});
  check({2, each(2, "mul.rn.f32 %r3N, %r1N, %r2N;\n") + each(2, "sub.rn.f32 %r3N, %r3N, %r3N;\n"),
         [](const uint32_t* a, const uint32_t* b, uint32_t k) {
           const float p = std::bit_cast<float>(a[k]) * std::bit_cast<float>(b[k]);
           return p - p == 0 ? 0 : 0x7fffffffu;
         }});
}

}  // namespace
}  // namespace coalesce::machine::test
