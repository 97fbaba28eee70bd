// Costs in closed form, of lanes at base + lane * stride in shared memory.
#include <algorithm>

#include "machine/observe/banks.h"
#include "machine/observe/traffic.h"

namespace coalesce::machine {

using namespace banks;

namespace {

// Closed form for a run of lanes without gaps. False: there is none for this access.
bool affine_in_closed_form(uint32_t base, uint32_t stride, uint32_t mask, uint32_t width, bool load, SharedCost* cost) {
  if (mask == 0) return *cost = {}, true;
  if (width > 16 || ((base | stride) & (width - 1))) return false;
  const uint32_t n = count(mask);
  const uint32_t asked = (n * width + kPassBytes - 1) / kPassBytes;
  const uint32_t unit = std::max(width, kBankBytes);
  const uint32_t banks = kPassBytes / unit;  // wide banks, as many as lanes judged together
  // Loads wider than a word merge groups by rules of their own unless all lanes are on and differ.
  const bool all_lanes = mask == ~0u;
  const uint32_t low = static_cast<uint32_t>(std::countr_zero(mask));
  if (!all_lanes && (width > kBankBytes || (mask >> low & ((mask >> low) + 1)) != 0)) return false;
  if (stride == 0) {
    if (!all_lanes && width > kBankBytes) return false;
    const uint32_t groups = width <= kBankBytes ? 1 : 32 / banks;
    cost->wavefronts = load && groups > 1 ? groups / 2 : groups;
  } else if (stride % unit == 0) {
    // Wide words a step apart meet their first bank again after banks / gcd(step, banks) = 2^period of them.
    const uint32_t step = stride / unit;
    const uint32_t period =
        log2_of(banks) - std::min<uint32_t>(static_cast<uint32_t>(std::countr_zero(step)), log2_of(banks));
    // Addresses repeat where 32 strides are a multiple of 2^32; the form is for others.
    if ((stride & 0x07ff'ffffu) == 0) return false;
    const uint32_t per_group = width <= kBankBytes ? n : banks;
    cost->wavefronts = (((per_group - 1) >> period) + 1) * (width <= kBankBytes ? 1 : 32 / banks);
  } else {
    return false;
  }
  cost->ideal = std::min(cost->wavefronts, asked);
  return true;
}

template <typename Cost>
SharedCost by_table(uint32_t base, uint32_t stride, uint32_t mask, uint32_t width, Cost cost) {
  alignas(64) uint32_t address[32];
  for (uint32_t i = 0; i < 32; ++i) address[i] = base + i * stride;
  return cost(address, mask, width);
}

}  // namespace

SharedCost shared_load_cost_affine(uint32_t base, uint32_t stride, uint32_t mask, uint32_t width) {
  SharedCost cost;
  if (affine_in_closed_form(base, stride, mask, width, true, &cost)) return cost;
  return by_table(base, stride, mask, width, shared_load_cost);
}
SharedCost shared_store_cost_affine(uint32_t base, uint32_t stride, uint32_t mask, uint32_t width) {
  SharedCost cost;
  if (affine_in_closed_form(base, stride, mask, width, false, &cost)) return cost;
  return by_table(base, stride, mask, width, shared_store_cost);
}

}  // namespace coalesce::machine
