#include <cstring>

#include "machine/observe/traffic.h"
#include "native/run/runner.h"

namespace coalesce::native {

using namespace machine;

uint64_t Runner::affine_cost(Frame*, uint32_t base, uint32_t stride, uint32_t mask, uint32_t how) {
  const SharedCost c = how & 256 ? shared_store_cost_affine(base, stride, mask, how & 255)
                                 : shared_load_cost_affine(base, stride, mask, how & 255);
  return c.wavefronts | uint64_t{c.ideal} << 32;
}

// `wavefronts` as the tally has them: of accesses up to 4 bytes only what exceeds one.
void Runner::find_cost(Frame*, CostMemo* memo, uint32_t mask, uint32_t how) {
  const uint32_t bytes = how & 255;
  const uint32_t* address = memo->address;
  // index * 2 * stride: lanes a step apart, known only at run time.
  const uint32_t first = lowest(mask), step = address[(first + 1) & 31] - address[first];
  const bool store = how & 256;
  const bool regular = affine(address, mask, step);
  // As in find_cost_of_words(): lanes a step apart meet where 31 steps may come to 2^32.
  memo->meet = !regular || (step & 0x07ff'ffff) == 0;
  SharedCost c;
  if (regular)
    c = store ? shared_store_cost_affine(address[first] - first * step, step, mask, bytes)
              : shared_load_cost_affine(address[first] - first * step, step, mask, bytes);
  else
    c = store ? shared_store_cost(address, mask, bytes) : shared_load_cost(address, mask, bytes);
  memo->wavefronts = bytes > 4 ? c.wavefronts : c.wavefronts - 1;
  memo->ideal = bytes > 4 ? c.ideal : 0;
}

namespace {

// Lane after lane. `old`: whether the words as they were are asked for.
template <class T, class Update>
void update_lanes(std::byte* shared, uint32_t* scratch, uint32_t mask, bool old, Update update) {
  const uint32_t *address = scratch, *operand = scratch + 128;
  const auto one = [&](uint32_t l) {
    T value;
    std::memcpy(&value, shared + address[l], 4);
    if (old) scratch[256 + l] = static_cast<uint32_t>(value);
    value = update(value, static_cast<T>(operand[l]));
    std::memcpy(shared + address[l], &value, 4);
  };
  if (mask != ~0u) {
    for (uint32_t left = mask; left; left &= left - 1) one(lowest(left));
  } else if (old) {
    for (uint32_t l = 0; l < kLanes; ++l) one(l);
  } else {
    for (uint32_t l = 0; l < kLanes; l += 8)
      one(l), one(l + 1), one(l + 2), one(l + 3), one(l + 4), one(l + 5), one(l + 6), one(l + 7);
  }
}

}  // namespace

void Runner::count_atomics(Frame* f) {
  PendingAtomics& u = *f->pending_atomics;
  if (u.n == 0) return;
  SiteTally* sites = of(f).worker_.tally.sites;
  uint32_t wavefronts[PendingAtomics::kMost];
  shared_atomic_wavefronts(u.word, wavefronts);  // also behind the last one, unused
  for (uint64_t k = 0; k < u.n; ++k) sites[u.site[k]].wavefronts += wavefronts[k] - 1;
  u.n = 0;
}

void Runner::shared_atomic(Frame* f, uint32_t memory, uint32_t mask) {
  Runner& r = of(f);
  const MemoryOp& m = r.program_.memory[memory];
  uint32_t* address = reinterpret_cast<uint32_t*>(f->scratch);
  SiteTally& t = r.worker_.tally.sites[m.site];
  if (r.program_.sites[m.site].dynamic_requests) t.requests += 1;
  t.wavefronts +=
      (m.counts_lanes ? shared_store_cost(address, mask, 4) : shared_atomic_cost(address, mask, 4)).wavefronts - 1;
  const auto update = [&](auto zero, auto how) {
    update_lanes<decltype(zero)>(f->shared, address, mask, m.result != kNone, how);
  };
  const bool is_signed = m.number == Number::signed_;
  switch (m.op) {
    case AtomicOp::add:
      update(0u, [](uint32_t a, uint32_t b) { return a + b; });
      break;
    case AtomicOp::min:
      is_signed ? update(0, [](int32_t a, int32_t b) { return std::min(a, b); })
                : update(0u, [](uint32_t a, uint32_t b) { return std::min(a, b); });
      break;
    case AtomicOp::max:
      is_signed ? update(0, [](int32_t a, int32_t b) { return std::max(a, b); })
                : update(0u, [](uint32_t a, uint32_t b) { return std::max(a, b); });
      break;
    case AtomicOp::and_:
      update(0u, [](uint32_t a, uint32_t b) { return a & b; });
      break;
    case AtomicOp::or_:
      update(0u, [](uint32_t a, uint32_t b) { return a | b; });
      break;
    case AtomicOp::xor_:
      update(0u, [](uint32_t a, uint32_t b) { return a ^ b; });
      break;
    default:  // exch
      update(0u, [](uint32_t, uint32_t b) { return b; });
      break;
  }
}

}  // namespace coalesce::native
