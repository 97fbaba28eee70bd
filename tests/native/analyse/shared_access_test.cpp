// Proofs about shared memory, against every address that the same facts allow; and what code takes for simple.
#include "native/analyse/shared_access.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "native/analyse/tiles.h"

namespace coalesce::native::test {
namespace {

using machine::AddressSpace;
using machine::AtomicOp;
using machine::Kind;
using machine::kLanes;
using machine::Number;
using machine::Range;
using machine::Value;

// A program of one register, which holds addresses, and `size` bytes of shared memory.
Decoded of(Register r, uint32_t size) {
  Decoded p;
  p.registers.push_back(r);
  p.static_shared_bytes = size;
  return p;
}

MemoryOp access(uint8_t width, uint8_t count, int64_t offset = 0) {
  MemoryOp m;
  m.space = AddressSpace::shared;
  m.width = width;
  m.count = count;
  m.address = Value::of(0);
  m.offset = offset;
  m.values[0] = Value::imm(0);
  m.site = 0;
  return m;
}

bool fits(int64_t at, int64_t bytes, int64_t size) { return at >= 0 && at + bytes <= size && at % bytes == 0; }

// Every lane's address in every warp that the facts of `r` allow.
std::vector<int64_t> allowed(const Register& r) {
  std::vector<int64_t> all;
  const int64_t alignment = r.alignment, stride = r.lanes == LaneClass::affine ? r.stride : 0;
  for (int64_t first = r.range.low; first <= r.range.high; ++first) {
    const int64_t last = first + stride * (kLanes - 1);
    if (first % alignment || last < r.range.low || last > r.range.high) continue;
    for (uint32_t l = 0; l < kLanes; ++l) all.push_back(first + stride * l);
  }
  return all;
}

// Ranges whose ends some lane has, with two values of lane 0 or more: of those, facts prove all that is true.
TEST(SharedAccess, InBoundsWhereEveryAddressIs) {
  std::mt19937 random(25);
  const auto below = [&](uint32_t n) { return static_cast<int64_t>(random() % n); };
  int yes = 0, no = 0;
  for (int k = 0; k < 6000; ++k) {
    Register r;
    r.lanes = std::vector{LaneClass::affine, LaneClass::general, LaneClass::warp_uniform}[k % 3];
    r.alignment = 1u << below(5);
    const int64_t step = r.alignment * (1 + below(4));
    r.stride = r.lanes == LaneClass::affine ? (below(4) ? 4 : 1) * (below(13) - 6) : 0;
    const int64_t span = r.stride * (kLanes - 1), first = r.alignment * (below(12) - 2);
    r.range = {first + std::min<int64_t>(span, 0), first + step + std::max<int64_t>(span, 0)};
    const MemoryOp m = access(static_cast<uint8_t>(1 << below(4)), static_cast<uint8_t>(1 << below(2)),
                              (below(3) ? 4 : 1) * (below(9) - 4));
    const auto bytes = static_cast<int64_t>(m.bytes());
    const int64_t size = std::max<int64_t>(0, r.range.high + m.offset + bytes + below(3) - 1);
    const std::vector<int64_t> all = allowed(r);
    ASSERT_FALSE(all.empty());
    const bool expected = std::ranges::all_of(all, [&](int64_t at) { return fits(at + m.offset, bytes, size); });
    EXPECT_EQ(in_bounds(of(r, static_cast<uint32_t>(size)), m), expected)
        << "range " << r.range.low << " to " << r.range.high << ", alignment " << r.alignment << ", stride " << r.stride
        << ", offset " << m.offset << ", bytes " << bytes << ", size " << size;
    ++(expected ? yes : no);
  }
  EXPECT_GT(yes, 300);
  EXPECT_GT(no, 300);
}

TEST(SharedAccess, InBoundsAtConstants) {
  for (const uint8_t width : {1, 2, 4, 8})
    for (uint64_t place = 0; place <= 40; ++place)
      for (int64_t offset = -20; offset <= 20; ++offset) {
        MemoryOp m = access(width, 2, offset);
        m.address = Value::imm(place);
        EXPECT_EQ(in_bounds(of({}, 32), m), fits(static_cast<int64_t>(place) + offset, 2 * width, 32))
            << place << " + " << offset << ", elements of " << int{width};
      }
}

TEST(SharedAccess, NothingIsProvenOfUnknownRangesAndOtherSpaces) {
  Register r;
  r.alignment = 16;
  EXPECT_FALSE(in_bounds(of(r, 64), access(4, 1)));
  r.range = {0, 16};
  EXPECT_TRUE(cannot_fault(of(r, 64), access(4, 1)));
  for (const AddressSpace space : {AddressSpace::global, AddressSpace::generic, AddressSpace::local}) {
    MemoryOp m = access(4, 1);
    m.space = space;
    EXPECT_FALSE(cannot_fault(of(r, 64), m));
    EXPECT_FALSE(is_order_free(of(r, 64), m));
  }
}

// One address, or neighbours, of 1 to 16 bytes: as costly anywhere.
TEST(SharedAccess, OrderFree) {
  for (const LaneClass lanes :
       {LaneClass::constant, LaneClass::block_uniform, LaneClass::warp_uniform, LaneClass::affine, LaneClass::general})
    for (const uint8_t width : {1, 2, 4, 8, 16})
      for (const uint8_t count : {1, 2, 3, 4, 8})
        for (const int stride : {-1, 1, 2}) {
          Register r;
          r.lanes = lanes;
          r.stride = lanes == LaneClass::affine ? stride * width * count : 0;
          r.alignment = 1u << 10;
          r.range = {1024 + std::min<int64_t>(0, r.stride * 31), 1024 + std::max<int64_t>(0, r.stride * 31)};
          MemoryOp m = access(width, count);
          const Decoded p = of(r, 1u << 16);
          const bool word = width <= 8 && count != 3 && width * count <= 16;
          const bool even = lanes < LaneClass::affine || (lanes == LaneClass::affine && stride == 1);
          EXPECT_EQ(is_order_free(p, m), word && even)
              << "class " << int(lanes) << ", " << int{count} << " of " << int{width} << ", stride " << r.stride;
          m.is_volatile = true;
          EXPECT_FALSE(is_order_free(p, m));
          m.is_volatile = false;
          m.address = Value::imm(1024);
          EXPECT_EQ(is_order_free(p, m), word);
          m.address = Value::imm(1u << 16);
          EXPECT_FALSE(is_order_free(p, m)) << "behind shared memory";
        }
}

TEST(SharedAccess, SimpleAtomics) {
  for (const AtomicOp op : {AtomicOp::add, AtomicOp::sub, AtomicOp::min, AtomicOp::max, AtomicOp::inc, AtomicOp::dec,
                            AtomicOp::and_, AtomicOp::or_, AtomicOp::xor_, AtomicOp::exch, AtomicOp::cas})
    for (const Number number : {Number::bits, Number::unsigned_, Number::signed_, Number::f16x2, Number::f32})
      for (const Element element : {Element::b32, Element::b64, Element::none}) {
        Register r;
        r.element = element;
        Decoded p = of(r, 64);
        MemoryOp& m = p.memory.emplace_back(access(4, 1));
        m.op = op;
        m.number = number;
        if (element != Element::none) m.values[0] = Value::of(0);
        Instruction i;
        i.kind = Kind::atomic;
        i.memory = 0;
        const bool has = op != AtomicOp::sub && op != AtomicOp::inc && op != AtomicOp::dec && op != AtomicOp::cas;
        const bool integer = number == Number::bits || number == Number::unsigned_ || number == Number::signed_;
        const bool simple = has && integer && element != Element::b64;
        EXPECT_EQ(is_simple_atomic(p, i), simple) << int(op) << ", " << int(number) << ", " << int(element);
        const MemoryOp kept = m;
        m.width = 8;
        EXPECT_FALSE(is_simple_atomic(p, i));
        m = kept;
        m.count = 2;
        EXPECT_FALSE(is_simple_atomic(p, i));
        m = kept;
        m.space = AddressSpace::global;
        EXPECT_FALSE(is_simple_atomic(p, i));
        m = kept;
        m.site = kNone;
        EXPECT_FALSE(is_simple_atomic(p, i));
        m = kept;
        i.kind = Kind::load;
        EXPECT_FALSE(is_simple_atomic(p, i));
      }
}

// A column: a word for each lane, in rows of at least as many words as are transposed at a time.
TEST(SharedAccess, Columns) {
  for (int stride = -68; stride <= 140; ++stride) {
    Register r;
    r.lanes = LaneClass::affine;
    r.stride = stride;
    r.alignment = 1024;
    r.range = {8192 + std::min(0, 31 * stride), 8192 + std::max(0, 31 * stride)};
    Decoded p = of(r, 1u << 16);
    MemoryOp& m = p.memory.emplace_back(access(4, 1));
    m.values[0] = Value::of(0);
    Instruction i;
    i.kind = Kind::load;
    i.memory = 0;
    const bool column = stride % 4 == 0 && stride >= 4 * 16;
    EXPECT_EQ(reads_column(p, i), column) << stride;
    const MemoryOp kept = m;
    i.guard = 0;
    EXPECT_FALSE(reads_column(p, i)) << "some lanes only";
    i.guard = kNone;
    i.kind = Kind::store;
    EXPECT_FALSE(reads_column(p, i));
    i.kind = Kind::load;
    m.is_volatile = true;
    EXPECT_FALSE(reads_column(p, i));
    m = kept;
    m.space = AddressSpace::global;
    EXPECT_FALSE(reads_column(p, i));
    m = kept;
    m.width = 2;
    EXPECT_FALSE(reads_column(p, i));
    m = kept;
    m.count = 2;
    EXPECT_FALSE(reads_column(p, i));
    m = kept;
    m.values[0] = {};
    EXPECT_FALSE(reads_column(p, i)) << "into no register";
    m = kept;
    m.address = Value::imm(0);
    EXPECT_FALSE(reads_column(p, i));
    m = kept;
    p.static_shared_bytes = static_cast<uint32_t>(p.registers[0].range.high + 3);
    EXPECT_FALSE(reads_column(p, i)) << "a byte too far";
    p.registers[0].lanes = LaneClass::general;
    p.static_shared_bytes = 1u << 16;
    EXPECT_FALSE(reads_column(p, i));
  }
}

}  // namespace
}  // namespace coalesce::native::test
