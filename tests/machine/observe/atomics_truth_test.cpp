// Atomics and cp.async of one warp, counted as the H200 counted them (tests/truth/atomics.jsonl, by
// tests/hardware/atomics_probe.cu).
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "machine/api/machine.h"

namespace coalesce::machine {
namespace {

// The code of each kernel; %rd2 and %r2 are the lane's addresses in global and shared memory.
const std::map<std::string, std::string> kCode = {
    {"g_atom_add_u32_unused", "atom.global.add.u32 %r3, [%rd2], 1;"},
    {"g_atom_add_u32_sink", "atom.global.add.u32 _, [%rd2], 1;"},
    {"g_red_add_u32", "red.global.add.u32 [%rd2], 1;"},
    {"g_atom_exch_b32_unused", "atom.global.exch.b32 %r3, [%rd2], 1;"},
    {"g_atom_cas_b32_unused", "atom.global.cas.b32 %r3, [%rd2], 0, 1;"},
    {"g_atom_add_f32_unused", "atom.global.add.f32 %r3, [%rd2], 0f3F800000;"},
    {"g_atom_add_f64_unused", "atom.global.add.f64 %rd3, [%rd2], 0d3FF0000000000000;"},
    {"g_red_add_u64", "red.global.add.u64 [%rd2], 1;"},
    {"g_red_add_f16x2", "red.global.add.noftz.f16x2 [%rd2], 0x3c003c00;"},
    {"g_red_v2_f32", "red.global.add.v2.f32 [%rd2], {%r1, %r1};"},
    {"g_red_v4_f32", "red.global.add.v4.f32 [%rd2], {%r1, %r1, %r1, %r1};"},
    {"g_red_v4_f16x2", "red.global.add.noftz.v4.f16x2 [%rd2], {%r1, %r1, %r1, %r1};"},
    {"g_atom_exch_b128", "mov.b128 %q0, {%rd1, %rd1}; atom.global.exch.b128 %q1, [%rd2], %q0;"},
    {"s_atom_add_u32_unused", "atom.shared.add.u32 %r3, [%r2], 1;"},
    {"s_atom_add_u32_one", "atom.shared.add.u32 _, [%r2], 1;"},
    {"s_atom_exch_b64", "atom.shared.exch.b64 %rd3, [%r2], 1;"},
    {"s_atom_cas_b64", "atom.shared.cas.b64 %rd3, [%r2], 0, 1;"},
    {"s_atom_cas_b32", "atom.shared.cas.b32 %r3, [%r2], 0, 1;"},
    {"c_async_ca_4", "cp.async.ca.shared.global [%r2], [%rd2], 4;"},
    {"c_async_ca_8", "cp.async.ca.shared.global [%r2], [%rd2], 8;"},
    {"c_async_ca_16", "cp.async.ca.shared.global [%r2], [%rd2], 16;"},
    {"c_async_cg_16", "cp.async.cg.shared.global [%r2], [%rd2], 16;"}};

// Operations without an instruction on this chip: ptxas makes loops around cas, whose turns depend on the data.
const std::set<std::string> kLoops = {"g_red_add_f16", "g_atom_cas_b16", "s_red_add_u64",
                                      "s_red_add_f32", "s_atom_cas_b16", "s_atom_min_u64"};
Counters run(const std::string& code, int stride) {
  const std::string text = R"(
.version 8.8
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p)
{
  .shared .align 16 .b8 s[8192];
  .reg .b32 %r<10>;
  .reg .b64 %rd<10>;
  .reg .b128 %q<2>;
  ld.param.u64 %rd1, [p];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd2, %r1, )" +
                           std::to_string(stride) + R"(;
  add.u64 %rd2, %rd1, %rd2;
  mov.u32 %r2, s;
  mad.lo.u32 %r2, %r1, )" + std::to_string(stride) +
                           ", %r2;\n  " + code + "\n  ret;\n}\n";
  Machine machine(*find_device("h200"), {.threads = 1, .progress = {}, .output = {}, .model = Model::ptxas});
  const auto program = machine.load(text, "test");
  const Allocation* memory = machine.memory().allocate(8192, Origin::device, "memory");
  LaunchConfig config{.grid = {1, 1, 1}, .block = {32, 1, 1}, .parameters = std::vector<uint8_t>(8)};
  std::memcpy(config.parameters.data(), &memory->base, 8);
  const LaunchReport report = machine.launch(*program, "k", config);
  EXPECT_EQ(report.fault, Fault::none) << (report.diagnostics.empty() ? "" : report.diagnostics[0].message);
  return report.counters;
}

TEST(AtomicsTruth, CountedAsMeasured) {
  std::ifstream file(std::string(COALESCE_SOURCE_DIR) + "/tests/truth/atomics.jsonl");
  int compared = 0;
  for (std::string text; std::getline(file, text);) {
    const auto m = nlohmann::json::parse(text);
    const std::string kernel = m.at("kernel");
    const int stride = m.at("stride");
    if (kLoops.contains(kernel)) continue;
    SCOPED_TRACE(text);
    ASSERT_TRUE(kCode.contains(kernel));
    const Counters c = run(kCode.at(kernel), stride);
    const auto measured = [&](const char* key) { return m.value(key, uint64_t{0}); };
    if (kernel[0] == 'c') {
      EXPECT_EQ(c.global_load_requests, measured("requests"));
      EXPECT_EQ(c.global_load_sectors, measured("sectors"));
      EXPECT_EQ(c.shared_store_wavefronts, measured("shared_wavefronts"));
    } else {
      EXPECT_EQ(c.global_reduction_requests, measured("requests_red"));
      EXPECT_EQ(c.global_reduction_sectors, measured("sectors_red"));
      EXPECT_EQ(c.global_atomic_requests, measured("requests_atom"));
      EXPECT_EQ(c.global_atomic_sectors, measured("sectors_atom"));
      EXPECT_EQ(c.shared_atomic_wavefronts, measured("shared_wavefronts_atom"));
    }
    ++compared;
  }
  EXPECT_GE(compared, 45);
}

}  // namespace
}  // namespace coalesce::machine
