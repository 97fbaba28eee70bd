// Loads and stores of every width, form and space: values and exact counts.
#include <numeric>
#include <set>

#include "harness.h"

namespace coalesce::machine::test {

namespace {

std::vector<uint8_t> pattern(std::size_t n) {
  std::vector<uint8_t> v(n);
  for (std::size_t i = 0; i < n; ++i) v[i] = static_cast<uint8_t>(i * 37 + i / 256 + 11);
  return v;
}

std::string text(uint64_t v) { return std::to_string(v); }

// ---- Widths and vectors ------------------------------------------------------------------------------------------

struct Form {
  const char* suffix;     // of ld and st
  const char* registers;  // list of one element per component
  uint32_t bytes;         // per lane
};

constexpr Form kForms[] = {
    {"u8", "%h1", 1},
    {"b8", "%r4", 1},
    {"u16", "%h1", 2},
    {"b16", "%h1", 2},
    {"u32", "%r4", 4},
    {"f32", "%f4", 4},
    {"u64", "%rd8", 8},
    {"f64", "%fd4", 8},
    {"b128", "%q1", 16},
    {"v2.u8", "{%h1, %h2}", 2},
    {"v4.u8", "{%h1, %h2, %h3, %h4}", 4},
    {"v2.u16", "{%h1, %h2}", 4},
    {"v4.u16", "{%h1, %h2, %h3, %h4}", 8},
    {"v2.u32", "{%r4, %r5}", 8},
    {"v4.f32", "{%f4, %f5, %f6, %f7}", 16},
    {"v2.u64", "{%rd8, %rd9}", 16},
    {"v2.f64", "{%fd4, %fd5}", 16},
};

// A copy of `stride` bytes' distance between lanes, `skip` bytes into both buffers.
std::string copy_by(const Form& f, uint32_t stride, uint32_t skip) {
  const std::string at = "+" + text(skip) + "]";
  return kernel(".param .u64 to, .param .u64 from",
                ".reg .b128 %q<4>;\nld.param.u64 %rd1, [to];\nld.param.u64 %rd2, [from];\nmov.u32 %r1, "
                "%tid.x;\nmul.wide.u32 %rd3, %r1, " +
                    text(stride) + ";\nadd.s64 %rd4, %rd1, %rd3;\nadd.s64 %rd5, %rd2, %rd3;\nld.global." + f.suffix +
                    " " + f.registers + ", [%rd5" + at + ";\nst.global." + f.suffix + " [%rd4" + at + ", " +
                    f.registers + ";\n");
}

TEST(MemoryForms, NeighbouredLanes) {
  for (const Form& f : kForms) {
    SCOPED_TRACE(f.suffix);
    const std::vector<uint8_t> from = pattern(32 * f.bytes);
    const Ran r = run(copy_by(f, f.bytes, 0), {zeros<uint8_t>(from.size()), buffer(from)});
    ASSERT_EQ(r.report.fault, Fault::none) << r.message();
    EXPECT_EQ(r.buffers[0], from);
    const Counters& c = r.counters();
    EXPECT_EQ(c.global_load_requests, 1);
    EXPECT_EQ(c.global_load_sectors, f.bytes);  // 32 lanes of b bytes are b sectors
    EXPECT_EQ(c.global_load_lines, (f.bytes + 3) / 4);
    EXPECT_EQ(c.global_load_bytes_requested, 32 * f.bytes);
    EXPECT_EQ(c.global_store_requests, 1);
    EXPECT_EQ(c.global_store_sectors, f.bytes);
    EXPECT_EQ(c.global_store_bytes_requested, 32 * f.bytes);
    EXPECT_EQ(c.compulsory_bytes, 2 * 32 * f.bytes);
    EXPECT_EQ(c.instructions, 9);
  }
}

// One element on: the last lane's element lies in one sector more.
TEST(MemoryForms, NeighbouredLanesOffBySomeBytes) {
  for (const Form& f : kForms) {
    SCOPED_TRACE(f.suffix);
    const std::vector<uint8_t> from = pattern(33 * f.bytes);
    const Ran r = run(copy_by(f, f.bytes, f.bytes), {zeros<uint8_t>(from.size()), buffer(from)});
    std::vector<uint8_t> wanted = from;
    std::fill(wanted.begin(), wanted.begin() + f.bytes, uint8_t{0});
    EXPECT_EQ(r.buffers[0], wanted);
    EXPECT_EQ(r.counters().global_load_sectors, f.bytes + 1);
    EXPECT_EQ(r.counters().global_store_sectors, f.bytes + 1);
    EXPECT_EQ(r.counters().global_load_bytes_requested, 32 * f.bytes);
  }
}

TEST(MemoryForms, EveryThirdElement) {
  for (const Form& f : kForms) {
    SCOPED_TRACE(f.suffix);
    const uint32_t stride = 3 * f.bytes;
    const std::vector<uint8_t> from = pattern(32 * stride);
    const Ran r = run(copy_by(f, stride, 0), {zeros<uint8_t>(from.size()), buffer(from)});
    std::vector<uint8_t> wanted(from.size());
    std::vector<bool> sectors(from.size() / 32 + 1), lines(from.size() / 128 + 1);
    for (uint32_t lane = 0; lane < 32; ++lane)
      for (uint32_t b = 0; b < f.bytes; ++b) {
        const uint32_t at = lane * stride + b;
        wanted[at] = from[at];
        sectors[at / 32] = lines[at / 128] = true;
      }
    const auto set = [](const std::vector<bool>& v) {
      return static_cast<uint64_t>(std::count(v.begin(), v.end(), true));
    };
    EXPECT_EQ(r.buffers[0], wanted);
    EXPECT_EQ(r.counters().global_load_sectors, set(sectors));
    EXPECT_EQ(r.counters().global_store_sectors, set(sectors));
    EXPECT_EQ(r.counters().global_load_lines, set(lines));
    EXPECT_EQ(r.counters().compulsory_bytes, 2 * 32 * set(sectors));
  }
}

// A matrix that every row of blocks reads again, the first warp of each block down its column of tiles; but the last
// line of tile 255 is left to the second row of blocks, that of tile 253 to the third. Native code stops asking what
// has been touched where everything has.
TEST(MemoryForms, AMatrixReadAgainAndAgain) {
  const std::string ptx = kernel(".param .u64 to, .param .u64 from", R"(
  ld.param.u64 %rd1, [to];
  ld.param.u64 %rd2, [from];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ctaid.y;
  setp.ge.u32 %p1, %r1, 32;
  @%p1 bra DONE;
  shl.b32 %r4, %r2, 5;
  add.u32 %r4, %r4, %r1;
  mul.wide.u32 %rd3, %r4, 4;
  add.s64 %rd4, %rd2, %rd3;
  mov.u32 %r5, 0;
  mov.u32 %r6, 0;
NEXT:
  setp.eq.u32 %p2, %r5, 255;
  setp.lt.u32 %p3, %r3, 1;
  and.pred %p2, %p2, %p3;
  setp.eq.u32 %p4, %r5, 253;
  setp.lt.u32 %p5, %r3, 2;
  and.pred %p4, %p4, %p5;
  or.pred %p2, %p2, %p4;
  setp.eq.u32 %p6, %r2, 7;
  and.pred %p2, %p2, %p6;
  selp.u32 %r7, 0, %r5, %p2;
  mul.wide.u32 %rd5, %r7, 1024;
  add.s64 %rd6, %rd4, %rd5;
  ld.global.u32 %r8, [%rd6];
  add.u32 %r6, %r6, %r8;
  add.u32 %r5, %r5, 1;
  setp.lt.u32 %p7, %r5, 256;
  @%p7 bra NEXT;
  mad.lo.u32 %r9, %r3, 256, %r4;
  mul.wide.u32 %rd7, %r9, 4;
  add.s64 %rd8, %rd1, %rd7;
  st.global.u32 [%rd8], %r6;
DONE:
)");
  std::vector<uint32_t> from(256 * 256);
  std::iota(from.begin(), from.end(), 1u);
  for (const uint32_t rows : {1u, 2u, 3u, 4u}) {
    SCOPED_TRACE(rows);
    Shape shape;
    shape.grid = {8, rows, 1};
    shape.block = {128, 1, 1};
    const Ran r = run(ptx, {zeros<uint32_t>(rows * 256), buffer(from)}, shape);
    const uint64_t left_out = rows == 1 ? 8 : rows == 2 ? 4 : 0;
    EXPECT_EQ(r.counters().compulsory_bytes, 32 * (from.size() / 8 - left_out + rows * 256 / 8));
  }
}

// Shared memory by the same forms: 64-bit accesses are judged by half-warps, 128-bit ones by quarters.
// Each lane walks along a row of its own, 64 bytes apart; every four steps one lane less.
TEST(MemoryForms, LanesThatStayInTheirSectors) {
  const std::string ptx = kernel(".param .u64 to, .param .u64 from", R"(
  ld.param.u64 %rd1, [to];
  ld.param.u64 %rd2, [from];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd3, %r1, 64;
  add.s64 %rd4, %rd2, %rd3;
  mul.wide.u32 %rd5, %r1, 4;
  add.s64 %rd6, %rd1, %rd5;
  mov.u32 %r2, 0;
  mov.u32 %r3, 0;
NEXT:
  shr.u32 %r4, %r2, 2;
  setp.ge.u32 %p1, %r1, %r4;
  mov.u32 %r5, 0;
  @%p1 ld.global.u32 %r5, [%rd4];
  add.u32 %r3, %r3, %r5;
  add.s64 %rd4, %rd4, 4;
  add.u32 %r2, %r2, 1;
  setp.lt.u32 %p2, %r2, 16;
  @%p2 bra NEXT;
  st.global.u32 [%rd6], %r3;
)");
  std::vector<uint32_t> from(32 * 16), wanted(32);
  std::iota(from.begin(), from.end(), 1u);
  uint64_t sectors = 0, lines = 0;
  std::set<uint32_t> touched;
  for (uint32_t k = 0; k < 16; ++k) {
    std::set<uint32_t> of_step;
    for (uint32_t lane = k / 4; lane < 32; ++lane) {
      const uint32_t at = lane * 16 + k;
      wanted[lane] += from[at];
      touched.insert(at / 8);
      of_step.insert(at / 32);
      ++sectors;
    }
    lines += of_step.size();
  }
  const Ran r = run(ptx, {zeros<uint32_t>(32), buffer(from)});
  EXPECT_EQ(r.read(), wanted);
  EXPECT_EQ(r.counters().global_load_sectors, sectors);
  EXPECT_EQ(r.counters().global_load_lines, lines);
  EXPECT_EQ(r.counters().global_load_bytes_requested, 4 * sectors);
  EXPECT_EQ(r.counters().compulsory_bytes, 32 * (touched.size() + 4));
}

TEST(MemoryForms, SharedNeighbouredLanes) {
  for (const Form& f : kForms) {
    SCOPED_TRACE(f.suffix);
    const std::vector<uint8_t> from = pattern(32 * f.bytes);
    const std::string at = std::string(f.suffix) + " ";
    const Ran r =
        run(kernel(".param .u64 to, .param .u64 from",
                   std::string(".reg .b128 %q<4>;\n.shared .align 16 .b8 s[512];\n") +
                       "ld.param.u64 %rd1, [to];\nld.param.u64 %rd2, [from];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 "
                       "%rd3, %r1, " +
                       text(f.bytes) +
                       ";\nadd.s64 %rd4, %rd1, %rd3;\nadd.s64 %rd5, %rd2, %rd3;\nmov.u32 %r2, s;\nmad.lo.u32 %r2, "
                       "%r1, " +
                       text(f.bytes) + ", %r2;\nld.global." + at + f.registers + ", [%rd5];\nst.shared." + at +
                       "[%r2], " + f.registers + ";\nld.shared." + at + f.registers + ", [%r2];\nst.global." + at +
                       "[%rd4], " + f.registers + ";\n"),
            {zeros<uint8_t>(from.size()), buffer(from)});
    ASSERT_EQ(r.report.fault, Fault::none) << r.message();
    EXPECT_EQ(r.buffers[0], from);
    const uint64_t passes = f.bytes <= 4 ? 1 : f.bytes / 4;
    EXPECT_EQ(r.counters().shared_load_requests, 1);
    EXPECT_EQ(r.counters().shared_load_wavefronts, passes);
    EXPECT_EQ(r.counters().shared_load_wavefronts_ideal, passes);
    EXPECT_EQ(r.counters().shared_store_wavefronts, passes);
  }
}

// A load narrower than its register extends by its type; a store keeps the low bytes.
TEST(MemoryForms, Extension) {
  struct Row {
    const char* load;
    const char* store;
    const char* reg;
    uint32_t loaded, stored;  // bytes
    bool sign;
  };
  const Row rows[] = {
      {"s8", "u16", "%h1", 1, 2, true},    {"u8", "u16", "%h1", 1, 2, false},   {"b8", "u16", "%h1", 1, 2, false},
      {"s8", "u32", "%r4", 1, 4, true},    {"u8", "u32", "%r4", 1, 4, false},   {"s16", "u32", "%r4", 2, 4, true},
      {"u16", "u32", "%r4", 2, 4, false},  {"b16", "u32", "%r4", 2, 4, false},  {"s8", "u64", "%rd8", 1, 8, true},
      {"s16", "u64", "%rd8", 2, 8, true},  {"u16", "u64", "%rd8", 2, 8, false}, {"s32", "u64", "%rd8", 4, 8, true},
      {"u32", "u64", "%rd8", 4, 8, false}, {"u64", "u8", "%rd8", 8, 1, false},  {"u32", "s8", "%r4", 4, 1, false},
      {"u64", "u16", "%rd8", 8, 2, false}, {"u64", "b32", "%rd8", 8, 4, false},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(std::string(row.load) + " to " + row.reg + " to " + row.store);
    const std::vector<uint8_t> from = pattern(32 * row.loaded);
    std::vector<uint8_t> wanted(32 * row.stored);
    for (uint32_t lane = 0; lane < 32; ++lane)
      for (uint32_t b = 0; b < row.stored; ++b) {
        const bool minus = row.sign && from[(lane + 1) * row.loaded - 1] >= 128;
        wanted[lane * row.stored + b] = b < row.loaded ? from[lane * row.loaded + b] : minus ? 255 : 0;
      }
    // Each space in turn: contiguous lanes, and (last) one address for all of them.
    const std::string address =
        "ld.param.u64 %rd1, [to];\nld.param.u64 %rd2, [from];\nmov.u32 %r1, "
        "%tid.x;\nmad.wide.u32 %rd4, %r1, " +
        text(row.stored) + ", %rd1;\nmad.wide.u32 %rd5, %r1, " + text(row.loaded) + ", %rd2;\n";
    const std::string store = std::string("st.global.") + row.store + " [%rd4], " + row.reg + ";\n";
    const auto body = [&](const std::string& load) {
      return run(kernel(".param .u64 to, .param .u64 from", address + load + store),
                 {zeros<uint8_t>(wanted.size()), buffer(from)});
    };
    const std::string of = std::string(row.load) + " " + row.reg;
    EXPECT_EQ(body("ld.global." + of + ", [%rd5];\n").buffers[0], wanted);
    EXPECT_EQ(body("ld." + of + ", [%rd5];\n").buffers[0], wanted);
    EXPECT_EQ(body("xor.b32 %r2, %r1, 0;\nmad.wide.u32 %rd5, %r2, " + text(row.loaded) + ", %rd2;\nld.global." + of +
                   ", [%rd5];\n")
                  .buffers[0],
              wanted);
    std::vector<uint8_t> same(wanted.size());
    for (std::size_t i = 0; i < same.size(); ++i) same[i] = wanted[i % row.stored];
    EXPECT_EQ(body("ld.global." + of + ", [%rd2];\n").buffers[0], same);
  }
}

TEST(MemoryForms, SomeLanesOnly) {
  // Lanes 3, 4 and 20 by predicate; of what the others would touch nothing counts.
  const Ran r = run(kernel(".param .u64 to, .param .u64 from",
                           "ld.param.u64 %rd1, [to];\nld.param.u64 %rd2, [from];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 "
                           "%rd3, %r1, 16;\nadd.s64 %rd4, %rd1, %rd3;\nadd.s64 %rd5, %rd2, %rd3;\nmov.u32 %r2, 1;\n"
                           "shl.b32 %r2, %r2, %r1;\nand.b32 %r2, %r2, 0x100018;\nsetp.ne.u32 %p1, %r2, 0;\n@%p1 "
                           "ld.global.v4.u32 {%r4, %r5, %r6, %r7}, [%rd5];\n@%p1 st.global.v4.u32 [%rd4], {%r7, %r6, "
                           "%r5, %r4};\n"),
                    {zeros<uint32_t>(128), buffer(pattern(512))});
  const auto in = r.read<uint32_t>(1), out = r.read<uint32_t>(0);
  for (uint32_t lane = 0; lane < 32; ++lane)
    for (uint32_t k = 0; k < 4; ++k)
      EXPECT_EQ(out[4 * lane + k], lane == 3 || lane == 4 || lane == 20 ? in[4 * lane + 3 - k] : 0u);
  EXPECT_EQ(r.counters().global_load_requests, 1);
  EXPECT_EQ(r.counters().global_load_sectors, 3);  // bytes 48..64, 64..80, 320..336
  EXPECT_EQ(r.counters().global_load_lines, 2);
  EXPECT_EQ(r.counters().global_load_bytes_requested, 48);
  EXPECT_EQ(r.counters().compulsory_bytes, 2 * 96);
}

TEST(MemoryForms, NoLaneIsNoRequest) {
  const Ran r = run(kernel(".param .u64 to",
                           "ld.param.u64 %rd1, [to];\nmov.u32 %r1, %tid.x;\nsetp.gt.u32 %p1, %r1, 99;\n@%p1 "
                           "ld.global.u32 %r2, [%rd1];\n@%p1 st.global.u32 [%rd1], %r2;\n"),
                    {zeros<uint32_t>(1)});
  EXPECT_EQ(r.counters().global_load_requests + r.counters().global_store_requests, 0);
  EXPECT_EQ(r.counters().compulsory_bytes, 0);
  EXPECT_EQ(r.counters().instructions, 6);  // issued all the same
}

}  // namespace

}  // namespace coalesce::machine::test
