// Functions of the device's runtime, one call each: what they return, write, refuse and leave to be done.
#include "prologue.h"

namespace coalesce::machine::test {
namespace services {
namespace {

struct Call {
  std::string name, kinds;         // of its parameters: 8 or 4 bytes
  std::vector<std::string> given;  // %rd5: 64 bytes behind the buffer's beginning
  uint32_t returns;
  uint32_t work = 0;    // that it leaves
  int64_t writes = -1;  // 4 bytes to %rd5; -1: none
  Fault fault = Fault::none;
};

std::string text_of(const Call& c) {
  std::string declared = ".extern .func (.param .b32 r) " + c.name + "(", set, list;
  for (std::size_t k = 0; k < c.kinds.size(); ++k) {
    const std::string type = c.kinds[k] == '8' ? ".b64" : ".b32", p = "p" + std::to_string(k);
    declared += (k ? ", .param " : ".param ") + type + " " + p;
    set += ".param " + type + " " + p + ";\nst.param" + type + " [" + p + "], " + c.given[k] + ";\n";
    list += (k ? ", " : "") + p;
  }
  std::string text = with_prologue("add.u64 %rd5, %rd1, 64;\n{\n" + set + ".param .b32 r;\ncall.uni (r), " + c.name +
                                   ", (" + list + ");\nld.param.b32 %r10, [r];\n}\n");
  return text.insert(text.find(".visible .entry"), declared + ");\n");
}

TEST(Services, OfTheDeviceRuntime) {
  const Device& d = *find_device("h200");
  constexpr uint32_t kInvalid = 1, kNoMemory = 2;
  const auto attribute = [](const std::string& which, uint32_t value) {
    return Call{"__cudaCDP2DeviceGetAttribute", "844", {"%rd5", which, "0"}, 0, 0, value};
  };
  const auto copy = [](const std::string& to_pitch, const std::string& from_pitch, const std::string& bytes,
                       const std::string& rows, uint32_t returns, uint32_t work, Fault fault = Fault::none) {
    return Call{"__cudaCDP2Memcpy2DAsync",
                "88888848",
                {"%rd5", to_pitch, "%rd1", from_pitch, bytes, rows, "3", "0"},
                returns,
                work,
                -1,
                fault};
  };
  const auto fill = [](const std::string& pitch, const std::string& bytes, const std::string& rows, uint32_t returns,
                       uint32_t work, Fault fault = Fault::none) {
    return Call{"__cudaCDP2Memset2DAsync", "884888", {"%rd5", pitch, "7", bytes, rows, "0"}, returns, work, -1, fault};
  };
  const Call calls[] = {
      {"__cudaCDP2GetDeviceCount", "8", {"%rd5"}, 0, 0, 1},
      {"__cudaCDP2GetDevice", "8", {"%rd5"}, 0, 0, 0},
      {"__cudaCDP2RuntimeGetVersion", "8", {"%rd5"}, 0, 0, 13000},
      attribute("1", d.threads_per_block),
      attribute("8", d.shared_per_block),
      attribute("10", 32),
      attribute("16", d.multiprocessors),
      attribute("39", d.threads_per_multiprocessor),
      attribute("75", d.major),
      attribute("76", d.minor),
      attribute("97", d.shared_per_block_optin),
      {"__cudaCDP2DeviceGetAttribute", "844", {"%rd5", "1", "1"}, kInvalid},
      {"__cudaCDP2EventCreateWithFlags", "84", {"%rd5", "2"}, 0},
      {"__cudaCDP2EventCreateWithFlags", "84", {"%rd5", "0"}, kInvalid},
      {"__cudaCDP2EventCreateWithFlags", "84", {"%rd5", "3"}, kInvalid},
      {"__cudaCDP2EventRecord", "88", {"5", "0"}, 0},
      {"__cudaCDP2StreamDestroy", "8", {"5"}, 0},
      {"__cudaCDP2Free", "8", {"0"}, 0},
      {"__cudaCDP2Free", "8", {"%rd1"}, kInvalid},
      {"__cudaCDP2Malloc", "88", {"%rd5", "0"}, 0, 0, 0},
      {"__cudaCDP2Malloc", "88", {"%rd5", "1099511627776"}, kNoMemory},
      {"__cudaCDP2MemcpyAsync", "88848", {"%rd5", "%rd1", "64", "3", "0"}, 0, 1},
      {"__cudaCDP2MemcpyAsync", "88848", {"%rd5", "%rd1", "0", "3", "0"}, 0, 0},
      {"__cudaCDP2MemcpyAsync", "88848", {"%rd5", "%rd1", "65", "3", "0"}, 0, 0, -1, Fault::illegal_address},
      {"__cudaCDP2MemcpyAsync", "88848", {"%rd1", "%rd5", "65", "3", "0"}, 0, 0, -1, Fault::illegal_address},
      copy("16", "16", "16", "4", 0, 1),
      copy("16", "16", "16", "5", 0, 0, Fault::illegal_address),
      copy("16", "32", "16", "4", 0, 1),
      copy("16", "48", "16", "4", 0, 0, Fault::illegal_address),
      copy("15", "16", "16", "2", kInvalid, 0),
      copy("16", "15", "16", "2", kInvalid, 0),
      copy("1", "1", "16", "1", 0, 1),
      copy("16", "16", "0", "4", 0, 0),
      copy("16", "16", "16", "0", 0, 0),
      fill("16", "16", "4", 0, 1),
      fill("16", "16", "5", 0, 0, Fault::illegal_address),
      fill("15", "16", "2", kInvalid, 0),
      fill("1", "16", "1", 0, 1),
      fill("16", "0", "4", 0, 0),
      fill("16", "16", "0", 0, 0),
  };
  Bench bench(1);
  for (const Call& c : calls) {
    std::string given;
    for (const std::string& g : c.given) given += " " + g;
    SCOPED_TRACE(c.name + given);
    std::vector<uint32_t> before(32, 0xabcd);
    const Ran r = bench.run(text_of(c), {buffer(before)}, threads(1), "k");
    ASSERT_EQ(r.report.fault, c.fault) << r.message();
    if (c.fault != Fault::none) continue;
    EXPECT_EQ(r.read()[0], c.returns);
    EXPECT_EQ(r.report.work.size(), c.work);
    if (c.writes >= 0) EXPECT_EQ(r.read()[16], static_cast<uint32_t>(c.writes));
  }
}

}  // namespace
}  // namespace services
}  // namespace coalesce::machine::test
