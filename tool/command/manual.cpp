#include "tool/command/manual.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <sstream>

namespace coalesce::tool {
namespace {

// Text that roff prints as it stands: no escapes, no hyphens for minus signs, no requests at the beginning of a line.
std::string roff(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if ((c == '.' || c == '\'') && (out.empty() || out.back() == '\n')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else if (c == '\'') {
      out += "\\(aq";
    } else if (c == '^' || c == '~') {
      out += c == '^' ? "\\(ha" : "\\(ti";
    } else {
      out += c;
    }
  }
  return out;
}

std::string bold(const std::string& text) { return "\\fB" + roff(text) + "\\fR"; }
std::string italic(const std::string& text) { return "\\fI" + roff(text) + "\\fR"; }

// The text of --help behind "Usage: ".
std::string usage(const CLI::App& command) {
  const std::string text = command.help("coalesce");
  const auto from = text.find("coalesce " + command.get_name(), text.find("Usage: "));
  return text.substr(from, text.find('\n', from) - from);
}

std::string option_text(const CLI::Option& option) {
  std::string names;
  const auto add = [&](const std::string& name) { names += (names.empty() ? "" : ", ") + bold(name); };
  for (const std::string& name : option.get_snames()) add("-" + name);
  for (const std::string& name : option.get_lnames()) add("--" + name);
  const bool named = !names.empty();
  if (option.get_expected_max() > 0 && !option.get_type_name().empty())
    names += (named ? " " : "") + italic(option.get_type_name());
  std::string text = ".TP\n" + names + "\n" + roff(option.get_description()) + ".\n";
  if (!option.get_default_str().empty()) text += "Without it: " + roff(option.get_default_str()) + ".\n";
  if (!option.get_envname().empty()) text += "The variable " + bold(option.get_envname()) + " sets it, too.\n";
  return text;
}

// Examples and exit codes: lines that begin with blanks stand as they are.
std::string footer_text(const std::string& footer) {
  std::string text;
  bool verbatim = false;
  std::istringstream lines(footer);
  for (std::string line; std::getline(lines, line);) {
    const bool indented = line.starts_with("  ");
    if (indented != verbatim) text += indented ? ".nf\n.RS\n" : ".RE\n.fi\n";
    if (!indented && text.empty()) text = ".PP\n";
    text += roff(indented ? line.substr(2) : line) + "\n";
    verbatim = indented;
  }
  return text + (verbatim ? ".RE\n.fi\n" : "");
}

}  // namespace

std::string manual_page(const CLI::App& app) {
  std::string text = fmt::format(
      ".\\\" Made by `coalesce man`.\n.TH COALESCE 1 \"\" \"{}\" \"User Commands\"\n"
      ".SH NAME\ncoalesce \\- run CUDA programs without a GPU and count every byte they move\n.SH SYNOPSIS\n",
      roff(app.version()));
  std::string sections;
  for (const CLI::App* command : app.get_subcommands({})) {
    text += (sections.empty() ? "" : ".br\n") + bold(usage(*command)) + "\n";
    sections += ".SS " + usage(*command) + "\n" + roff(command->get_description()) + ".\n";
    for (const CLI::Option* option : command->get_options()) sections += option_text(*option);
    sections += footer_text(command->get_footer());
  }
  text += ".SH DESCRIPTION\n" + roff(app.get_description()) + "\n";
  for (const CLI::Option* option : app.get_options()) text += option_text(*option);
  return text + ".SH COMMANDS\n" + sections;
}

}  // namespace coalesce::tool
