// Where an access ends: at the last byte of what is there, one element behind it, before its beginning, off its
// alignment. In every space, by every width, for lanes at one place, side by side, apart and in no order, all or some
// of them. Wanted values, faults and sectors are computed here, from each lane's place.
#include <set>

#include "harness.h"

namespace coalesce::machine::test {
namespace bounds {
namespace {

struct Width {
  const char *suffix, *values, *others;  // registers: what is loaded or stored; the result of an atomic
  uint32_t bytes, element;               // of a lane's access; of what has to be aligned as one
};
constexpr Width kWidths[] = {{"u8", "%h1", "", 1, 1},
                             {"u16", "%h1", "", 2, 2},
                             {"u32", "%r9", "%r13", 4, 4},
                             {"u64", "%rd9", "%rd13", 8, 8},
                             {"v2.u8", "{%h1, %h2}", "", 2, 2},
                             {"v4.u16", "{%h1, %h2, %h3, %h4}", "", 8, 8},
                             {"v2.u32", "{%r9, %r10}", "", 8, 8},
                             {"v4.u32", "{%r9, %r10, %r11, %r12}", "", 16, 16},
                             {"v2.u64", "{%rd9, %rd10}", "", 16, 16}};
constexpr const char* kSpaces[] = {"global", "shared", "local", "generic global", "generic shared", "generic local"};
enum class Form : uint8_t { uniform, contiguous, strided, table };
constexpr Form kForms[] = {Form::uniform, Form::contiguous, Form::strided, Form::table};
enum class Op : uint8_t { load, store, atomic };
constexpr Op kOps[] = {Op::load, Op::store, Op::atomic};
constexpr std::pair<uint32_t, uint32_t> kLanesOn[] = {{0, 31}, {5, 20}};

uint8_t content(uint32_t place) { return static_cast<uint8_t>(place * 37 + 11); }
uint8_t written(uint32_t lane, uint32_t k) { return static_cast<uint8_t>(lane * 5 + k + 1); }

struct Case {
  std::string space;
  const Width& width;
  Op op;
  Form form;
  uint32_t first, last;  // lanes that are on

