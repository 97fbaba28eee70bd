// Which lane's value stays where lanes of a warp store to one place: as an NVIDIA H200 has it
// (tests/truth/stores.jsonl), in every space, by every form of store, with lanes off by a guard and by a branch.
#include <fstream>
#include <nlohmann/json.hpp>

#include "harness.h"

namespace coalesce::machine::test {

namespace {

struct StoreForm {
  const char* suffix;
  const char* value;
  uint32_t bytes;
};
constexpr StoreForm kStoreForms[] = {{"u8", "%h1", 1},
                                     {"u16", "%h1", 2},
                                     {"u32", "%r9", 4},
                                     {"u64", "%rd9", 8},
                                     {"b128", "%q1", 16},
                                     {"v2.u8", "{%h1, %h1}", 2},
                                     {"v4.u8", "{%h1, %h1, %h1, %h1}", 4},
                                     {"v2.u16", "{%h1, %h1}", 4},
                                     {"v4.u16", "{%h1, %h1, %h1, %h1}", 8},
                                     {"v2.u32", "{%r9, %r9}", 8},
                                     {"v4.u32", "{%r9, %r9, %r9, %r9}", 16},
                                     {"v2.u64", "{%rd9, %rd9}", 16}};

struct StorePattern {
  std::string name;
  uint32_t mask = 0;
  std::vector<uint32_t> places;
  std::map<std::string, std::map<uint32_t, uint32_t>> survivors;  // by bytes: place -> lane
};

const std::vector<StorePattern>& store_patterns() {
  static const std::vector<StorePattern> all = [] {
    std::vector<StorePattern> list;
    std::ifstream file(std::string(COALESCE_SOURCE_DIR) + "/tests/truth/stores.jsonl");
    for (std::string line; std::getline(file, line);) {
      const nlohmann::json j = nlohmann::json::parse(line);
      if (!j.contains("pattern")) continue;
      StorePattern p{
          j["pattern"], static_cast<uint32_t>(std::stoul(std::string(j["mask"]), nullptr, 16)), j["places"], {}};
      for (const auto& [bytes, by_place] : j["survivors"].items())
        for (auto& survivors = p.survivors[bytes]; const auto& [place, lane] : by_place.items())
          survivors[static_cast<uint32_t>(std::stoul(place))] = lane;
      list.push_back(std::move(p));
    }
    return list;
  }();
  return all;
}

constexpr uint32_t kSlots = 64, kMostBytes = 16, kRegion = kSlots * kMostBytes;

// A block for each pattern; it stores lane + 1 in every byte. Shared memory is copied out whole.
std::string storing(const StoreForm& f, const std::string& space, bool branch) {
  const bool shared = space.find("shared") != space.npos, generic = space.starts_with("generic");
  const std::string st = (generic ? "st." : shared ? "st.shared." : "st.global.") + std::string(f.suffix);
  const std::string store = st + (shared && !generic ? " [%r20], " : " [%rd7], ") + f.value + ";\n";
  std::string t =
      ".shared .align 16 .b8 S[" + std::to_string(kRegion) +
      "];\n.reg .b128 %q<2>;\nld.param.u64 %rd1, [places];\nld.param.u64 %rd2, [masks];\nld.param.u64 %rd3, [out];\n"
      "mov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\nmad.lo.u32 %r3, %r2, 32, %r1;\nmad.wide.u32 %rd4, %r3, 4, %rd1;\n"
      "ld.global.u32 %r4, [%rd4];\nmad.wide.u32 %rd5, %r2, 4, %rd2;\nld.global.u32 %r5, [%rd5];\nshr.u32 %r6, %r5, "
      "%r1;\nand.b32 %r6, %r6, 1;\nsetp.ne.u32 %p1, %r6, 0;\nadd.u32 %r7, %r1, 1;\nmul.lo.u32 %r9, %r7, 0x1010101;\n"
      "cvt.u16.u32 %h1, %r9;\nmov.b64 %rd9, {%r9, %r9};\nmov.b128 %q1, {%rd9, %rd9};\nmad.wide.u32 %rd6, %r2, " +
      std::to_string(kRegion) + ", %rd3;\nmul.lo.u32 %r19, %r4, " + std::to_string(f.bytes) +
      ";\nmov.u32 %r18, S;\nadd.u32 %r20, %r18, %r19;\nmad.lo.u32 %r21, %r1, 32, %r18;\nmad.wide.u32 %rd8, %r1, 32, "
      "%rd6;\ncvt.u64.u32 %rd10, %r19;\n";
  if (shared) t += "mov.u32 %r22, 0;\n";
  for (int k = 0; shared && k < 8; ++k) t += "st.shared.u32 [%r21+" + std::to_string(4 * k) + "], %r22;\n";
  t += "bar.sync 0;\n";
  t += shared ? "cvta.shared.u64 %rd7, %rd10;\nmov.u64 %rd11, S;\nadd.s64 %rd7, %rd7, %rd11;\n"
              : "add.s64 %rd7, %rd6, %rd10;\n";
  t += branch ? "@!%p1 bra OFF;\n" + store + "OFF:\nbar.sync 0;\n" : "@%p1 " + store + "bar.sync 0;\n";
  for (int k = 0; shared && k < 8; ++k)
    t += "ld.shared.u32 %r23, [%r21+" + std::to_string(4 * k) + "];\nst.global.u32 [%rd8+" + std::to_string(4 * k) +
         "], %r23;\n";
  return kernel(".param .u64 places, .param .u64 masks, .param .u64 out", t);
}

class Stores : public testing::TestWithParam<const char*> {};

TEST_P(Stores, LeaveTheValueThatACardLeaves) {
  ASSERT_GE(store_patterns().size(), 50u);
  std::vector<uint32_t> places, masks;
  for (const StorePattern& p : store_patterns()) {
    places.insert(places.end(), p.places.begin(), p.places.end());
    masks.push_back(p.mask);
  }
  Shape shape;
  shape.grid = {static_cast<uint32_t>(masks.size()), 1, 1};
  Bench interpreted(1), compiled(1, Shape{}.max_instructions, quick_native_code());
  for (const StoreForm& f : kStoreForms)
    for (const bool branch : {false, true}) {
      SCOPED_TRACE(std::string(f.suffix) + (branch ? ", branch" : ", guard"));
      const std::string ptx = storing(f, GetParam(), branch);
      const std::vector<Argument> arguments{buffer(places), buffer(masks), zeros<uint8_t>(masks.size() * kRegion)};
      const Ran r = interpreted.run(ptx, arguments, shape, "k");
      ASSERT_EQ(r.report.fault, Fault::none) << r.message();
      for (std::size_t n = 0; n < masks.size(); ++n) {
        const StorePattern& p = store_patterns()[n];
        SCOPED_TRACE(p.name);
        std::vector<uint8_t> expected(kRegion);
        for (uint32_t l = 0; l < kLanes; ++l)
          if (p.mask >> l & 1) std::fill_n(&expected[p.places[l] * f.bytes], f.bytes, static_cast<uint8_t>(l + 1));
        for (const auto& [place, lane] : p.survivors.at(std::to_string(std::max(4u, f.bytes))))
          std::fill_n(&expected[place * f.bytes], f.bytes, static_cast<uint8_t>(lane + 1));
        const std::vector<uint8_t> got(&r.buffers[2][n * kRegion], &r.buffers[2][n * kRegion] + kRegion);
        ASSERT_EQ(got, expected);
      }
      if (quick_native_code()) EXPECT_EQ(difference(r, compiled.run(ptx, arguments, shape, "k")), "");
    }
}

INSTANTIATE_TEST_SUITE_P(Spaces, Stores, testing::Values("global", "shared", "generic global", "generic shared"),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::replace(name.begin(), name.end(), ' ', '_');
                           return name;
                         });

// cp.async to one place: through L1 the highest lane's copy stays, past L1 it is as with stores (measured with those,
// 1,181 places of each form).
std::string copying(const std::string& form, uint32_t bytes, uint32_t mask) {
  std::string t =
      ".shared .align 16 .b8 S[1024];\nld.param.u64 %rd1, [places];\nld.param.u64 %rd2, [from];\nld.param.u64 %rd3, "
      "[out];\nmov.u32 %r1, %tid.x;\nmad.wide.u32 %rd4, %r1, 4, %rd1;\nld.global.u32 %r2, [%rd4];\nmov.u32 %r3, "
      "S;\nmad.lo.u32 %r4, %r2, " +
      std::to_string(bytes) + ", %r3;\nmad.wide.u32 %rd5, %r1, 16, %rd2;\nmov.u32 %r5, " + std::to_string(mask) +
      ";\nshr.u32 %r6, %r5, %r1;\nand.b32 %r6, %r6, 1;\nsetp.ne.u32 %p1, %r6, 0;\nmad.lo.u32 %r7, %r1, 32, "
      "%r3;\nmov.u32 "
      "%r8, 0;\n";
  for (int k = 0; k < 32; k += 4) t += "st.shared.u32 [%r7+" + std::to_string(k) + "], %r8;\n";
  t += "bar.sync 0;\n@%p1 cp.async." + form + ".shared.global [%r4], [%rd5], " + std::to_string(bytes) +
       ";\ncp.async.wait_all;\nbar.sync 0;\nmad.wide.u32 %rd6, %r1, 32, %rd3;\n";
  for (int k = 0; k < 32; k += 4)
    t += "ld.shared.u32 %r8, [%r7+" + std::to_string(k) + "];\nst.global.u32 [%rd6+" + std::to_string(k) + "], %r8;\n";
  return kernel(".param .u64 places, .param .u64 from, .param .u64 out", t);
}

TEST(AsyncCopies, LeaveTheValueThatACardLeaves) {
  Bench interpreted(1), compiled(1, Shape{}.max_instructions, quick_native_code());
  const std::pair<const char*, uint32_t> forms[] = {{"ca", 4}, {"ca", 8}, {"ca", 16}, {"cg", 16}};
  for (const auto& [form, bytes] : forms)
    for (const StorePattern& p : store_patterns()) {
      SCOPED_TRACE(std::string(form) + " " + std::to_string(bytes) + " " + p.name);
      std::vector<uint8_t> from(512), expected(kRegion);
      for (uint32_t l = 0; l < kLanes; ++l) {
        std::fill_n(&from[l * 16], 16, static_cast<uint8_t>(l + 1));
        if (p.mask >> l & 1) std::fill_n(&expected[p.places[l] * bytes], bytes, static_cast<uint8_t>(l + 1));
      }
      if (form == std::string("cg"))
        for (const auto& [place, lane] : p.survivors.at("16"))
          std::fill_n(&expected[place * bytes], bytes, static_cast<uint8_t>(lane + 1));
      const std::string ptx = copying(form, bytes, p.mask);
      const std::vector<Argument> arguments{buffer(p.places), buffer(from), zeros<uint8_t>(kRegion)};
      const Ran r = interpreted.run(ptx, arguments, {}, "k");
      ASSERT_EQ(r.report.fault, Fault::none) << r.message();
      EXPECT_EQ(r.buffers[2], expected);
      if (quick_native_code() && p.name.ends_with(" 1"))
        EXPECT_EQ(difference(r, compiled.run(ptx, arguments, {}, "k")), "");
    }
}

// One address that the decoder knows to be one: all lanes, and those that a mask leaves on.
TEST(StoresAtOneAddress, LeaveTheValueThatACardLeaves) {
  Bench interpreted(1), compiled(1, Shape{}.max_instructions, quick_native_code());
  for (const char* space : {"global", "shared"})
    for (const StoreForm& f : kStoreForms)
      for (const StorePattern& p : store_patterns()) {
        if (!p.name.starts_with("all") || (f.value[0] == '{' && f.bytes < 16)) continue;
        SCOPED_TRACE(std::string(space) + " " + f.suffix + " " + p.name);
        const uint32_t place = p.places[0];
        const bool shared = space == std::string("shared");
        std::string t =
            ".shared .align 16 .b8 S[1024];\n.reg .b128 %q<2>;\nld.param.u64 %rd3, [out];\nmov.u32 %r1, %tid.x;\n"
            "add.u32 %r7, %r1, 1;\nmul.lo.u32 %r9, %r7, 0x1010101;\ncvt.u16.u32 %h1, %r9;\nmov.b64 %rd9, {%r9, %r9};\n"
            "mov.b128 %q1, {%rd9, %rd9};\nmov.u32 %r5, " +
            std::to_string(p.mask) + ";\nshr.u32 %r6, %r5, %r1;\nand.b32 %r6, %r6, 1;\nsetp.ne.u32 %p1, %r6, 0;\n";
        t += (p.mask == ~0u ? "" : "@%p1 ") + ("st." + std::string(space) + ".") + f.suffix +
             (shared ? " [S+" : " [%rd3+") + std::to_string(place * f.bytes) + "], " + f.value + ";\n";
        if (shared)
          t += "bar.sync 0;\nld.shared.u8 %h2, [S+" + std::to_string(place * f.bytes) + "];\nst.global.u8 [%rd3+" +
               std::to_string(place * f.bytes) + "], %h2;\n";
        const std::string ptx = kernel(".param .u64 out", t);
        const Ran r = interpreted.run(ptx, {zeros<uint8_t>(kRegion)}, {}, "k");
        if (quick_native_code()) EXPECT_EQ(difference(r, compiled.run(ptx, {zeros<uint8_t>(kRegion)}, {}, "k")), "");
        const auto& won = p.survivors.at(std::to_string(std::max(4u, f.bytes)));
        const uint32_t lane = won.contains(place) ? won.at(place) : static_cast<uint32_t>(__builtin_ctz(p.mask));
        EXPECT_EQ(r.buffers[0][place * f.bytes], lane + 1);
      }
}

}  // namespace

}  // namespace coalesce::machine::test
