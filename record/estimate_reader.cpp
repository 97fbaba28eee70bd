#include <stdexcept>

#include "record/record.h"

namespace coalesce::record {

machine::TimeEstimate estimate_of(const nlohmann::ordered_json& value) {
  machine::TimeEstimate e;
  if (value.contains("none")) {
    e.none = value["none"].get<std::string>();
    return e;
  }
  e.us = value.at("us").get<double>();
  e.low_us = value.at("low_us").get<double>();
  e.high_us = value.at("high_us").get<double>();
  if (!machine::find_named(machine::kBounds, value.at("bound_by").get<std::string>(), e.bound_by))
    throw std::runtime_error("a bound that has no name");
  e.share = value.at("share").get<double>();
  for (const auto& [name, bound] : machine::kBounds)
    e.part_us[static_cast<std::size_t>(bound)] = value.at("parts_us").at(name).get<double>();
  if (value.contains("waits"))  // records of version 0.1 have none
    for (const auto& [name, what] : machine::kWaits)
      e.waits[static_cast<std::size_t>(what)] = value["waits"].at(name).get<double>();
  e.roofline_us = value.at("roofline_us").get<double>();
  e.registers = value.at("registers").get<uint32_t>();
  e.registers_known = value.at("registers_from") == "ptxas";
  e.resident_blocks = value.at("resident_blocks").get<uint32_t>();
  e.occupancy = value.at("occupancy").get<double>();
  e.l1_hit_sectors = value.at("l1_hit_sectors").get<uint64_t>();
  e.l2_hit_sectors = value.at("l2_hit_sectors").get<uint64_t>();
  e.dram_read_bytes = value.at("dram_read_bytes").get<uint64_t>();
  e.dram_write_bytes = value.at("dram_write_bytes").get<uint64_t>();
  return e;
}

}  // namespace coalesce::record
