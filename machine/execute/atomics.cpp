// Atomics: one lane after the other, lowest first. On global memory they are atomic among the host's threads too;
// those whose effect depends on the order of blocks wait for their block's turn (Launch::wait_turn), so that results do
// not depend on the number of threads.
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>

#include "machine/execute/memory_ops.h"
#include "machine/execute/no_handler.h"
#include "machine/isa/mbarrier.h"
#include "machine/observe/traffic.h"

namespace coalesce::machine {

namespace {

// The new value of a word, from the old one and the operands.
template <class T, AtomicOp Op>
T combine(T old, T a, [[maybe_unused]] T b) {
  if constexpr (Op == AtomicOp::add)
    return static_cast<T>(static_cast<std::make_unsigned_t<T>>(old) +
                          static_cast<std::make_unsigned_t<T>>(a));  // wraps
  else if constexpr (Op == AtomicOp::sub)
    return static_cast<T>(static_cast<std::make_unsigned_t<T>>(old) - static_cast<std::make_unsigned_t<T>>(a));
  else if constexpr (Op == AtomicOp::min)
    return a < old ? a : old;
  else if constexpr (Op == AtomicOp::max)
    return a > old ? a : old;
  else if constexpr (Op == AtomicOp::inc)
    return old >= a ? T{0} : static_cast<T>(old + 1);
  else if constexpr (Op == AtomicOp::dec)
    return old == 0 || old > a ? a : static_cast<T>(old - 1);
  else if constexpr (Op == AtomicOp::and_)
    return old & a;
  else if constexpr (Op == AtomicOp::or_)
    return old | a;
  else if constexpr (Op == AtomicOp::xor_)
    return old ^ a;
  else if constexpr (Op == AtomicOp::exch)
    return a;
  else
    return old == a ? b : old;  // cas
}

// Replaces *where by update(*where) in one step; Word is the integer of its width.
template <class Word, class Update>
u128 swap_loop(std::byte* where, Update update) {
  Word* word = reinterpret_cast<Word*>(where);
  Word old = __atomic_load_n(word, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(word, &old, static_cast<Word>(update(old)), true, __ATOMIC_SEQ_CST,
                                      __ATOMIC_RELAXED)) {}
  return old;
}

template <class T, AtomicOp Op>
u128 integer(std::byte* where, u128 a, u128 b) {
  using Word = std::make_unsigned_t<T>;
  return swap_loop<Word>(where, [&](Word old) {
    return static_cast<Word>(combine<T, Op>(static_cast<T>(old), static_cast<T>(a), static_cast<T>(b)));
  });
}

template <class Word, class F, AtomicOp Op>
u128 real(std::byte* where, u128 a, u128) {
  return swap_loop<Word>(where, [&](Word old) {
    const F x = std::bit_cast<F>(old), y = std::bit_cast<F>(static_cast<Word>(a));
    if constexpr (Op == AtomicOp::add) {
      const F r = x + y;
      if constexpr (sizeof(F) == 4) return r != r ? Word{0x7fffffff} : std::bit_cast<Word>(r);
      return std::bit_cast<Word>(r);
    }
    if constexpr (Op == AtomicOp::min) return std::bit_cast<Word>(std::fmin(x, y));
    if constexpr (Op == AtomicOp::max) return std::bit_cast<Word>(std::fmax(x, y));
  });
}

// Sums of single precision in global memory flush subnormal operands and results to zero, in shared memory they do not
// (PTX ISA, atom; measured: docs/results/agreement.md).
float flushed(float a) { return std::fabs(a) < 0x1p-126f ? std::copysign(0.0f, a) : a; }
u128 global_sum(std::byte* where, u128 a, u128) {
  return swap_loop<uint32_t>(where, [&](uint32_t old) {
    const float r =
        flushed(flushed(std::bit_cast<float>(old)) + flushed(std::bit_cast<float>(static_cast<uint32_t>(a))));
    return r != r ? 0x7fffffffu : std::bit_cast<uint32_t>(r);
  });
}

// 16-bit floats in a word of 16 or (two of them) 32 bits, by the rows of the arithmetic.
template <class Word>
u128 halves(const PureOp* row, std::byte* where, u128 a) {
  return swap_loop<Word>(where, [&](Word old) {
    alignas(64) std::byte slots[64];
    Context c{};
    c.base[0] = slots;
    Step s;
    s.extra = row->extra;
    s.dst[0] = 0;
    s.src[0] = 16;
    s.src[1] = 32;
    const Word operand = static_cast<Word>(a);
    std::memcpy(slots + 16, &old, sizeof old);
    std::memcpy(slots + 32, &operand, sizeof operand);
    row->scalar(s, c);
    Word r;
    std::memcpy(&r, slots, sizeof r);
    return r;
  });
}
template <Number N, AtomicOp Op>
u128 half(std::byte* where, u128 a, u128) {
  constexpr std::string_view op = Op == AtomicOp::add ? "add" : Op == AtomicOp::min ? "min" : "max";
  constexpr std::string_view type = N == Number::f16     ? ".f16"
                                    : N == Number::f16x2 ? ".f16x2"
                                    : N == Number::bf16  ? ".bf16"
                                                         : ".bf16x2";
  static const PureOp* const row = find_pure(std::string(op) + std::string(type));
  if constexpr (N == Number::f16 || N == Number::bf16)
    return halves<uint16_t>(row, where, a);
  else
    return halves<uint32_t>(row, where, a);
}

template <AtomicOp Op>
u128 wide(std::byte* where, u128 a, u128 b) {  // 128 bits; callers hold no lock: blocks take turns for these
  u128 old;
  std::memcpy(&old, where, sizeof old);
  const u128 now = Op == AtomicOp::exch || old == a ? (Op == AtomicOp::exch ? a : b) : old;
  std::memcpy(where, &now, sizeof now);
  return old;
}

template <class U, class S, AtomicOp Op>
AtomicLane by_sign(Number n) {
  return n == Number::signed_ ? integer<S, Op> : integer<U, Op>;
}

template <AtomicOp Op>
AtomicLane pick_real(const MemoryOp& m) {
  if constexpr (Op == AtomicOp::add || Op == AtomicOp::min || Op == AtomicOp::max) switch (m.number) {
      case Number::f16:
        return half<Number::f16, Op>;
      case Number::f16x2:
        return half<Number::f16x2, Op>;
      case Number::bf16:
        return half<Number::bf16, Op>;
      case Number::bf16x2:
        return half<Number::bf16x2, Op>;
      case Number::f32:
        return real<uint32_t, float, Op>;
      case Number::f64:
        return real<uint64_t, double, Op>;
      default:
        break;
    }
  no_handler("an atomic on numbers of the kind", m.number);
}

template <AtomicOp Op>
AtomicLane pick(const MemoryOp& m) {
  if (m.number > Number::signed_) return pick_real<Op>(m);
  switch (m.width) {
    case 2:
      return by_sign<uint16_t, int16_t, Op>(m.number);
    case 4:
      return by_sign<uint32_t, int32_t, Op>(m.number);
    case 8:
      return by_sign<uint64_t, int64_t, Op>(m.number);
    case 16:
      if constexpr (Op == AtomicOp::cas || Op == AtomicOp::exch) return wide<Op>;
      break;
    default:
      break;
  }
  no_handler("an atomic of the width", m.width);
}

template <class R>
void run_lanes(const Access& a, AtomicLane atomic, Warp& w, const uint64_t* host, uint32_t mask) {
  const R* x = w.at<R>(a.values[0]);
  const R* y = a.op->op == AtomicOp::cas ? w.at<R>(a.values[1]) : x;
  R* old = a.result == kNoSlot ? nullptr : w.at<R>(a.result);
  for (uint32_t m = mask; m; m &= m - 1) {
    const uint32_t l = lowest(m);
    const u128 before = atomic(reinterpret_cast<std::byte*>(host[l]), x[l], y[l]);
    if (old) old[l] = static_cast<R>(before);
  }
}

void lanes(const Access& a, AtomicLane atomic, Warp& w, const uint64_t* host, uint32_t mask) {
  switch (a.op->width) {
    case 2:
      return run_lanes<uint16_t>(a, atomic, w, host, mask);
    case 4:
      return run_lanes<uint32_t>(a, atomic, w, host, mask);
    case 8:
      return run_lanes<uint64_t>(a, atomic, w, host, mask);
    default:
      return run_lanes<u128>(a, atomic, w, host, mask);
  }
}

void on_global(const Access& a, Warp& w, const uint64_t* address, uint32_t mask, uint32_t site) {
  alignas(64) uint64_t host[kLanes];
  global_atomic_where(a, w, address, mask, site, host);
  if (a.op->ordered) w.worker->launch.wait_turn(block_index(w));
  const bool sum = a.op->op == AtomicOp::add && a.op->number == Number::f32;
  lanes(a, sum ? global_sum : a.atomic, w, host, mask);
}

void on_shared(const Access& a, Warp& w, const uint32_t* address, uint32_t mask, uint32_t site) {
  alignas(64) uint64_t host[kLanes];
  shared_atomic_where(a, w, address, mask, site, host);
  lanes(a, a.atomic, w, host, mask);
}

// A thread's own memory at generic addresses. Whole numbers and bits only: an H100 does not add halves there as halves,
// and leaves 128 bits as they are.
bool works_on_local(const MemoryOp& m) { return m.width != 16 && m.number <= Number::signed_; }
void on_local(const Access& a, Warp& w, const uint64_t* address, uint32_t mask) {
  alignas(64) uint64_t host[kLanes];
  local_atomic_where(a, w, address, mask, host);
  lanes(a, a.atomic, w, host, mask);
}

void widen_table(const Access& a, const Warp& w, uint64_t* table) {
  if (a.address_is_64)
    std::memcpy(table, w.at<uint64_t>(a.address), sizeof(uint64_t) * kLanes);
  else
    for (uint32_t l = 0; l < kLanes; ++l) table[l] = w.at<uint32_t>(a.address)[l];
}

void narrow_table(const uint64_t* from, uint32_t* to) {
  for (uint32_t l = 0; l < kLanes; ++l) to[l] = static_cast<uint32_t>(from[l]);
}

void atomic_access(const Step& s, Context& context) {
  const Access& a = *static_cast<const Access*>(s.extra);
  Warp& w = static_cast<Warp&>(context);
  alignas(64) uint64_t table[kLanes];
  alignas(64) uint32_t narrow[kLanes];
  widen_table(a, w, table);
  const auto request = [&](uint32_t site) {
    if (site == kNone) return;  // a further element of a vector: its first one counts
    if (w.worker->launch.program->sites[site].dynamic_requests) w.worker->tally.sites[site].requests += 1;
  };
  if (a.op->space == AddressSpace::global) {
    request(a.site);
    return on_global(a, w, table, w.active, a.site);
  }
  if (a.op->space == AddressSpace::shared) {
    request(a.site);
    narrow_table(table, narrow);
    return on_shared(a, w, narrow, w.active, a.site);
  }
  const SpaceMasks masks = space_masks(table, static_cast<uint64_t>(a.offset), w.active);
  const uint32_t nowhere = masks.param | (works_on_local(*a.op) ? 0 : masks.local);
  if (nowhere) fault_no_space(a, w, table[lowest(nowhere)], lowest(nowhere));
  if (masks.local) on_local(a, w, table, masks.local);
  if (masks.global) {
    request(a.site);
    on_global(a, w, table, masks.global, a.site);
  }
  if (masks.shared) {
    const uint32_t shared_site = a.site == kNone ? kNone : a.site + 1;
    request(shared_site);
    narrow_table(table, narrow);
    on_shared(a, w, narrow, masks.shared, shared_site);
  }
}

}  // namespace

AtomicLane atomic_lane(const MemoryOp& m) {
  switch (m.op) {
    case AtomicOp::add:
      return pick<AtomicOp::add>(m);
    case AtomicOp::sub:
      return pick<AtomicOp::sub>(m);
    case AtomicOp::min:
      return pick<AtomicOp::min>(m);
    case AtomicOp::max:
      return pick<AtomicOp::max>(m);
    case AtomicOp::inc:
      return pick<AtomicOp::inc>(m);
    case AtomicOp::dec:
      return pick<AtomicOp::dec>(m);
    case AtomicOp::and_:
      return pick<AtomicOp::and_>(m);
    case AtomicOp::or_:
      return pick<AtomicOp::or_>(m);
    case AtomicOp::xor_:
      return pick<AtomicOp::xor_>(m);
    case AtomicOp::exch:
      return pick<AtomicOp::exch>(m);
    case AtomicOp::mbarrier:
      return [](std::byte* where, u128 change, u128) {
        return swap_loop<uint64_t>(where,
                                   [&](uint64_t old) { return mbarrier_after(old, static_cast<uint64_t>(change)); });
      };
    case AtomicOp::cas:
      return pick<AtomicOp::cas>(m);
  }
  no_handler("the atomic", m.op);
}

Handler atomic_handler(const MemoryOp&) { return atomic_access; }

}  // namespace coalesce::machine
