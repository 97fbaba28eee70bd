// Finding the runtime in files that are damaged, and telling versions apart.
#include "redirect/static_runtime.h"

#include <gtest/gtest.h>

#include <random>

#include "redirect/archive.h"
#include "redirect/names.h"

namespace coalesce::redirect {
namespace {

const std::string kFakes = FAKE_FOLDER;

std::vector<Entry> all_but(std::initializer_list<std::string_view> left_out) {
  std::vector<Entry> entries;
  for (size_t k = 0; k < kNames.size(); ++k)
    if (std::find(left_out.begin(), left_out.end(), kNames[k]) == left_out.end()) entries.push_back({k, 16 * k});
  return entries;
}

TEST(StaticRuntime, VersionsByWhatOnlyTheyHave) {
  EXPECT_EQ(version_of(all_but({"cudaGetDeviceProperties_v2"})), 13);
  EXPECT_EQ(version_of(all_but({"cudaDeviceGetHostAtomicCapabilities"})), 12);
  EXPECT_EQ(version_of(all_but({"cudaDeviceGetHostAtomicCapabilities", "cudaGetDeviceProperties_v2"})), 11);
}

StaticRuntime find(const std::string& name, const std::vector<std::string>& archives = {}) {
  const MappedFile file((kFakes + "/" + name).c_str());
  EXPECT_FALSE(file.bytes().empty());
  return find_static_runtime(program_of(file.bytes()), archives);
}

TEST(StaticRuntime, SymbolsAndCodeSayTheSame) {
  const StaticRuntime by_symbols = find("fake_program"),
                      by_code = find("fake_program_stripped", {kFakes + "/libfake_static.a"});
  ASSERT_EQ(by_symbols.version, 13);
  ASSERT_EQ(by_code.version, 13) << by_code.problem;
  const auto addresses = [](const StaticRuntime& r) {
    std::vector<uint64_t> all(kNames.size());
    for (const Entry& e : r.entries) all[e.name] = e.address;
    return all;
  };
  EXPECT_EQ(by_symbols.entries.size(), kNames.size());
  EXPECT_EQ(addresses(by_symbols), addresses(by_code));  // linked alike; stripping moves nothing
}

TEST(StaticRuntime, SharedOnesAndOthersHaveNone) {
  for (const char* name : {"libcudart.so.13", "fake_host", "fake_client"}) {
    const StaticRuntime found = find(name);
    EXPECT_EQ(found.version, 0) << name;
    EXPECT_EQ(found.problem, "") << name;
  }
}

// One byte of the code is another: it is not the archive's.
TEST(StaticRuntime, CodeThatDiffersIsNotTaken) {
  const MappedFile archive((kFakes + "/libfake_static.a").c_str());
  const auto code = read_code(archive.bytes());
  ASSERT_TRUE(code);
  std::string text(code->text);
  ASSERT_EQ(find_code(*code, "before" + text + "after"), 6u);
  for (size_t k = 0; k < text.size(); k += 101) {
    std::string other = text;
    other[k] = static_cast<char>(other[k] ^ 1);
    EXPECT_EQ(find_code(*code, other).has_value(), code->linked[k]) << k;
  }
  EXPECT_FALSE(find_code(*code, std::string_view(text).substr(0, text.size() - 1)));
}

// No offset in a file may lead outside it. Run under the address sanitizer this test has teeth.
TEST(StaticRuntime, DamageNeverCrashes) {
  std::mt19937 random(1);
  for (const char* name : {"fake_program", "libfake_static.a"}) {
    const MappedFile file((kFakes + "/" + name).c_str());
    const std::string whole(file.bytes());
    for (int i = 0; i < 300; ++i) {
      std::string bytes = whole.substr(0, i % 3 == 0 ? random() % whole.size() : whole.size());
      // Headers at both ends are what is read as offsets.
      for (int k = 0; k < 20 && !bytes.empty(); ++k) {
        const size_t near = std::min<size_t>(bytes.size(), 4096), place = random() % near;
        bytes[k % 2 == 0 ? place : bytes.size() - 1 - place] = static_cast<char>(random());
      }
      const StaticRuntime found = find_static_runtime(program_of(bytes), {});
      for (const Entry& e : found.entries) EXPECT_LT(e.name, kNames.size());
      read_code(bytes);
    }
  }
}

}  // namespace
}  // namespace coalesce::redirect
