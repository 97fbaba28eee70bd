#include "record/estimate.h"

#include "record/json.h"

namespace coalesce::record {

namespace {

// With five digits behind the point, whatever the program's locale.
void put_number(std::string& out, std::string_view key, double value) {
  put_key(out, key);
  constexpr uint64_t kScale = 100'000;
  const auto n = static_cast<uint64_t>(value > 0 && value < 1e12 ? value * kScale + 0.5 : 0);
  put(out, n / kScale);
  std::string digits = std::to_string(kScale + n % kScale);
  digits[0] = '.';
  out += digits;
}

}  // namespace

void put_estimate(std::string& out, const machine::TimeEstimate& e) {
  out += '{';
  if (!e.none.empty()) {
    put_member(out, "none", e.none);
    out += '}';
    return;
  }
  put_number(out, "us", e.us);
  put_number(out, "low_us", e.low_us);
  put_number(out, "high_us", e.high_us);
  put_member(out, "bound_by", machine::name_of(machine::kBounds, e.bound_by));
  put_number(out, "share", e.share);
  put_key(out, "parts_us");
  out += '{';
  for (const auto& [name, bound] : machine::kBounds) put_number(out, name, e.part_us[static_cast<std::size_t>(bound)]);
  out += '}';
  put_key(out, "waits");
  out += '{';
  for (const auto& [name, what] : machine::kWaits) put_number(out, name, e.waits[static_cast<std::size_t>(what)]);
  out += '}';
  put_number(out, "roofline_us", e.roofline_us);
  put_member(out, "registers", e.registers);
  put_member(out, "registers_from", e.registers_known ? "ptxas" : "liveness");
  put_member(out, "resident_blocks", e.resident_blocks);
  put_number(out, "occupancy", e.occupancy);
  put_member(out, "l1_hit_sectors", e.l1_hit_sectors);
  put_member(out, "l2_hit_sectors", e.l2_hit_sectors);
  put_member(out, "dram_read_bytes", e.dram_read_bytes);
  put_member(out, "dram_write_bytes", e.dram_write_bytes);
  out += '}';
}

}  // namespace coalesce::record
