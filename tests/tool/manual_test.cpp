// The manual page says all that --help says: CLI11's own help is what it is compared with.
#include "tool/command/manual.h"

#include <gmock/gmock.h>

#include <CLI/CLI.hpp>
#include <regex>
#include <sstream>

#include "tool/command/options.h"

namespace coalesce::tool {
namespace {

// The page as man shows it, but for the font and the width.
std::string shown(const std::string& page) {
  std::string text;
  for (std::size_t i = 0; i < page.size(); ++i) {
    if (page[i] != '\\') {
      text += page[i];
      continue;
    }
    switch (page[++i]) {
      case 'f':
        ++i;
        break;
      case '&':
        break;
      case 'e':
        text += '\\';
        break;
      case '(':
        text += page.substr(i + 1, 2) == "aq" ? "'" : page.substr(i + 1, 2) == "ha" ? "^" : "~", i += 2;
        break;
      default:
        text += page[i];
    }
  }
  return text;
}

TEST(Manual, HasEveryOptionOfTheHelp) {
  CLI::App app("", "coalesce");
  app.set_version_flag("--version", "coalesce 1.2.3");
  Options options;
  add_options(app, options);
  const std::string page = manual_page(app), text = shown(page);
  EXPECT_THAT(page, testing::HasSubstr("\"coalesce 1.2.3\""));
  // "  -o,--output FILE   ...", "  --device NAME (Env:COALESCE_DEVICE)", "  --stride N=1   ...", "  --csv Excludes:
  // ..."
  const std::regex option("^  ((-[a-zA-Z],)?(--?[a-zA-Z-]+))( [A-Z][A-Z,.|]*)?(=(\\w+))?( \\(Env:(\\w+)\\))?( .*)?$");
  int found = 0;
  for (const CLI::App* command : app.get_subcommands({})) {
    const auto from = text.find("\n.SS coalesce " + command->get_name());
    ASSERT_NE(from, std::string::npos) << command->get_name();
    const std::string section = text.substr(from, text.find("\n.SS ", from + 1) - from);
    std::istringstream help(command->help());
    for (std::string line; std::getline(help, line) && line != "Examples:";) {
      std::smatch part;
      if (!std::regex_match(line, part, option)) continue;
      ++found;
      std::string wanted = part[2].matched ? part[2].str().substr(0, 2) + ", " + part[3].str() : part[3].str();
      if (part[4].matched) wanted += part[4];
      EXPECT_THAT(section, testing::HasSubstr("\n.TP\n" + wanted + "\n")) << line;
      EXPECT_THAT(section, testing::HasSubstr(part[8].str()));
      if (part[6].matched) EXPECT_THAT(section, testing::HasSubstr("Without it: " + part[6].str() + ".\n")) << line;
    }
    EXPECT_THAT(section, testing::HasSubstr(command->get_description()));
  }
  EXPECT_GT(found, 60);
}

TEST(Manual, NoTextIsTakenForARequest) {
  CLI::App app("", "coalesce");
  app.add_subcommand("run", "'quoted' \\ and")->footer(".TH\n  .so /etc/passwd\n'br");
  const std::string page = manual_page(app);
  for (const char* bad : {"\n.so", "\n'br", "\n'quoted", " \\ "}) EXPECT_EQ(page.find(bad), std::string::npos) << bad;
  EXPECT_EQ(page.find("\n.TH", page.find(".TH") + 1), std::string::npos);
}

}  // namespace
}  // namespace coalesce::tool
