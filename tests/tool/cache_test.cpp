#include "tool/command/cache.h"

#include <gmock/gmock.h>

#include <fstream>
#include <thread>

#include "cache/hash.h"

namespace coalesce::tool {
namespace {

namespace fs = std::filesystem;
using cache::Sha256;
using testing::ElementsAre;

// The examples in FIPS 180-4, and lengths around the block size.
TEST(Hash, Sha256) {
  EXPECT_EQ(cache::Sha256().hex(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(cache::Sha256().add("abc").hex(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(cache::Sha256().add("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq").hex(),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(cache::Sha256().add(std::string(1'000'000, 'a')).hex(),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  EXPECT_NE(cache::Sha256().field("ab").field("c").hex(), Sha256().field("a").field("bc").hex());
}

TEST(Dependencies, AsCompilersWriteThem) {
  EXPECT_THAT(parse_dependencies("out.o: a.cu b.h \\\n  /x/c\\ d.h e$$f.h\n\nb.h:\n"),
              ElementsAre("a.cu", "b.h", "/x/c d.h", "e$f.h"));
  EXPECT_THAT(parse_dependencies(""), ElementsAre());
  EXPECT_THAT(parse_dependencies("no rule"), ElementsAre());
}

class CacheTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "coalesce-cache-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder = pattern;
    header = folder / "header.h";
    write(header, "one");
    age(header);
  }
  void TearDown() override { fs::remove_all(folder); }
  static void write(const fs::path& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }
  static void age(const fs::path& path) {
    fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(1));
  }
  fs::path store(Cache& cache, const std::string& request, const std::string& program) {
    const fs::path scratch = cache.scratch();
    write(scratch / "program", program);
    return cache.keep(request, scratch, {header}, fs::file_time_type::clock::now());
  }
  fs::path folder, header;
};

TEST_F(CacheTest, FindsWhatItKept) {
  Cache cache(folder / "c");
  EXPECT_FALSE(cache.find("r"));
  const fs::path program = store(cache, "r", "binary");
  EXPECT_EQ(read_file(program), "binary");
  EXPECT_EQ(cache.find("r"), program);
  EXPECT_FALSE(cache.find("other"));
  EXPECT_EQ(Cache(folder / "c").find("r"), program) << "another run";
}

TEST_F(CacheTest, AChangedHeaderIsAnotherProgram) {
  Cache cache(folder / "c");
  const fs::path first = store(cache, "r", "from one");
  write(header, "two");
  EXPECT_FALSE(cache.find("r"));
  age(header);
  EXPECT_NE(store(cache, "r", "from two"), first);
  EXPECT_EQ(read_file(*cache.find("r")), "from two");
  write(header, "one");
  EXPECT_EQ(cache.find("r"), first) << "content counts, not the time";
  fs::remove(header);
  EXPECT_FALSE(cache.find("r"));
}

TEST_F(CacheTest, ASourceEditedWhileCompilingIsNotKept) {
  Cache cache(folder / "c");
  const auto started = fs::file_time_type::clock::now() - std::chrono::seconds(5);
  write(header, "edited just now");
  const fs::path scratch = cache.scratch();
  write(scratch / "program", "binary");
  EXPECT_EQ(read_file(cache.keep("r", scratch, {header}, started)), "binary") << "still runs";
  EXPECT_FALSE(cache.find("r"));
}

TEST_F(CacheTest, LeavesNothingBehind) {
  {
    Cache cache(folder / "c");
    write(cache.scratch() / "program", "did not compile");
  }
  EXPECT_TRUE(fs::is_empty(folder / "c"));
}

TEST_F(CacheTest, AnUnusableFolderIsReplacedForThisRun) {
  write(folder / "file", "");
  fs::path program;
  {
    Cache cache(folder / "file");
    program = store(cache, "r", "binary");
    EXPECT_EQ(read_file(program), "binary");
  }
  EXPECT_FALSE(fs::exists(program));
}

TEST_F(CacheTest, TheOldestGoFirst) {
  Cache cache(folder / "c", 2500);
  for (const char* request : {"a", "b", "c"}) {
    const fs::path program = store(cache, request, std::string(1000, 'x'));
    fs::last_write_time(program.parent_path(),
                        fs::file_time_type::clock::now() - std::chrono::hours(*request == 'a' ? 3 : 2));
  }
  // Each store trims what the ones before left over; young entries stay even then.
  store(cache, "d", std::string(1000, 'x'));
  EXPECT_FALSE(cache.find("a"));
  EXPECT_TRUE(cache.find("d"));
}

TEST_F(CacheTest, ConcurrentRunsAllGetAWholeProgram) {
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 25; ++round) {
        Cache cache(folder / "c");
        const std::string request = std::to_string(round);
        const auto found = cache.find(request);
        right += read_file(found ? *found : store(cache, request, "whole " + request)) == "whole " + request;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(right, 100);
  std::size_t scratches = 0;
  for (const auto& entry : fs::directory_iterator(folder / "c"))
    scratches += entry.path().filename().string().starts_with("new-");
  EXPECT_EQ(scratches, 0u);
}

}  // namespace
}  // namespace coalesce::tool
