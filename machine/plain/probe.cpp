#include "machine/plain/probe.h"

#include <algorithm>
#include <map>
#include <sstream>

namespace coalesce::machine::plain {

namespace {

// `%coalesce_p` holds in the one thread.
std::string prologue(const std::array<uint32_t, 3>& block, const std::array<uint32_t, 3>& thread, uint64_t buffer) {
  std::string s =
      ".reg .pred %coalesce_p, %coalesce_q;\n.reg .b32 %coalesce_r;\n.reg .b64 %coalesce_a;\n"
      "mov.u64 %coalesce_a, " +
      std::to_string(buffer) + ";\nsetp.eq.u64 %coalesce_p, %coalesce_a, %coalesce_a;\n";
  for (std::size_t k = 0; k < 3; ++k) {
    const char axis = "xyz"[k];
    for (const auto& [name, value] : {std::pair{"ctaid", block[k]}, std::pair{"tid", thread[k]}})
      s += std::string("mov.u32 %coalesce_r, %") + name + "." + axis + ";\nsetp.eq.and.u32 %coalesce_p, %coalesce_r, " +
           std::to_string(value) + ", %coalesce_p;\n";
  }
  return s;
}

// The store's type; empty: no store takes such a register whole.
std::string stored_as(ptx::Type type) {
  if (type == ptx::Type::f32 || type == ptx::Type::f64) return std::string(ptx::name_of(type));
  const unsigned bytes = size_of(type);
  return bytes == 2 || bytes == 4 || bytes == 8 ? "b" + std::to_string(8 * bytes) : "";
}

std::string store(const ptx::Function& kernel, const Probe& p, uint64_t at) {
  const ptx::Register& r = kernel.registers[p.reg];
  const auto guard = static_cast<uint32_t>(p.instruction->guard);
  std::string lead = "@%coalesce_p ", before;
  if (p.instruction->guard >= 0) {
    if (guard == p.reg) return {};  // what it was is gone
    const std::string& name = kernel.registers[guard].name;
    before = p.instruction->guard_negated
                 ? "not.pred %coalesce_q, " + name + ";\nand.pred %coalesce_q, %coalesce_q, %coalesce_p;\n"
                 : "and.pred %coalesce_q, " + name + ", %coalesce_p;\n";
    lead = "@%coalesce_q ";
  }
  const std::string place = "[%coalesce_a+" + std::to_string(at) + "], ";
  if (r.type == ptx::Type::pred)
    return before + "selp.u32 %coalesce_r, 1, 0, " + r.name + ";\n" + lead + "st.global.b32 " + place +
           "%coalesce_r;\n";
  const std::string type = stored_as(r.type);
  return type.empty() ? "" : before + lead + "st.global." + type + " " + place + r.name + ";\n";
}

bool alone(std::string_view line) {
  const std::size_t end = line.find_last_not_of(" \t\r");
  return end != std::string_view::npos && line[end] == ';' && std::count(line.begin(), line.end(), ';') == 1;
}

}  // namespace

std::string with_probes(const std::string& text, const ptx::Function& kernel, const std::vector<Probe>& probes,
                        const std::array<uint32_t, 3>& block, const std::array<uint32_t, 3>& thread, uint64_t buffer) {
  if (kernel.body.empty()) return {};
  std::multimap<uint32_t, std::size_t> by_line;
  for (std::size_t k = 0; k < probes.size(); ++k) by_line.emplace(probes[k].instruction->line, k);
  const uint32_t first = kernel.body.front().line;
  std::istringstream in(text);
  std::string result, line;
  for (uint32_t number = 1; std::getline(in, line); ++number) {
    if (number == first) result += prologue(block, thread, buffer);
    result += line + "\n";
    if (!alone(line)) continue;
    const auto [from, to] = by_line.equal_range(number);
    for (auto it = from; it != to; ++it) result += store(kernel, probes[it->second], kProbeBytes * it->second);
  }
  return result;
}

}  // namespace coalesce::machine::plain
