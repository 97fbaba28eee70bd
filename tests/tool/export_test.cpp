#include "tool/present/export.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/tool/fixture.h"
#include "tool/figures/error.h"

namespace coalesce::tool {
namespace {

using nlohmann::json;
using testing::HasSubstr;

json exported(const std::string& text, bool lines) {
  std::ostringstream out;
  write_json(out, read_text(text), 5, lines);
  return json::parse(out.str());
}

TEST(Json, TheSchema) {
  const std::string lines = R"(,"lines":[["a.cu",41,7,{"branches":5}]])";
  const json all = exported(kHeader + kernel_text(0, "_Z1kPi") + launch_text(0, {{"branches", UINT64_MAX}}, lines) +
                                launch_text(0, {}) + kEnd,
                            false);
  EXPECT_EQ(all["schema"], "coalesce.run/1");
  EXPECT_EQ(all["device"]["key"], "h200");
  EXPECT_EQ(all["exit_code"], 5);
  EXPECT_EQ(all["complete"], true);
  ASSERT_EQ(all["launches"].size(), 2u);
  const json& launch = all["launches"][0];
  EXPECT_EQ(launch["kernel"], "k(int*)");
  EXPECT_EQ(launch["grid"], json({4, 1, 1}));
  EXPECT_EQ(launch["block"], json({48, 1, 1}));
  EXPECT_EQ(launch["dynamic_shared_bytes"], 16);
  EXPECT_EQ(launch["counters"]["branches"].get<uint64_t>(), UINT64_MAX);
  EXPECT_EQ(launch["counters"].size(), machine::kCounterCount);
  EXPECT_FALSE(launch.contains("lines"));
  EXPECT_FALSE(launch.contains("fault"));
}

TEST(Json, SaysWhoseRequestsWereCounted) {
  std::string header = kHeader;
  EXPECT_FALSE(exported(header + kEnd, false)["device"].contains("model"));
  header.insert(header.find(R"("pid")"), R"("model":"ptxas",)");
  EXPECT_EQ(exported(header + kEnd, false)["device"]["model"], "ptxas");
  EXPECT_EQ(read_text(header + kEnd).device.counted(), "counted as --model ptxas");
}

TEST(Json, LinesOnRequest) {
  const std::string lines = R"(,"lines":[["a.cu",41,7,{"branches":5}]])";
  const json all = exported(kHeader + kernel_text(0, "k") + launch_text(0, {}, lines) + launch_text(0, {}), true);
  for (const json& launch : all["launches"])
    EXPECT_EQ(launch["lines"], json::parse(R"([{"file":"a.cu","line":41,"ptx_line":7,"counters":{"branches":5}}])"));
  EXPECT_EQ(all["complete"], false) << "no end line";
}

TEST(Json, EmptyRecordsAndOddNamesAreStillJson) {
  EXPECT_EQ(exported("", false)["launches"], json::array());
  Record record = read_text(kHeader + kernel_text(0, "k") + launch_text(0, {}));
  record.kernels[0].full = "\xff\"\\\n";
  std::ostringstream out;
  write_json(out, record, 0, false);
  EXPECT_EQ(json::parse(out.str())["launches"].size(), 1u);
}

TEST(Csv, OneRecordPerLaunch) {
  std::ostringstream out;
  write_csv(
      out, read_text(kHeader + kernel_text(0, "_Z1kii") + launch_text(0, {{"instructions", 12}}) + launch_text(0, {})));
  EXPECT_THAT(out.str(), HasSubstr("\n0,\"k(int, int)\",4x1x1,48x1x1,16,,0,"));
  const std::string text = out.str();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3);
}

class ExportFile : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "coalesce-export-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder); }
  static std::string content(const std::filesystem::path& path) {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::filesystem::path folder;
};

TEST_F(ExportFile, KeepsWhatWasThereUntilItIsReplaced) {
  const auto path = folder / "out.json";
  std::ofstream(path) << "what was there before";
  Export file("--json", path.string());
  EXPECT_EQ(content(path), "what was there before");
  file.write("new");
  EXPECT_EQ(content(path), "new");
}

TEST_F(ExportFile, ANewOneSaysUntilThenThatNothingIsComplete) {
  const auto path = folder / "out.json";
  Export file("--json", path.string());
  file.begin_empty(unfinished_run_json("app"));
  const json begun = json::parse(content(path));
  EXPECT_EQ(begun["program"], "app");
  EXPECT_EQ(begun["complete"], false);
  EXPECT_TRUE(begun["exit_code"].is_null());
  file.write("new");
  file.begin_empty("something else");
  EXPECT_EQ(content(path), "new");
}

TEST_F(ExportFile, WrongPathsAreUsageErrors) {
  for (const auto& path : {folder / "none/out.json", folder}) {
    try {
      Export file("--json", path.string());
      FAIL() << path;
    } catch (const Error& error) {
      EXPECT_EQ(error.code, Exit::usage);
      EXPECT_THAT(error.what(), HasSubstr("--json"));
    }
  }
}

TEST(Export, AFullDiskIsSaid) {
  Export file("--json", "/dev/full");
  EXPECT_THROW(file.write("text"), Error);
}

}  // namespace
}  // namespace coalesce::tool
