// Counters of one load or store that runs again and again: by other lanes, at the same places or at others. Each time
// sectors and lines are those that its lanes' words lie in, however the time before was.
#include <random>
#include <set>

#include "harness.h"

namespace coalesce::machine::test {
namespace counts {
namespace {

constexpr uint32_t kPasses = 80, kWords = 4096;

struct Pass {
  uint32_t mask;
  std::array<uint32_t, 32> places;  // in elements
};

// Lanes side by side, apart, at one place and anywhere; often those of the pass before, with other lanes or a little
// on.
std::vector<Pass> passes(uint32_t seed) {
  std::mt19937 random(seed);
  const auto below = [&](uint32_t n) { return static_cast<uint32_t>(random() % n); };
  std::vector<Pass> all;
  for (uint32_t k = 0; k < kPasses; ++k) {
    Pass p = all.empty() ? Pass{} : all.back();
    const uint32_t masks[] = {~0u, ~0u,        p.mask, 0xffffu, 1u << below(32), static_cast<uint32_t>(random()),
                              0,   0x7ffffffeu};
    p.mask = masks[below(8)];
    const uint32_t at = below(kWords / 2), stride = 1u << below(6), move = below(2);
    switch (below(6)) {
      case 0:
      case 1:
        break;
      case 2:
        for (uint32_t& place : p.places) place = std::min(place + move, kWords - 1);
        break;
      case 3:
        for (uint32_t l = 0; l < 32; ++l) p.places[l] = at + l * stride;
        break;
      case 4:
        p.places.fill(at);
        break;
      default:
        for (uint32_t& place : p.places) place = below(kWords);
    }
    all.push_back(p);
  }
  return all;
}

uint64_t pieces(const Pass& p, uint32_t bytes, uint32_t of) {
  std::set<uint32_t> found;
  for (uint32_t l = 0; l < 32; ++l)
    if (p.mask >> l & 1) found.insert(p.places[l] * bytes / of);
  return found.size();
}

TEST(Counts, AreThoseOfEachTimeAnAccessRuns) {
  constexpr std::pair<const char*, uint32_t> kKinds[] = {{"u8", 1}, {"u16", 2}, {"u32", 4}};
  for (const bool load : {true, false})
    for (const auto& [kind, bytes] : kKinds) {
      SCOPED_TRACE(std::string(load ? "ld." : "st.") + kind);
      const std::vector<Pass> all = passes(bytes);
      std::vector<uint32_t> masks, places;
      uint64_t requests = 0, sectors = 0, lines = 0;
      for (const Pass& p : all) {
        masks.push_back(p.mask);
        places.insert(places.end(), p.places.begin(), p.places.end());
        requests += p.mask != 0;
        sectors += pieces(p, bytes, 32);
        lines += pieces(p, bytes, 128);
      }
      const std::string access = std::string("@%p1 ") + (load ? "ld.global." : "st.global.") + kind +
                                 (load ? " %r9, [%rd9];" : " [%rd9], %r1;");
      const std::string text = kernel(
          ".param .u64 data, .param .u64 masks, .param .u64 places",
          "ld.param.u64 %rd1, [data];\nld.param.u64 %rd2, [masks];\nld.param.u64 %rd3, [places];\n"
          "mov.u32 %r1, %tid.x;\nmov.u32 %r2, 1;\nshl.b32 %r2, %r2, %r1;\nmad.wide.u32 %rd3, %r1, 4, %rd3;\n"
          "mov.u32 %r3, 0;\nLOOP:\nld.global.u32 %r4, [%rd2];\nand.b32 %r4, %r4, %r2;\nsetp.ne.u32 %p1, %r4, 0;\n"
          "ld.global.u32 %r5, [%rd3];\nmad.wide.u32 %rd9, %r5, " +
              std::to_string(bytes) + ", %rd1;\n" + access +
              "\nadd.u64 %rd2, %rd2, 4;\nadd.u64 %rd3, %rd3, 128;\nadd.u32 %r3, %r3, 1;\n"
              "setp.lt.u32 %p2, %r3, " +
              std::to_string(kPasses) + ";\n@%p2 bra LOOP;\n");
      const auto line = static_cast<uint32_t>(
          1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(text.find(access)), '\n'));
      const Ran r = run(text, {zeros<uint8_t>(std::size_t{kWords} * bytes), buffer(masks), buffer(places)});
      ASSERT_EQ(r.report.fault, Fault::none) << r.message();
      bool found = false;
      for (const LineCounters& l : r.report.lines) {
        if (l.ptx_line != line) continue;
        found = true;
        const Counters& c = l.counters;
        EXPECT_EQ(load ? c.global_load_requests : c.global_store_requests, requests);
        EXPECT_EQ(load ? c.global_load_sectors : c.global_store_sectors, sectors);
        EXPECT_EQ(load ? c.global_load_lines : c.global_store_lines, lines);
      }
      EXPECT_TRUE(found);
    }
}

}  // namespace
}  // namespace counts
}  // namespace coalesce::machine::test
