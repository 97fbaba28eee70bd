// Kernels' printf: every kind of conversion against the host's, and how many arguments each takes.
#include <cstdio>

#include "prologue.h"

namespace coalesce::machine::test {
namespace printf_forms {
namespace {

struct PrintCase {
  const char* pattern;
  uint64_t words[3];  // the arguments as the ABI packs them
  std::string printed;
  uint32_t used;
};

template <class... A>
std::string by_host(const char* pattern, A... a) {
  char text[256];
  std::snprintf(text, sizeof text, pattern, a...);
  return text;
}
constexpr uint64_t two(uint32_t first, uint32_t second) { return first | uint64_t{second} << 32; }

std::string text_for(const PrintCase& c) {
  std::string bytes;
  for (const char* p = c.pattern;; ++p) {
    bytes += (bytes.empty() ? "" : ", ") + std::to_string(static_cast<unsigned char>(*p));
    if (!*p) break;
  }
  std::string body = ".local .align 8 .b8 L[24];\n";
  for (int k = 0; k < 3; ++k)
    body +=
        "mov.u64 %rd4, " + std::to_string(c.words[k]) + ";\nst.local.u64 [L+" + std::to_string(8 * k) + "], %rd4;\n";
  body +=
      "mov.u64 %rd4, L;\ncvta.local.u64 %rd4, %rd4;\nmov.u64 %rd5, F;\ncvta.global.u64 %rd5, %rd5;\n{\n.param .b64 f;\n"
      "st.param.b64 [f], %rd5;\n.param .b64 a;\nst.param.b64 [a], %rd4;\n.param .b32 r;\n"
      "call.uni (r), vprintf, (f, a);\nld.param.b32 %r10, [r];\n}\n";
  std::string text = with_prologue(body);
  return text.insert(text.find(".visible .entry"),
                     ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n.global .align 1 .b8 F[" +
                         std::to_string(std::strlen(c.pattern) + 1) + "] = {" + bytes + "};\n");
}

TEST(Printf, AsTheHostPrints) {
  uint64_t real = 0;
  const double number = 3.14159;
  std::memcpy(&real, &number, sizeof real);
  const PrintCase kCases[] = {
      {"%*d|", {two(5, 42)}, by_host("%*d|", 5, 42), 2},
      {"%-*d|%d", {two(6, 7), 9}, by_host("%-*d|%d", 6, 7, 9), 3},
      {"%.*f", {2, real}, by_host("%.*f", 2, number), 2},
      {"%+05d %x %X %o", {two(12, 0xbeef), two(0xbeef, 8)}, by_host("%+05d %x %X %o", 12, 0xbeef, 0xbeef, 8), 4},
      {"%hhd %hd %hhu %hu", {two(300, 70000), two(300, 70000)}, "44 4464 44 4464", 4},
      {"%lld %zu", {~uint64_t{0}, uint64_t{1} << 40}, "-1 1099511627776", 2},
      {"%d%lld", {7, uint64_t{1} << 33}, "78589934592", 2},
      {"%c%c", {two('a', 'b')}, "ab", 2},
      {"%e %g", {real, real}, by_host("%e %g", number, number), 2},
      {"%%%d%%", {5}, "%5%", 1},
      {"%k", {}, "%k", 0},
      {"abc%", {}, "abc%", 0},
      {"abc%5", {}, "abc%5", 0},
      {"abc%l", {}, "abc%l", 0},
      {"", {}, "", 0},
  };
  for (const PrintCase& c : kCases) {
    const Ran r = Bench(1).run(text_for(c), {zeros<uint32_t>(1)}, threads(1), "k");
    ASSERT_EQ(r.report.fault, Fault::none) << c.pattern << r.message();
    EXPECT_EQ(r.output, c.printed) << c.pattern;
    EXPECT_EQ(r.read()[0], c.used) << c.pattern;
  }
}

}  // namespace
}  // namespace printf_forms
}  // namespace coalesce::machine::test
