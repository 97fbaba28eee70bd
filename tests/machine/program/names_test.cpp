// Names in the text and what they become: atomics by their types, orders and scopes, fences and groups, and the first
// register of each kind, whose number is 0.
#include <gtest/gtest.h>

#include "tests/machine/program/decoded.h"

namespace coalesce::machine {
namespace {

constexpr LaunchShape kOneWarp{{32, 1, 1}, {1, 1, 1}};

const MemoryOp& access_of(const Case& c) {
  for (const Instruction& i : c.p->code)
    if (i.memory != kNone && c.p->memory[i.memory].space != AddressSpace::param) return c.p->memory[i.memory];
  throw std::out_of_range("no access");
}

TEST(Names, OfAtomics) {
  struct Row {
    const char* text;
    AtomicOp op;
    Number number;
    uint32_t width;
    bool returns, ordered;
  };
  const std::string registers = ".reg .b16 %h<4>;\n.reg .b128 %q<4>;\n";
  for (const Row& row : {
           Row{"red.global.add.u32 [%rd1], %r1;", AtomicOp::add, Number::unsigned_, 4, false, false},
           Row{"red.global.add.s32 [%rd1], %r1;", AtomicOp::add, Number::signed_, 4, false, false},
           Row{"red.global.min.u64 [%rd1], %rd2;", AtomicOp::min, Number::unsigned_, 8, false, false},
           Row{"red.global.max.s64 [%rd1], %rd2;", AtomicOp::max, Number::signed_, 8, false, false},
           Row{"red.global.and.b32 [%rd1], %r1;", AtomicOp::and_, Number::bits, 4, false, false},
           Row{"red.global.or.b64 [%rd1], %rd2;", AtomicOp::or_, Number::bits, 8, false, false},
           Row{"red.shared.xor.b32 [buffer], %r1;", AtomicOp::xor_, Number::bits, 4, false, false},
           Row{"red.global.inc.u32 [%rd1], %r1;", AtomicOp::inc, Number::unsigned_, 4, false, true},
           Row{"red.global.dec.u32 [%rd1], %r1;", AtomicOp::dec, Number::unsigned_, 4, false, true},
           Row{"red.global.add.f32 [%rd1], %f1;", AtomicOp::add, Number::f32, 4, false, true},
           Row{"red.global.add.f64 [%rd1], %rd2;", AtomicOp::add, Number::f64, 8, false, true},
           Row{"red.global.add.noftz.f16 [%rd1], %h1;", AtomicOp::add, Number::f16, 2, false, true},
           Row{"red.global.add.noftz.f16x2 [%rd1], %r1;", AtomicOp::add, Number::f16x2, 4, false, true},
           Row{"red.global.add.noftz.bf16 [%rd1], %h1;", AtomicOp::add, Number::bf16, 2, false, true},
           Row{"red.global.add.noftz.bf16x2 [%rd1], %r1;", AtomicOp::add, Number::bf16x2, 4, false, true},
           Row{"atom.global.exch.b32 %r2, [%rd1], %r1;", AtomicOp::exch, Number::bits, 4, true, true},
           Row{"atom.global.exch.b128 %q1, [%rd1], %q2;", AtomicOp::exch, Number::bits, 16, true, true},
           Row{"atom.global.cas.b16 %h1, [%rd1], %h2, %h3;", AtomicOp::cas, Number::bits, 2, true, true},
           Row{"atom.global.cas.b64 %rd3, [%rd1], %rd2, %rd4;", AtomicOp::cas, Number::bits, 8, true, true},
           Row{"atom.global.add.u32 _, [%rd1], %r1;", AtomicOp::add, Number::unsigned_, 4, false, false},
       }) {
    const Case c = decoded(registers + row.text);
    const MemoryOp& m = access_of(c);
    EXPECT_EQ(m.op, row.op) << row.text;
    EXPECT_EQ(m.number, row.number) << row.text;
    EXPECT_EQ(m.width, row.width) << row.text;
    EXPECT_EQ(m.returns, row.returns) << row.text;
    EXPECT_EQ(m.result != kNone, row.returns) << row.text;
    EXPECT_EQ(m.ordered, row.ordered) << row.text;
    EXPECT_TRUE(m.is_volatile) << row.text;
    EXPECT_EQ(c.p->ordered_atomics, row.ordered) << row.text;
  }
}

// A narrow old value is extended to its register by its type.
TEST(Names, OfOldValuesInWideRegisters) {
  for (const auto& [type, helper] : {std::pair{"u32", "widen.b64.b32"}, std::pair{"s32", "cvt.s64.s32"}}) {
    const Case c = decoded("atom.global.add." + std::string(type) + " %rd2, [%rd1], %r1;\nst.global.u64 [%rd1], %rd2;");
    const Instruction* found = nullptr;
    for (const Instruction& i : c.p->code)
      if (i.kind == Kind::pure) found = &i;
    ASSERT_NE(found, nullptr) << type;
    EXPECT_EQ(found->pure->mnemonic, helper);
  }
}

TEST(Names, OfOrdersAndScopes) {
  struct Row {
    const char* text;
    Order order;
    Scope scope;
    bool is_volatile;
  };
  for (const Row& row : {
           Row{"ld.global.u32 %r1, [%rd1];", Order::weak, Scope::device, false},
           Row{"ld.weak.global.u32 %r1, [%rd1];", Order::weak, Scope::device, false},
           Row{"ld.volatile.global.u32 %r1, [%rd1];", Order::volatile_, Scope::device, true},
           Row{"ld.relaxed.cta.global.u32 %r1, [%rd1];", Order::relaxed, Scope::block, true},
           Row{"ld.relaxed.gpu.global.u32 %r1, [%rd1];", Order::relaxed, Scope::device, true},
           Row{"ld.acquire.cluster.global.u32 %r1, [%rd1];", Order::acquire, Scope::block, true},
           Row{"ld.acquire.sys.global.u32 %r1, [%rd1];", Order::acquire, Scope::device, true},
           Row{"ld.mmio.relaxed.sys.global.u32 %r1, [%rd1];", Order::relaxed, Scope::device, true},
           Row{"st.release.cta.global.u32 [%rd1], %r1;", Order::release, Scope::block, true},
           Row{"st.release.gpu.global.u32 [%rd1], %r1;", Order::release, Scope::device, true},
           Row{"red.relaxed.cta.global.add.u32 [%rd1], %r1;", Order::relaxed, Scope::block, true},
           Row{"red.global.add.u32 [%rd1], %r1;", Order::relaxed, Scope::device, true},
           Row{"atom.acq_rel.gpu.global.exch.b32 %r2, [%rd1], %r1;", Order::acq_rel, Scope::device, true},
           Row{"atom.acquire.cta.global.exch.b32 %r2, [%rd1], %r1;", Order::acquire, Scope::block, true},
       }) {
    const Case c = decoded(row.text);
    const MemoryOp& m = access_of(c);
    EXPECT_EQ(m.order, row.order) << row.text;
    EXPECT_EQ(m.scope, row.scope) << row.text;
    EXPECT_EQ(m.is_volatile, row.is_volatile) << row.text;
  }
}

TEST(Names, OfFencesAndGroups) {
  struct Row {
    const char* text;
    Nothing what;
    int number;  // of groups; -1: none
  };
  for (const Row& row : {
           Row{"membar.cta;", Nothing::block_fence, -1},
           Row{"membar.gl;", Nothing::device_fence, -1},
           Row{"membar.sys;", Nothing::device_fence, -1},
           Row{"fence.acq_rel.cta;", Nothing::block_fence, -1},
           Row{"fence.sc.gpu;", Nothing::device_fence, -1},
           Row{"fence.acq_rel.cluster;", Nothing::device_fence, -1},
           Row{"fence.acq_rel.sys;", Nothing::device_fence, -1},
           Row{"fence.proxy.async;", Nothing::proxy_fence, -1},
           Row{"fence.proxy.async.global;", Nothing::proxy_fence_global, -1},
           Row{"fence.proxy.async.shared::cta;", Nothing::proxy_fence_shared, -1},
           Row{"fence.proxy.async.shared::cluster;", Nothing::proxy_fence_shared, -1},
           Row{"fence.proxy.alias;", Nothing::nothing, -1},
           Row{"fence.proxy.tensormap::generic.release.gpu;", Nothing::nothing, -1},
           Row{"fence.proxy.tensormap::generic.acquire.gpu [%rd1], 128;", Nothing::nothing, -1},
           Row{"cp.async.commit_group;", Nothing::copies_commit, -1},
           Row{"cp.async.wait_group 3;", Nothing::copies_wait, 3},
           Row{"cp.async.wait_all;", Nothing::copies_wait_all, -1},
           Row{"cp.async.bulk.commit_group;", Nothing::bulk_commit, -1},
           Row{"cp.async.bulk.wait_group 2;", Nothing::bulk_wait, 2},
           Row{"cp.async.bulk.wait_group.read 0;", Nothing::bulk_wait_read, 0},
           Row{"wgmma.commit_group.sync.aligned;", Nothing::products_commit, -1},
           Row{"wgmma.wait_group.sync.aligned 1;", Nothing::products_wait, 1},
           Row{"cp.async.mbarrier.arrive.noinc.shared.b64 [buffer];", Nothing::copies_arrive, -2},
       }) {
    const Case c = decoded(row.text);
    const Instruction* found = nullptr;
    for (const Instruction& i : c.p->code)
      if (i.kind == Kind::nothing && (!found || row.number == -2)) found = &i;
    ASSERT_NE(found, nullptr) << row.text;
    EXPECT_EQ(static_cast<Nothing>(found->mode), row.what) << row.text;
    if (row.number == -1) EXPECT_TRUE(found->sources.empty()) << row.text;
    if (row.number < 0) continue;
    ASSERT_EQ(found->sources.size(), 1u) << row.text;
    EXPECT_EQ(found->sources[0].bits, static_cast<uint64_t>(row.number)) << row.text;
  }
}

// The first predicate and the first register are as good as any other: the same code, with the other one in its place.
TEST(Names, OfTheFirstRegisters) {
  for (const std::string text : {"@P mov.u32 %r1, 5;",
                                 "@!P mov.u32 %r1, 5;",
                                 "@P ret;",
                                 "@!P ret;",
                                 "@P bra L;",
                                 "@P exit;",
                                 "@P call.uni f, ();",
                                 "@P bar.sync 0;",
                                 "@P barrier.cluster.arrive;",
                                 "setp.lt.u32 P, %r1, 5;",
                                 "setp.lt.u32 %p1|P, %r1, 5;",
                                 "setp.lt.u32 P|%p1, %r1, 5;",
                                 "setp.lt.and.u32 %p1, %r1, 5, P;",
                                 "setp.eq.f16x2 P|%p1, %r1, %r2;",
                                 "setp.eq.f16x2 %p1|P, %r1, %r2;",
                                 "setp.eq.and.f16x2 %p1|P, %r1, %r2, %p2;",
                                 "lop3.or.b32 %r1|P, %r2, %r3, %r4, 128, %p2;",
                                 "lop3.or.b32 _|P, %r2, %r3, %r4, 128, %p2;",
                                 "lop3.or.b32 R|%p1, %r2, %r3, %r4, 128, %p2;",
                                 "shfl.sync.idx.b32 %r1|P, %r2, 0, 31, -1;",
                                 "match.all.sync.b32 %r1|P, %r2, -1;",
                                 "elect.sync %r1|P, -1;",
                                 "elect.sync R|%p1, -1;",
                                 "vote.sync.any.pred P, %p1, -1;",
                                 "selp.u32 %r1, 1, 2, P;",
                                 "mov.u32 R, 5;",
                                 "ld.shared.u32 R, [buffer];",
                                 "ld.shared.u32 %r1, [R];",
                                 "st.shared.u32 [R+4], R;",
                                 "atom.shared.add.u32 R, [buffer], 1;",
                                 "cp.async.ca.shared.global [buffer], [%rd1], 4, R;",
                                 "cp.async.ca.shared.global [buffer], [%rd1], 4, P;",
                                 "@P cp.async.ca.shared.global [buffer], [%rd1], 4;",
                                 "@P atom.shared.add.u32 %r1, [buffer], 1;",
                                 "@P ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [buffer];",
                                 "mov.b64 %rd1, {R, %r1};",
                                 "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {R}, [buffer];"}) {
    const auto with = [&](const std::string& number) {
      std::string t = text;
      for (std::size_t at; (at = t.find_first_of("PR")) != t.npos;)
        t.replace(at, 1, (t[at] == 'P' ? "%p" : "%r") + number);
      return decoded(t + "\nL:", kOneWarp, ".func f()\n{\nret;\n}\n");
    };
    const Case first = with("0"), other = with("7");
    ASSERT_EQ(first.p->code.size(), other.p->code.size()) << text;
    // Registers of the text are declared in one order: %p0 and %r0 stand 7 places before %p7 and %r7.
    const auto same = [](uint32_t a, uint32_t b) { return a == b || (a != kNone && b == a + 7); };
    for (std::size_t k = 0; k < first.p->code.size(); ++k) {
      const Instruction &a = first.p->code[k], &b = other.p->code[k];
      EXPECT_EQ(a.kind, b.kind) << text;
      EXPECT_EQ(a.pure, b.pure) << text;
      EXPECT_EQ(a.counts, b.counts) << text;
      EXPECT_EQ(a.guard_negated, b.guard_negated) << text;
      EXPECT_EQ(a.text, b.text) << text;
      EXPECT_TRUE(same(a.guard, b.guard)) << text;
      for (const std::size_t r : {0u, 1u}) EXPECT_TRUE(same(a.results[r], b.results[r])) << text;
      ASSERT_EQ(a.sources.size(), b.sources.size()) << text;
      for (std::size_t s = 0; s < a.sources.size(); ++s)
        EXPECT_TRUE(a.sources[s].kind == b.sources[s].kind && same(a.sources[s].reg, b.sources[s].reg)) << text;
      ASSERT_EQ(a.memory == kNone, b.memory == kNone) << text;
      if (a.memory == kNone) continue;
      const MemoryOp &m = first.p->memory[a.memory], &n = other.p->memory[b.memory];
      EXPECT_TRUE(same(m.address.reg, n.address.reg) && same(m.values[0].reg, n.values[0].reg) &&
                  same(m.result, n.result))
          << text;
    }
  }
}

// A kernel whose text ends in an instruction with a guard ends there for all lanes.
TEST(Names, OfTheTextsEnd) {
  const ptx::Module module = ptx::parse(
      ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n.reg .pred %p<2>;\n.reg .b32 %r<2>;\n"
      "@%p0 mov.u32 %r1, 5;\n}\n",
      "end.ptx");
  const auto p = decode(module, module.functions.front(), Symbols(), kOneWarp);
  const Instruction& last = p->code.back();
  EXPECT_EQ(last.kind, Kind::exit);
  EXPECT_EQ(last.guard, kNone);
  EXPECT_FALSE(last.counts);
}

}  // namespace
}  // namespace coalesce::machine
