#include "machine/time/limits.h"

namespace coalesce::machine {

namespace {

#define COALESCE_ROW(name, unit, meaning) {#name, unit, meaning, &Limits::name},
constexpr LimitRow kRows[] = {COALESCE_LIMITS(COALESCE_ROW)};
#undef COALESCE_ROW

constexpr const Limits* kAll[] = {&kLimitsH200, &kLimitsH100,  &kLimitsA100,   &kLimitsV100,
                                  &kLimitsP100, &kLimitsP2000, &kLimitsRtx4090};

}  // namespace

std::span<const LimitRow> limit_rows() { return kRows; }
std::span<const Limits* const> known_limits() { return kAll; }

const Limits* find_limits(std::string_view device) {
  for (const Limits* l : kAll)
    if (l->device == device) return l;
  return nullptr;
}

bool measured(const Limits& limits) { return limits.lat_dram.source.starts_with("measured"); }

}  // namespace coalesce::machine
