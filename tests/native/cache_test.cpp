// Tests of the cache folder's entries, their names and their order of removal, and of a compiler that works while the
// process ends.
#include <cstdlib>
#include <fstream>

#include "cache/folder.h"
#include "machine/ptx/parser.h"
#include "native/tier/fingerprint.h"
#include "native/tier/library.h"
#include "tests/native/engine_fixture.h"

namespace coalesce::native {
namespace {

// Decoded as a launch with these blocks decodes it.
std::unique_ptr<Decoded> decoded(const std::string& ptx, std::array<uint32_t, 3> block) {
  struct Nothing : SymbolTable {
    Symbol symbol(const std::string&) const override { return {}; }
    uint64_t function_address(const std::string&) const override { return 0; }
  };
  const ptx::Module module = ptx::parse(ptx, "test");
  return decode(module, module.functions[0], Nothing(), LaunchShape{block, {1, 1, 1}});
}
std::string fingerprint_of(const std::string& ptx, std::array<uint32_t, 3> block) {
  return fingerprint(*decoded(ptx, block));
}

// The compiling thread goes on while the process ends, so nothing that it uses may be destroyed then: here it compiles
// in an exit handler that was registered before LLVM was loaded, and so runs after all that LLVM would have registered.
void compile_at_the_end() {
  static const std::shared_ptr<const Code> code = lower(decoded(kKernel, {256, 1, 1}));
  static CompileFunction compile = nullptr;
  static Request before;
  before.code = code.get();
  std::atexit([] {
    Request after;
    after.code = code.get();
    compile(&after);
    std::_Exit(after.error.empty() && after.object.code == before.object.code ? 0 : 1);
  });
  compile = load_library(native_settings().library, before.error);
  if (compile) compile(&before);
  std::exit(before.error.empty() && !before.object.code.empty() ? 2 : 3);
}

TEST(CompilerTest, NothingOfItIsDestroyedAtExit) {
  if (!fs::exists(native_settings().library)) GTEST_SKIP() << "built without LLVM";
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a process in which LLVM has not been loaded
  EXPECT_EXIT(compile_at_the_end(), testing::ExitedWithCode(0), "");
}

TEST(Fingerprint, SaysWhatTheCodeDependsOn) {
  const std::string same = fingerprint_of(kKernel, {256, 1, 1});
  EXPECT_EQ(fingerprint_of(kKernel, {256, 1, 1}), same);
  EXPECT_EQ(fingerprint_of("// a comment\n" + kKernel, {256, 1, 1}), same) << "lines are not code";
  EXPECT_NE(fingerprint_of(kKernel, {128, 2, 1}), same);
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = kKernel;
    text.replace(text.find(from), from.size(), to);
    return fingerprint_of(text, {256, 1, 1});
  };
  EXPECT_NE(with("%r4, 3,", "%r4, 5,"), same) << "a constant";
  EXPECT_NE(with("mad.lo.u32 %r4", "mad.lo.s32 %r4"), same) << "an operation";
  EXPECT_NE(with("%r4, %r4, 3, %r3", "%r4, %r5, 3, %r3"), same) << "an operand";
  EXPECT_NE(with("@%p1 bra", "@!%p1 bra"), same) << "a guard";
  EXPECT_NE(with("st.global.u32", "st.volatile.global.u32"), same) << "a way of access";
}

TEST(CacheEntries, TheLeastRecentlyUsedGoFirst) {
  std::string pattern = testing::TempDir() + "coalesce-entries-XXXXXX";
  ASSERT_NE(mkdtemp(pattern.data()), nullptr);
  const fs::path folder = pattern;
  const auto hours = [&](const char* name, int age) {
    fs::last_write_time(folder / name, fs::file_time_type::clock::now() - std::chrono::hours(age));
  };
  const std::string kilobyte(1000, 'x');
  for (const char* name : {"a", "b", "c"}) ASSERT_TRUE(cache::keep(folder, name, kilobyte));
  hours("a", 3), hours("b", 2), hours("c", 1);
  EXPECT_EQ(cache::find(folder, "a"), kilobyte) << "used now";
  ASSERT_TRUE(cache::keep(folder, "d", kilobyte, 3500));
  EXPECT_TRUE(cache::find(folder, "a"));
  EXPECT_FALSE(cache::find(folder, "b"));
  EXPECT_TRUE(cache::find(folder, "d"));
  // Left by a run that was killed; and one that is being written.
  std::ofstream(folder / "new-000000") << "half";
  std::ofstream(folder / "new-111111") << "half";
  hours("new-000000", 2);
  ASSERT_TRUE(cache::keep(folder, "e", kilobyte));
  EXPECT_FALSE(fs::exists(folder / "new-000000"));
  EXPECT_TRUE(fs::exists(folder / "new-111111"));
  // Empty files are bounded, too.
  std::ofstream{folder / "empty"}.close();
  hours("empty", 4);
  ASSERT_TRUE(cache::keep(folder, "f", kilobyte, 8000));
  EXPECT_FALSE(fs::exists(folder / "empty"));
  fs::remove_all(folder);
}

TEST(CacheEntries, WhatOthersMayWriteIsNotRead) {
  std::string pattern = testing::TempDir() + "coalesce-entries-XXXXXX";
  ASSERT_NE(mkdtemp(pattern.data()), nullptr);
  const fs::path folder = pattern;
  ASSERT_TRUE(cache::keep(folder, "a", "bytes"));
  EXPECT_TRUE(cache::find(folder, "a"));
  fs::permissions(folder / "a", fs::perms::others_write, fs::perm_options::add);
  EXPECT_FALSE(cache::find(folder, "a"));
  fs::create_symlink("a", folder / "b");
  EXPECT_FALSE(cache::find(folder, "b"));
  fs::create_directory(folder / "c");
  EXPECT_FALSE(cache::find(folder, "c"));
  if (geteuid() == 0) {
    fs::permissions(folder / "a", fs::perms::owner_read, fs::perm_options::replace);
    EXPECT_TRUE(cache::find(folder, "a"));
    ASSERT_EQ(chown((folder / "a").c_str(), 1, 1), 0);
    EXPECT_FALSE(cache::find(folder, "a"));
  }
  fs::remove_all(folder);
}

}  // namespace
}  // namespace coalesce::native
