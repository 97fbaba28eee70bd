// Atomics: every operation and type in global, shared and generic memory, with all lanes on one word, on four, and each
// on its own. The reference goes through the threads in order: blocks, warps, lanes.
#include <algorithm>
#include <array>
#include <cmath>

#include "harness.h"
#include "tests/sanitized.h"

namespace coalesce::machine::test {

namespace {

using Word = std::array<uint64_t, 2>;  // low and high 64 bits
using Apply = Word (*)(Word old, Word a, Word b);

template <class T>
T as(const Word& w) {
  T v;
  std::memcpy(&v, w.data(), sizeof v);
  return v;
}
template <class T>
Word word(T v) {
  Word w{};
  std::memcpy(w.data(), &v, sizeof v);
  return w;
}

// Small integers as 16-bit floats with `mantissa` bits: exact, and so are their sums here.
uint32_t narrow(double v, int mantissa, int bias) {
  if (v == 0) return 0;
  int e;
  const double m = std::frexp(v, &e);  // 0.5 <= m < 1
  return static_cast<uint32_t>((e - 1 + bias) << mantissa) |
         static_cast<uint32_t>(std::ldexp(m, mantissa + 1) - std::ldexp(1, mantissa));
}
double widened(uint32_t bits, int mantissa, int bias) {
  if (bits == 0) return 0;
  const int e = static_cast<int>(bits >> mantissa) - bias;
  return std::ldexp(1 + std::ldexp(bits & ((1u << mantissa) - 1), -mantissa), e);
}
template <int Mantissa, int Bias>
uint32_t sum_of(uint32_t a, uint32_t b) {
  return narrow(widened(a, Mantissa, Bias) + widened(b, Mantissa, Bias), Mantissa, Bias);
}

template <class T>
Word add(Word old, Word a, Word) {
  return word<T>(static_cast<T>(as<T>(old) + as<T>(a)));
}
template <class T>
Word least(Word old, Word a, Word) {
  return word<T>(std::min(as<T>(old), as<T>(a)));
}
template <class T>
Word most(Word old, Word a, Word) {
  return word<T>(std::max(as<T>(old), as<T>(a)));
}
template <class T>
Word both(Word old, Word a, Word) {
  return word<T>(as<T>(old) & as<T>(a));
}
template <class T>
Word either(Word old, Word a, Word) {
  return word<T>(as<T>(old) | as<T>(a));
}
template <class T>
Word one_of(Word old, Word a, Word) {
  return word<T>(as<T>(old) ^ as<T>(a));
}
Word increase(Word old, Word a, Word) { return {old[0] >= a[0] ? 0 : old[0] + 1, 0}; }
Word decrease(Word old, Word a, Word) { return {old[0] == 0 || old[0] > a[0] ? a[0] : old[0] - 1, 0}; }
Word exchange(Word, Word a, Word) { return a; }
Word swap_if_equal(Word old, Word a, Word b) { return old == a ? b : old; }
template <int Mantissa, int Bias>
Word add_narrow(Word old, Word a, Word) {
  return word(static_cast<uint16_t>(sum_of<Mantissa, Bias>(as<uint16_t>(old), as<uint16_t>(a))));
}
template <int Mantissa, int Bias>
Word add_pair(Word old, Word a, Word) {
  const uint32_t x = as<uint32_t>(old), y = as<uint32_t>(a);
  return word(sum_of<Mantissa, Bias>(x & 0xffff, y & 0xffff) | sum_of<Mantissa, Bias>(x >> 16, y >> 16) << 16);
}

// Kinds of operands: any bits, floats whose sums round, or small integers in a 16-bit format; for inc and dec bounds
// near the values, for cas frequent values.
enum class Values : uint8_t { bits, f32, f64, f16, f16x2, bf16, bf16x2, small };

struct Row {
  const char* op;  // after the space
  uint32_t bytes;
  Values values;
  Apply apply;
  bool two = false;     // two operands (cas)
  bool has_red = true;  // exists without a result
};

const Row kRows[] = {
    {"add.u32", 4, Values::bits, add<uint32_t>},
    {"add.s32", 4, Values::bits, add<uint32_t>},
    {"add.u64", 8, Values::bits, add<uint64_t>},
    {"add.f32", 4, Values::f32, add<float>},
    {"add.f64", 8, Values::f64, add<double>},
    {"add.noftz.f16", 2, Values::f16, add_narrow<10, 15>},
    {"add.noftz.f16x2", 4, Values::f16x2, add_pair<10, 15>},
    {"add.noftz.bf16", 2, Values::bf16, add_narrow<7, 127>},
    {"add.noftz.bf16x2", 4, Values::bf16x2, add_pair<7, 127>},
    {"min.u32", 4, Values::bits, least<uint32_t>},
    {"min.s32", 4, Values::bits, least<int32_t>},
    {"min.u64", 8, Values::bits, least<uint64_t>},
    {"min.s64", 8, Values::bits, least<int64_t>},
    {"max.u32", 4, Values::bits, most<uint32_t>},
    {"max.s32", 4, Values::bits, most<int32_t>},
    {"max.u64", 8, Values::bits, most<uint64_t>},
    {"max.s64", 8, Values::bits, most<int64_t>},
    {"and.b32", 4, Values::bits, both<uint32_t>},
    {"and.b64", 8, Values::bits, both<uint64_t>},
    {"or.b32", 4, Values::bits, either<uint32_t>},
    {"or.b64", 8, Values::bits, either<uint64_t>},
    {"xor.b32", 4, Values::bits, one_of<uint32_t>},
    {"xor.b64", 8, Values::bits, one_of<uint64_t>},
    {"inc.u32", 4, Values::small, increase},
    {"dec.u32", 4, Values::small, decrease},
    {"exch.b32", 4, Values::bits, exchange, false, false},
    {"exch.b64", 8, Values::bits, exchange, false, false},
    {"exch.b128", 16, Values::bits, exchange, false, false},
    {"cas.b16", 2, Values::small, swap_if_equal, true, false},
    {"cas.b32", 4, Values::small, swap_if_equal, true, false},
    {"cas.b64", 8, Values::small, swap_if_equal, true, false},
    {"cas.b128", 16, Values::small, swap_if_equal, true, false},
};

Word sample(const Row& row, uint32_t i, uint32_t salt) {
  const uint64_t mixed = (uint64_t{i} + 1) * 0x9e3779b97f4a7c15u ^ (uint64_t{salt} + 1) * 0xc2b2ae3d27d4eb4fu;
  const uint64_t few = mixed >> 40;
  Word w{};
  switch (row.values) {
    case Values::bits:
      w = {mixed * 0xff51afd7ed558ccdu, mixed * 0xc4ceb9fe1a85ec53u};
      break;
    case Values::f32:
      return word(static_cast<float>(few % 1000) / 7.0f);
    case Values::f64:
      return word(static_cast<double>(few % 1000) / 7.0);
    case Values::f16:
      return word(static_cast<uint16_t>(narrow(static_cast<double>(few % 5), 10, 15)));
    case Values::bf16:
      return word(static_cast<uint16_t>(narrow(static_cast<double>(few % 2), 7, 127)));
    case Values::f16x2:
      return word(narrow(static_cast<double>(few % 5), 10, 15) | narrow(static_cast<double>(few % 3), 10, 15) << 16);
    case Values::bf16x2:
      return word(narrow(static_cast<double>(few % 2), 7, 127) | narrow(static_cast<double>(few / 2 % 2), 7, 127)
                                                                     << 16);
    case Values::small:
      w = {few % 3, 0};
      break;
  }
  if (row.bytes < 8) w[0] &= (uint64_t{1} << 8 * row.bytes) - 1;
  if (row.bytes < 16) w[1] = 0;
  return w;
}

enum class Place : uint8_t { global, shared, generic_global, generic_shared };

constexpr uint32_t kThreads = 64;

// atom (or red) on word i % words, thread i. Operands at a and b; old values to `old`. How many words there are is a
// parameter: one kernel for all numbers is compiled once.
std::string program(const Row& row, Place place, bool returns) {
  const bool in_shared = place == Place::shared || place == Place::generic_shared;
  const bool generic = place == Place::generic_global || place == Place::generic_shared;
  const std::string bits = "b" + std::to_string(8 * row.bytes), bytes = std::to_string(row.bytes);
  const std::string reg = row.bytes == 2 ? "%h" : row.bytes == 4 ? "%r" : row.bytes == 8 ? "%rd" : "%q";
  const auto at = [&](const std::string& to, const std::string& index, const std::string& base) {
    return "mad.wide.u32 " + to + ", " + index + ", " + bytes + ", " + base + ";\n";
  };
  std::string body =
      ".reg .b128 %q<32>;\n.shared .align 16 .b8 words[1024];\nld.param.u64 %rd1, [memory];\nld.param.u64 %rd2, "
      "[a];\nld.param.u64 %rd3, [b];\nld.param.u64 %rd4, [old];\nmov.u32 %r1, %ctaid.x;\nmov.u32 %r2, "
      "%ntid.x;\nmov.u32 "
      "%r3, %tid.x;\nmad.lo.u32 %r4, %r1, %r2, %r3;\nld.param.u32 %r6, [n];\nrem.u32 %r5, %r4, %r6;\n" +
      at("%rd5", "%r4", "%rd2") + at("%rd6", "%r4", "%rd3") + at("%rd7", "%r4", "%rd4") + at("%rd8", "%r5", "%rd1");
  if (in_shared)
    body += "mov.u64 %rd9, words;\n" + at("%rd10", "%r5", "%rd9") + "ld.global." + bits + " " + reg +
            "20, [%rd8];\nst.shared." + bits + " [%rd10], " + reg + "20;\nbar.sync 0;\n";
  else
    body += "mov.u64 %rd10, %rd8;\n";
  if (place == Place::generic_shared) body += "cvta.shared.u64 %rd10, %rd10;\n";
  body += "ld.global." + bits + " " + reg + "21, [%rd5];\nld.global." + bits + " " + reg + "22, [%rd6];\n";
  body += (returns ? "atom" : "red") +
          std::string(generic     ? "."
                      : in_shared ? ".shared."
                                  : ".global.") +
          row.op + " " + (returns ? reg + "23, " : "") + "[%rd10], " + reg + "21" + (row.two ? ", " + reg + "22" : "") +
          ";\n";
  if (returns) body += "st.global." + bits + " [%rd7], " + reg + "23;\n";
  if (in_shared)
    body += "bar.sync 0;\n" + at("%rd10", "%r5", "%rd9") + "ld.shared." + bits + " " + reg +
            "24, [%rd10];\nst.global." + bits + " [%rd8], " + reg + "24;\n";
  return kernel(".param .u64 memory, .param .u64 a, .param .u64 b, .param .u64 old, .param .u32 n", body);
}

void put(std::vector<uint8_t>& to, uint32_t index, uint32_t bytes, const Word& w) {
  std::memcpy(to.data() + std::size_t{index} * bytes, w.data(), bytes);
}
Word get(const std::vector<uint8_t>& from, uint32_t index, uint32_t bytes) {
  Word w{};
  std::memcpy(w.data(), from.data() + std::size_t{index} * bytes, bytes);
  return w;
}

void check(const Row& row, Place place, uint32_t words, bool returns) {
  const bool in_shared = place == Place::shared || place == Place::generic_shared;
  const uint32_t blocks = in_shared ? 1 : 3, threads = blocks * kThreads;
  SCOPED_TRACE(std::string(returns ? "atom." : "red.") + row.op + ", place " + std::to_string(static_cast<int>(place)) +
               ", words " + std::to_string(words));
  const uint32_t cells = std::min(words, threads);
  std::vector<uint8_t> memory(std::size_t{cells} * row.bytes), a(std::size_t{threads} * row.bytes), b = a, old = a;
  for (uint32_t i = 0; i < cells; ++i) put(memory, i, row.bytes, sample(row, i, 1));
  for (uint32_t i = 0; i < threads; ++i) {
    put(a, i, row.bytes, sample(row, i, 2));
    put(b, i, row.bytes, sample(row, i, 3));
  }
  std::vector<uint8_t> wanted = memory, wanted_old = old;
  for (uint32_t i = 0; i < threads; ++i) {
    const Word before = get(wanted, i % words, row.bytes);
    if (returns) put(wanted_old, i, row.bytes, before);
    put(wanted, i % words, row.bytes, row.apply(before, get(a, i, row.bytes), get(b, i, row.bytes)));
  }
  const Ran r = run(program(row, place, returns), {buffer(memory), buffer(a), buffer(b), buffer(old), value(words)},
                    {{blocks, 1, 1}, {kThreads, 1, 1}});
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  EXPECT_EQ(r.buffers[0], wanted);
  EXPECT_EQ(r.buffers[3], wanted_old);

  const Counters& c = r.counters();
  const uint64_t warps = threads / 32, none = 0;
  EXPECT_EQ(c.shared_atomic_requests, in_shared ? warps : none);
  EXPECT_EQ(c.global_atomic_requests, !in_shared && returns ? warps : none);
  EXPECT_EQ(c.global_reduction_requests, !in_shared && !returns ? warps : none);
  if (row.bytes != 4 && row.bytes != 8) return;
  // Lanes on one address go one after the other: 32 / words passes of every sector touched.
  const uint64_t lanes_of_a_word = words >= 32 ? 1 : 32 / words;
  const uint64_t sectors = words >= 32 ? row.bytes : (words * row.bytes + 31) / 32;
  if (!in_shared) {
    EXPECT_EQ(returns ? c.global_atomic_sectors : c.global_reduction_sectors, warps * lanes_of_a_word * sectors);
  } else if (row.bytes == 4) {
    EXPECT_EQ(c.shared_atomic_wavefronts, warps * lanes_of_a_word * (row.two ? 2 : 1));  // cas takes each pass twice
  }
}

// In each change every second row in a place, with sanitizers every third, and other ones in the next place.
void check_all(Place place) {
  std::size_t number = static_cast<std::size_t>(place), turn = number / 2;
  for (const Row& row : kRows) {
    if (few_cases() && number++ % (kSanitized ? 3 : 2) != 0) continue;
    ++turn;
    for (const uint32_t words : {1u, 4u, 192u}) {
      if (few_cases() && words != (turn % 2 != 0 ? 192 : 4)) continue;
      if (words == 192 && row.bytes * 192 > 1024 && (place == Place::shared || place == Place::generic_shared)) {
        check(row, place, 64, true);
        continue;
      }
      check(row, place, words, true);
      if (row.has_red) check(row, place, words, false);
    }
  }
}

TEST(AtomicOperations, Global) { check_all(Place::global); }
TEST(AtomicOperations, Shared) { check_all(Place::shared); }
TEST(AtomicOperations, GenericGlobal) { check_all(Place::generic_global); }
TEST(AtomicOperations, GenericShared) { check_all(Place::generic_shared); }

// An atom whose result nobody reads is counted with the reductions.
TEST(AtomicOperations, UnreadResultIsAReduction) {
  const Ran r = run(kernel(".param .u64 sum",
                           "ld.param.u64 %rd1, [sum];\nmov.u32 %r1, %tid.x;\natom.global.add.u32 %r2, "
                           "[%rd1], %r1;\natom.global.exch.b32 %r3, [%rd1+4], %r1;\n"),
                    {zeros<uint32_t>(2)});
  EXPECT_EQ(r.read()[0], 31u * 32 / 2);
  EXPECT_EQ(r.read()[1], 31u);
  EXPECT_EQ(r.counters().global_reduction_requests, 1);
  EXPECT_EQ(r.counters().global_reduction_sectors, 32);
  EXPECT_EQ(r.counters().global_atomic_requests, 1);  // exch has no red
}

// Half of the lanes, by predicate and by branch.
TEST(AtomicOperations, SomeLanes) {
  const Ran r = run(kernel(".param .u64 out",
                           "ld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\nand.b32 %r2, %r1, 1;\nsetp.eq.u32 %p1, "
                           "%r2, 0;\nmov.u32 %r4, 77;\n@%p1 atom.global.add.u32 %r4, [%rd1], 1;\nmad.wide.u32 %rd2, "
                           "%r1, 4, %rd1;\nst.global.u32 [%rd2+64], %r4;\n@%p1 bra SKIP;\nred.global.add.u32 [%rd1+4], "
                           "1;\nSKIP:\n"),
                    {zeros<uint32_t>(48)});
  const auto out = r.read();
  EXPECT_EQ(out[0], 16u);
  EXPECT_EQ(out[1], 16u);
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(out[16 + i], i % 2 ? 77 : i / 2);
  EXPECT_EQ(r.counters().global_atomic_requests, 1);
  EXPECT_EQ(r.counters().global_atomic_sectors, 16);
  EXPECT_EQ(r.counters().global_reduction_sectors, 16);
}

// One instruction whose lanes are in two spaces is a request in each.
TEST(AtomicOperations, GenericLanesInBothSpaces) {
  const Ran r =
      run(kernel(".param .u64 out",
                 ".shared .align 4 .b8 s[4];\nld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\nmov.u64 %rd2, "
                 "s;\ncvta.shared.u64 %rd3, %rd2;\nst.shared.u32 [s], 1000;\nsetp.lt.u32 %p1, %r1, "
                 "10;\nselp.b64 %rd4, %rd3, %rd1, %p1;\natom.add.u32 %r2, [%rd4], 1;\nmad.wide.u32 %rd5, %r1, "
                 "4, %rd1;\nst.global.u32 [%rd5+4], %r2;\nld.shared.u32 %r3, [s];\nst.global.u32 "
                 "[%rd1+132], %r3;\n"),
          {zeros<uint32_t>(34)});
  const auto out = r.read();
  EXPECT_EQ(out[0], 22u);
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(out[1 + i], i < 10 ? 1000 + i : i - 10);
  EXPECT_EQ(out[33], 1010u);
  EXPECT_EQ(r.counters().global_atomic_requests, 1);
  EXPECT_EQ(r.counters().shared_atomic_requests, 1);
  EXPECT_EQ(r.counters().shared_atomic_wavefronts, 10);
  EXPECT_EQ(r.counters().global_atomic_sectors, 22);
}

// Old values of atomics over many blocks are tickets: each once, in the order of blocks.
TEST(AtomicOperations, TicketsOfManyBlocks) {
  const Ran r =
      run(kernel(".param .u64 counter, .param .u64 out",
                 "ld.param.u64 %rd1, [counter];\nld.param.u64 %rd2, [out];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, "
                 "%ctaid.x;\nmad.lo.u32 %r3, %r2, 64, %r1;\natom.global.add.u32 %r4, [%rd1], 1;\nmad.wide.u32 "
                 "%rd3, %r3, 4, %rd2;\nst.global.u32 [%rd3], %r4;\n"),
          {zeros<uint32_t>(1), zeros<uint32_t>(64 * 64)}, {{64, 1, 1}, {64, 1, 1}});
  for (uint32_t i = 0; i < 64 * 64; ++i) ASSERT_EQ(r.read(1)[i], i);
}

TEST(AtomicOperations, VectorsOfFloats) {
  const Ran r = run(kernel(".param .u64 out",
                           "ld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\ncvt.rn.f32.u32 %f1, %r1;\nadd.f32 %f2, "
                           "%f1, %f1;\natom.global.v2.f32.add {%f3, %f4}, [%rd1], {%f1, %f2};\nmad.wide.u32 %rd2, %r1, "
                           "8, %rd1;\nst.global.v2.f32 [%rd2+8], {%f3, %f4};\nred.global.add.v4.f32 [%rd1+272], {%f1, "
                           "%f2, %f1, %f2};\n"),
                    {zeros<float>(72)});
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  const auto out = r.read<float>();
  for (uint32_t i = 0; i < 32; ++i) {
    const float before = static_cast<float>(i) * (static_cast<float>(i) - 1) / 2;
    EXPECT_EQ(out[2 + 2 * i], before);
    EXPECT_EQ(out[3 + 2 * i], 2 * before);
  }
  for (uint32_t k = 0; k < 4; ++k) EXPECT_EQ(out[68 + k], (k % 2 ? 2.0f : 1.0f) * 496);
  EXPECT_EQ(r.counters().global_atomic_requests, 1);
  EXPECT_EQ(r.counters().global_reduction_requests, 1);
}

TEST(AtomicFaults, WhereAndWhat) {
  const auto body = [](const std::string& operation) {
    return kernel(".param .u64 out",
                  ".shared .align 8 .b8 s[64];\n.local .align 8 .b8 own[8];\nld.param.u64 %rd1, [out];\nmov.u32 %r1, "
                  "%tid.x;\nmad.wide.u32 %rd2, %r1, 4, %rd1;\nmov.u64 %rd3, s;\nmad.wide.u32 %rd4, %r1, 4, "
                  "%rd3;\nmov.u64 %rd5, own;\ncvta.local.u64 %rd6, %rd5;\n" +
                      operation + "\n");
  };
  struct Case {
    const char* operation;
    Fault fault;
    uint32_t lanes;
    const char* says;
  };
  for (const Case& row : {
           Case{"red.global.add.u32 [%rd2+4], 1;", Fault::illegal_address, 1u << 31,
                "0 bytes past the end of allocation"},
           Case{"atom.global.cas.b32 %r2, [%rd2+-4], 1, 2;", Fault::illegal_address, 1,
                "before the start of allocation"},
           Case{"red.global.add.u64 [%rd2], 1;", Fault::misaligned_address, 2, "not a multiple of 8"},
           Case{"atom.shared.add.u32 %r2, [%rd4], 1;", Fault::illegal_address, 1u << 16, "64 bytes of shared memory"},
           Case{"atom.shared.add.u64 %rd7, [%rd4], 1;", Fault::misaligned_address, 2, "not a multiple of 8"},
           Case{"atom.add.u64 %rd7, [%rd6+16], 1;", Fault::illegal_address, 1, "bytes of local memory"},
           Case{"atom.add.u64 %rd7, [%rd6+4], 1;", Fault::misaligned_address, 1, "not a multiple of 8"},
           Case{"{ .reg .b128 %q; mov.b128 %q, {%rd2, %rd2}; atom.exch.b128 %q, [%rd6], %q; }", Fault::illegal_address,
                1, "without atomics"},
           Case{"atom.add.f32 %f1, [%rd6], %f1;", Fault::illegal_address, 1, "without atomics"},
       }) {
    SCOPED_TRACE(row.operation);
    const Ran r = run(body(row.operation), {zeros<uint32_t>(32)});
    EXPECT_EQ(r.report.fault, row.fault);
    ASSERT_EQ(r.report.diagnostics.size(), 1u);
    EXPECT_THAT(r.message(), testing::HasSubstr("atomic on"));
    EXPECT_THAT(r.message(), testing::HasSubstr(row.says));
    EXPECT_EQ(r.report.diagnostics[0].lanes, row.lanes);
    EXPECT_EQ(r.report.diagnostics[0].ptx_line, 21u);
  }
}

}  // namespace

}  // namespace coalesce::machine::test
