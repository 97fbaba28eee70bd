// Generated text that is committed must be what the command would generate now.
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <sstream>

#include "tool/command/cache.h"
#include "tool/command/completion.h"
#include "tool/command/options.h"
#include "tool/present/metrics.h"

namespace coalesce::tool {
namespace {

TEST(Docs, TheCounterTableIsUpToDate) {
  const auto document = read_file(COALESCE_SOURCE_DIR "/docs/counters.md");
  ASSERT_TRUE(document);
  const std::string begin = "<!-- begin: coalesce counters --markdown -->\n", end = "<!-- end -->";
  const auto from = document->find(begin), to = document->find(end);
  ASSERT_NE(from, std::string::npos);
  ASSERT_NE(to, std::string::npos);
  std::ostringstream table;
  print_counters_markdown(table);
  EXPECT_EQ(document->substr(from + begin.size(), to - from - begin.size()), table.str())
      << "put what `coalesce counters --markdown` prints between the markers";
}

TEST(Docs, TheInstalledCompletionIsUpToDate) {
  CLI::App app("", "coalesce");
  Options options;
  add_options(app, options);
  EXPECT_EQ(read_file(COALESCE_SOURCE_DIR "/tool/command/completions/coalesce.bash"), completion_script(app, "bash"))
      << "coalesce completion bash > tool/command/completions/coalesce.bash";
}

}  // namespace
}  // namespace coalesce::tool
