#include "machine/diagnostic.h"

#include <cxxabi.h>

#include <bit>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>

namespace coalesce::machine {
namespace {

constexpr size_t widest_line = 160;  // columns of source shown; longer lines are cut around the caret

struct Colours {
  const char *bold = "", *red = "", *magenta = "", *green = "", *cyan = "", *off = "";
};
constexpr Colours ansi{"\033[1m", "\033[1;31m", "\033[1;35m", "\033[1;32m", "\033[1;36m", "\033[0m"};

// Text from programs must not steer the terminal: control characters become '?', a tab one space (so that columns,
// which count characters, stay where they are).
std::string printable(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = c == '\t' ? ' ' : '?';
  return result;
}

// Line `number` of a file, from 1; false when it cannot be read. The path comes from the program: a device or a pipe
// under that name would never end.
bool read_line(const std::string& path, uint32_t number, std::string& line) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return false;
  std::ifstream file(path);
  for (uint32_t i = 0; file && i < number; i++)
    if (!std::getline(file, line)) return false;
  return static_cast<bool>(file);
}

// "   12 |   o[i] = x[i];" and, when the column is known, a caret under it.
void excerpt(std::string& out, const Colours& colours, uint32_t number, std::string text, uint32_t column) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  size_t caret = column;  // from 1; 0: none
  if (caret > text.size() + 1) caret = 0;
  if (text.size() > widest_line) {
    const size_t from = caret > widest_line / 2 ? caret - widest_line / 2 : 0;
    text = text.substr(from, widest_line);
    if (caret > 0) caret -= from;
  }
  char gutter[32];
  std::snprintf(gutter, sizeof gutter, "%5u | ", number);
  out += gutter + printable(text) + "\n";
  if (caret > 0)
    out += std::string("      | ") + std::string(caret - 1, ' ') + colours.green + "^" + colours.off + "\n";
}

std::string demangled(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status),
                                                    std::free);
  return status == 0 && text ? std::string(text.get()) : name;
}

std::string triple(const std::array<uint32_t, 3>& v) {
  return "(" + std::to_string(v[0]) + ", " + std::to_string(v[1]) + ", " + std::to_string(v[2]) + ")";
}

}  // namespace

std::string render(const Diagnostic& d, bool colour) {
  const Colours colours = colour ? ansi : Colours{};
  std::string out = colours.bold;
  if (!d.place.file.empty()) {
    out += printable(d.place.file) + ":";
    if (d.place.line > 0) out += std::to_string(d.place.line) + ":";
    if (d.place.line > 0 && d.place.column > 0) out += std::to_string(d.place.column) + ":";
    out += " ";
  }
  const bool error = d.severity == Severity::error;
  const bool race = d.other.has_value();
  out += std::string(error ? colours.red : colours.magenta) + (error ? "error: " : "warning: ") + colours.off;
  out += colours.bold + printable(d.message) + colours.off + "\n";

  // An error in the PTX itself names the PTX as its place: then the text at hand is that line, wherever it came from.
  const bool in_ptx = d.place.line > 0 && d.place.line == d.ptx_line && d.kernel.empty() && !d.ptx_text.empty();
  std::string line;
  if (in_ptx) {
    excerpt(out, colours, d.place.line, d.ptx_text, d.place.column);
  } else if (!d.place.file.empty() && d.place.line > 0 && read_line(d.place.file, d.place.line, line)) {
    excerpt(out, colours, d.place.line, line, d.place.column);
  }
  // The other line of a race.
  if (race && !d.other->place.file.empty() &&
      (d.other->place.file != d.place.file || d.other->place.line != d.place.line) &&
      read_line(d.other->place.file, d.other->place.line, line)) {
    out += printable(d.other->place.file) + ":" + std::to_string(d.other->place.line) + ": the " + d.other->what +
           " before it\n";
    excerpt(out, colours, d.other->place.line, line, d.other->place.column);
  }
  const auto item = [&](const char* title, const std::string& text) {
    out += std::string("  ") + colours.cyan + title + colours.off + text + "\n";
  };
  const bool in_kernel = d.ptx_line > 0 || d.lanes != 0;
  if (!d.kernel.empty()) item("kernel  ", printable(demangled(d.kernel)));
  if (race) {
    const auto padded = [](const std::string& what) {
      return what + std::string(what.size() < 8 ? 8 - what.size() : 1, ' ');
    };
    const auto thread_of = [](const auto& party) {
      return "thread " + triple(party.thread) + " of block " + triple(party.block);
    };
    const Party& o = *d.other;
    item(padded(d.what).c_str(), d.who.empty() ? thread_of(d) : printable(d.who));
    // "_Z4copyPi in stream 2"
    const std::size_t word = o.who.find(' ');
    const std::string who =
        o.who.empty() ? thread_of(o)
                      : demangled(o.who.substr(0, word)) + (word == std::string::npos ? "" : o.who.substr(word));
    std::string at = o.place.file.empty() ? "" : printable(o.place.file) + ":" + std::to_string(o.place.line);
    if (o.ptx_line > 0) at += (at.empty() ? "" : ", ") + std::string("PTX line ") + std::to_string(o.ptx_line);
    item(padded(o.what).c_str(), printable(who) + " before" + (at.empty() ? "" : ", at " + at));
  } else if (!d.kernel.empty() && in_kernel) {
    std::string where = triple(d.block) + ", warp " + std::to_string(d.warp);
    if (d.lanes != 0) {
      char mask[16];
      std::snprintf(mask, sizeof mask, "0x%08x", d.lanes);
      const int count = std::popcount(d.lanes);
      where += std::string(", lanes ") + mask + " (" + std::to_string(count) + (count == 1 ? " lane)" : " lanes)");
    }
    item("block   ", where);
    item("thread  ", triple(d.thread));
  }
  if (!d.address.empty()) item("memory  ", printable(d.address));
  if (d.count > 1) item("times   ", std::to_string(d.count));
  if (!in_ptx && d.ptx_line > 0) {
    std::string text = std::to_string(d.ptx_line);
    if (const size_t begin = d.ptx_text.find_first_not_of(" \t"); begin != std::string::npos)
      text += ": " + printable(d.ptx_text.substr(begin, widest_line));
    item("PTX line ", text);
  }
  for (const SourcePlace& at : d.inlined_at)
    item("note: ", "inlined at " + printable(at.file) + ":" + std::to_string(at.line));
  for (const std::string& note : d.notes) item("note: ", printable(note));
  return out;
}

}  // namespace coalesce::machine
