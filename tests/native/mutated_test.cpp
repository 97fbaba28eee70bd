// Small kernels with mistakes: lines that are missing, twice there or in another order, other registers, numbers and
// types. The executors must agree on what is still a kernel, and no text may crash or hang them.
//
// COALESCE_MUTATED="first,count" runs other seeds.
#include <cctype>
#include <iostream>
#include <iterator>
#include <set>

#include "tests/native/executors.h"
#include "tests/random/reduce.h"
#include "tests/random/seeds.h"
#include "tests/sanitized.h"

namespace coalesce::machine::test {
namespace {

const uint64_t kMutatedKernels = kSanitized ? 50 : 500;
// Seeds that once differed: affine registers that are read before they are written; addresses of shared memory whose
// lane 0 is aligned and others are not; carries of types that have none; an address between two allocations.
constexpr uint64_t kKept[] = {316, 898, 978, 1143, 1178, 1444, 253000381, 79026110, 84009227, 77015480};

class Mistakes {
 public:
  explicit Mistakes(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15ull + 1) {}

  GeneratedKernel in(GeneratedKernel k) {
    std::vector<std::string> lines;
    for (std::size_t at = 0; at < k.ptx.size();) {
      const std::size_t end = k.ptx.find('\n', at) + 1;
      lines.push_back(k.ptx.substr(at, end - at));
      at = end;
    }
    const auto count = static_cast<uint32_t>(lines.size());
    const uint32_t mistakes = 1 + below(3);
    for (uint32_t m = 0; m < mistakes; ++m)
      for (uint32_t tries = 0; tries < 50; ++tries) {
        const uint32_t at = count / 3 + below(count - count / 3);
        if (at < lines.size() && may_change(lines[at]) && mistake(lines, at)) break;
      }
    k.ptx.clear();
    for (const std::string& l : lines) k.ptx += l;
    return k;
  }

 private:
  uint32_t below(std::size_t n) {
    state_ ^= state_ << 13, state_ ^= state_ >> 7, state_ ^= state_ << 17;
    return static_cast<uint32_t>((state_ >> 20) % n);
  }
  // Loops keep their ends: one that has none takes a thousand million instructions.
  static bool may_change(const std::string& l) {
    return l.starts_with("  ") && l.find("%c") == std::string::npos && l.find("bra") == std::string::npos &&
           l.find("bar.") == std::string::npos && l.find("ld.param") == std::string::npos &&
           l.find("%y2") == std::string::npos;
  }
  bool mistake(std::vector<std::string>& lines, uint32_t at) {
    std::string& l = lines[at];
    switch (below(6)) {
      case 0:
        l.clear();
        return true;
      case 1:
        l += l;
        return true;
      case 2: {
        const uint32_t other = at + 1 < lines.size() ? at + 1 : at - 1;
        if (!may_change(lines[other])) return false;
        std::swap(l, lines[other]);
        return true;
      }
      case 3: {  // another register of the kind
        const std::size_t p = l.find('%', below(l.size()));
        if (p == std::string::npos || p + 2 >= l.size() || !std::isdigit(static_cast<unsigned char>(l[p + 2])))
          return false;
        l[p + 2] = static_cast<char>('0' + below(6));
        return true;
      }
      case 4: {  // another number
        static const char* const numbers[] = {"0", "1", "31", "32", "-1", "-4", "63", "2147483647", "-2147483648"};
        const std::size_t p = l.find(", ", below(l.size()));
        if (p == std::string::npos || p + 2 >= l.size() || !std::isdigit(static_cast<unsigned char>(l[p + 2])))
          return false;
        l = l.substr(0, p + 2) + numbers[below(9)] + l.substr(l.find_first_not_of("0123456789", p + 2));
        return true;
      }
      default: {
        static const char* const types[] = {".u32", ".s32", ".b32", ".u64", ".s64", ".f32", ".u16", ".f16"};
        const std::string from = types[below(8)];
        const std::size_t p = l.find(from);
        if (p == std::string::npos) return false;
        l.replace(p, from.size(), types[below(8)]);
        return true;
      }
    }
  }
  uint64_t state_;
};

TEST(Executors, AgreeOnKernelsWithMistakes) {
  if (!native_code()) GTEST_SKIP() << "built without LLVM";
  const auto [from, count] = seeds("COALESCE_MUTATED", {1, few_cases() ? kMutatedKernels / 2 : kMutatedKernels});
  Executors executors;
  uint64_t refused = 0, failures = 0;
  std::set<uint64_t> list;  // each once: the same kernel is not compiled again
  if (count >= kMutatedKernels / 2) list.insert(std::begin(kKept), std::end(kKept));
  for (uint64_t seed = from; seed < from + count; ++seed) list.insert(seed);
  for (const uint64_t seed : list) {
    if (failures == 20) break;
    GeneratedKernel k = Mistakes(seed).in(generate_kernel(seed * 7 + 3, Breadth::small));
    k.block = {32, 1, 1};  // warps and blocks may race with each other
    k.grid = {1, 1, 1};
    const std::string wrong = count == 1 ? differ_apart(k, 0) : differ(executors, k, 0);
    if (wrong.starts_with("not decoded")) ++refused;
    if (wrong.empty() || wrong.starts_with("not decoded")) continue;
    ++failures;
    ADD_FAILURE() << "seed " << seed << ": " << wrong << (count == 1 ? "\n" + k.ptx : "");
  }
  if (count > 2000)
    std::cout << refused << " of " << count << " are no kernels any more, " << executors.faults() << " fault\n";
  EXPECT_LE(refused, count * 3 / 4);
  // That both executors have run: a comparison of the interpreter with itself would never fail. A single kernel runs in
  // a process of its own.
  if (count > 1) EXPECT_GE(executors.statistics().compiled, list.size() - refused - executors.illegal());
  EXPECT_EQ(executors.statistics().failed, 0u);
}

}  // namespace
}  // namespace coalesce::machine::test