  bool in(const char* where) const { return space.find(where) != space.npos; }
  int64_t place(uint32_t lane) const {  // of its access, where the offset is 0
    const uint32_t b = width.bytes;
    return form == Form::uniform      ? 0
           : form == Form::contiguous ? lane * b
           : form == Form::strided    ? 3 * lane * b
                                      : lane * 7 % 32 * b;
  }
  uint32_t size() const { return (form == Form::strided ? 3 : 1) * 32 * width.bytes; }
  bool on(uint32_t lane) const { return lane >= first && lane <= last; }
};

std::string text_of(const Case& c) {
  const std::string n = std::to_string(c.size()), w = c.width.suffix, v = c.width.values;
  const std::string each = std::to_string(c.size() / 32), of = c.space.starts_with("generic") ? "" : "." + c.space;
  std::string t =
      "ld.param.u64 %rd1, [data];\nld.param.u64 %rd2, [out];\nld.param.u64 %rd3, [values];\nld.param.u64 %rd4, "
      "[offset];\n"
      "ld.param.u64 %rd15, [table];\nmov.u32 %r1, %tid.x;\nmad.wide.u32 %rd2, %r1, 16, %rd2;\n"
      "mad.wide.u32 %rd3, %r1, 16, %rd3;\nmad.wide.u32 %rd15, %r1, 4, %rd15;\nsetp.ge.u32 %p1, %r1, " +
      std::to_string(c.first) + ";\nsetp.le.and.u32 %p1, %r1, " + std::to_string(c.last) + ", %p1;\n";
  const std::string copied = "mul.lo.u32 %r2, %r1, " + each + ";\nadd.u32 %r3, %r2, " + each + ";\n";
  if (c.in("shared")) {
    t += ".shared .align 16 .b8 S[" + n + "];\n" + copied + "mov.u32 %r4, S;\n" +
         "FILL:\ncvt.u64.u32 %rd5, %r2;\nadd.u64 %rd5, %rd5, %rd1;\nld.global.u8 %h5, [%rd5];\nadd.u32 %r5, %r4, %r2;\n"
         "st.shared.u8 [%r5], %h5;\nadd.u32 %r2, %r2, 1;\nsetp.lt.u32 %p2, %r2, %r3;\n@%p2 bra FILL;\nbar.warp.sync "
         "-1;\n"
         "cvt.u64.u32 %rd6, %r4;\n";
    if (of.empty()) t += "cvta.shared.u64 %rd6, %rd6;\n";
  } else if (c.in("local")) {
    t += ".local .align 16 .b8 L[" + n +
         "];\nmov.u64 %rd6, L;\nmov.u32 %r2, 0;\nmov.u32 %r4, 11;\n"
         "FILL:\ncvt.u64.u32 %rd5, %r2;\nadd.u64 %rd5, %rd5, %rd6;\nst.local.u8 [%rd5], %r4;\nadd.u32 %r4, %r4, 37;\n"
         "add.u32 %r2, %r2, 1;\nsetp.lt.u32 %p2, %r2, " +
         n + ";\n@%p2 bra FILL;\n";
    if (of.empty()) t += "cvta.local.u64 %rd6, %rd6;\n";
  } else {
    t += "mov.u64 %rd6, %rd1;\n";
  }
  t += "add.u64 %rd6, %rd6, %rd4;\n";
  if (c.form == Form::table)
    t += "ld.global.u32 %r6, [%rd15];\ncvt.u64.u32 %rd7, %r6;\nadd.u64 %rd6, %rd6, %rd7;\n";
  else if (c.form != Form::uniform)
    t += "mad.wide.u32 %rd6, %r1, " + std::to_string(c.place(1)) + ", %rd6;\n";
  std::string at = "[%rd6]";
  if (of == ".shared") t += "cvt.u32.u64 %r7, %rd6;\n", at = "[%r7]";
  const std::string keep = "@%p1 st.global." + w + " [%rd2], ";
  switch (c.op) {
    case Op::load:
      t += "@%p1 ld" + of + "." + w + " " + v + ", " + at + ";\n" + keep + v + ";\n";
      break;
    case Op::store:
      t += "ld.global." + w + " " + v + ", [%rd3];\n@%p1 st" + of + "." + w + " " + at + ", " + v + ";\n";
      if (c.in("local")) t += "@%p1 ld" + of + "." + w + " " + v + ", " + at + ";\n" + keep + v + ";\n";
      break;
    case Op::atomic:
      t += "ld.global." + w + " " + v + ", [%rd3];\n@%p1 atom" + of + ".add." + w + " " + c.width.others + ", " + at +
           ", " + v + ";\n" + keep + c.width.others + ";\n";
      break;
  }
  if (c.in("shared") && c.op != Op::load)
    t += "bar.warp.sync -1;\n" + copied +
         "mov.u32 %r4, S;\nBACK:\ncvt.u64.u32 %rd5, %r2;\nadd.u64 %rd5, %rd5, %rd1;\n" +
         "add.u32 %r5, %r4, %r2;\nld.shared.u8 %h5, [%r5];\nst.global.u8 [%rd5], %h5;\nadd.u32 %r2, %r2, 1;\n"
         "setp.lt.u32 %p2, %r2, %r3;\n@%p2 bra BACK;\n";
  return kernel(".param .u64 data, .param .u64 out, .param .u64 values, .param .u64 offset, .param .u64 table", t);
}

uint64_t number(const uint8_t* from, uint32_t bytes) {
  uint64_t v = 0;
  std::memcpy(&v, from, bytes);
  return v;
}

void expect_values(const Case& c, const Ran& r, int64_t offset) {
  std::vector<uint8_t> data(c.size()), out(32 * 16);
  for (uint32_t k = 0; k < data.size(); ++k) data[k] = content(k);
  const uint32_t b = c.width.bytes;
  for (uint32_t l = 0; l < 32; ++l) {
    if (!c.on(l)) continue;
    uint8_t* const at = data.data() + c.place(l) + offset;
    uint8_t own[16];
    for (uint32_t k = 0; k < 16; ++k) own[k] = written(l, k);
    if (c.op == Op::load || c.op == Op::atomic) std::memcpy(&out[l * 16], at, b);
    const uint64_t sum = number(at, std::min(b, 8u)) + number(own, std::min(b, 8u));
    if (c.op == Op::store) std::memcpy(c.in("local") ? &out[l * 16] : at, own, b);
    if (c.op == Op::atomic) std::memcpy(at, &sum, b);
  }
  if (!c.in("local")) ASSERT_EQ(r.buffers[0], data);
  ASSERT_EQ(r.buffers[1], out);
}

TEST(Bounds, OfEveryAccess) {
  Bench bench(1);
  for (const char* space : kSpaces)
    for (const Width& width : kWidths)
      for (const Op op : kOps)
        for (const Form form : kForms)
          for (const auto& [first, last] : kLanesOn) {
            const Case c{space, width, op, form, first, last};
            // Lanes that store to one place, and atomics on it, come in an order; local memory has its own test of
            // them.
            if (op != Op::load && form == Form::uniform) continue;
            if (op == Op::atomic && (!*width.others || c.in("local"))) continue;
            const auto program = bench.machine().load(text_of(c), "test.ptx");
            std::vector<uint8_t> data(c.size()), values(32 * 16);
            std::vector<uint32_t> table(32);
            for (uint32_t k = 0; k < data.size(); ++k) data[k] = content(k);
            int64_t low = INT64_MAX, high = 0;
            uint32_t lowest = 0, highest = 0;
            for (uint32_t l = 0; l < 32; ++l) {
              for (uint32_t k = 0; k < 16; ++k) values[l * 16 + k] = written(l, k);
              table[l] = static_cast<uint32_t>(c.place(l));
              if (!c.on(l)) continue;
              if (c.place(l) < low) low = c.place(l), lowest = l;
              if (c.place(l) > high || l == first) high = c.place(l), highest = l;
            }
            const int64_t b = width.bytes, to_end = c.size() - b - high;
            struct {
              int64_t offset;
              Fault fault;
              uint32_t lane;
            } const kEdges[] = {{to_end, Fault::none, 0},
                                {-low, Fault::none, 0},
                                {to_end + b, Fault::illegal_address, highest},
                                {-low - b, Fault::illegal_address, lowest},
                                {-low + 1, Fault::misaligned_address, first},
                                {-low + b / 2, Fault::misaligned_address, first},
                                {-low + 5, Fault::misaligned_address, first}};
            for (const auto& edge : kEdges) {
              if (edge.fault == Fault::misaligned_address && (b == 1 || edge.offset > to_end)) continue;
              SCOPED_TRACE(std::string(space) + " " + width.suffix + ", operation " + std::to_string(int(op)) +
                           ", form " + std::to_string(int(form)) + ", lanes from " + std::to_string(first) +
                           ", offset " + std::to_string(edge.offset) + " of " + std::to_string(c.size()));
              const Ran r = bench.run(
                  *program, {buffer(data), zeros<uint8_t>(32 * 16), buffer(values), value(edge.offset), buffer(table)},
                  {}, "k");
              ASSERT_EQ(r.report.fault, edge.fault) << r.message();
              if (edge.fault != Fault::none) {
                EXPECT_EQ(r.report.diagnostics.at(0).lanes, 1u << edge.lane);
                continue;
              }
              expect_values(c, r, edge.offset);
            }
          }
}

}  // namespace
}  // namespace bounds
}  // namespace coalesce::machine::test
