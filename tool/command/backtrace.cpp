#include "tool/command/backtrace.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>

#include "record/names.h"
#include "tool/command/child.h"
#include "tool/command/execute.h"
#include "tool/figures/hazards.h"

namespace coalesce::tool {
namespace {

using machine::Diagnostic;
using machine::SourcePlace;
using machine::Trace;

constexpr std::size_t kShownCalls = 5;

struct Call {
  std::string function;  // demangled; empty: not known
  SourcePlace place;
};
using Calls = std::map<std::string, std::vector<Call>>;  // by frame; several where calls were inlined

// "/tmp/a.cu:31 (discriminator 2)", "??:0"
SourcePlace place_in(std::string text) {
  text.erase(std::min(text.find(" (discriminator"), text.size()));
  const std::size_t colon = text.rfind(':');
  SourcePlace place;
  if (colon == std::string::npos || text.starts_with("??")) return place;
  const char* const end = text.data() + text.size();
  std::from_chars(text.data() + colon + 1, end, place.line);
  if (place.line != 0) place.file = text.substr(0, colon);
  return place;
}

// addr2line -a -i writes for each address "0x...", and then a line with the function and one with the place, for the
// innermost call and for each that it was inlined to.
void read_answers(const std::string& binary, const std::string& text, Calls& out) {
  std::istringstream in(text);
  std::string line, function, frame;
  for (bool named = false; std::getline(in, line);) {
    if (line.starts_with("0x")) {
      uint64_t address = 0;
      std::from_chars(line.data() + 2, line.data() + line.size(), address, 16);
      std::ostringstream key;
      key << binary << "+0x" << std::hex << address;
      frame = key.str();
      named = false;
    } else if (!named) {
      function = line.starts_with("??") ? "" : line;
      named = true;
    } else {
      out[frame].push_back({function, place_in(line)});
      named = false;
    }
  }
}

Calls ask(const std::set<std::string>& frames) {
  constexpr std::size_t kMostWords = 2000;  // of a command line
  Calls calls;
  const std::filesystem::path program = find_program("addr2line");
  if (program.empty()) return calls;
  std::map<std::string, std::vector<std::string>> by_binary;
  for (const std::string& frame : frames) {
    const std::size_t plus = frame.rfind('+');
    if (plus == std::string::npos) continue;
    const std::string binary = frame.substr(0, plus);
    // The system's libraries have no lines of the user's.
    if (!is_foreign(binary, {}) && !binary.starts_with("/lib")) by_binary[binary].push_back(frame.substr(plus + 1));
  }
  for (auto& [binary, addresses] : by_binary) {
    for (std::size_t at = 0; at < addresses.size(); at += kMostWords) {
      std::vector<std::string> words = {program.string(), "-a", "-i", "-f", "-C", "-e", binary};
      const auto first = addresses.begin() + static_cast<std::ptrdiff_t>(at);
      words.insert(words.end(), first,
                   first + static_cast<std::ptrdiff_t>(std::min(kMostWords, addresses.size() - at)));
      read_answers(binary, run_child({.words = words, .output_to_pipe = true}).output, calls);
    }
  }
  return calls;
}

// Not what a user has written: a compiler's stub for a kernel, a toolkit's wrapper.
bool is_users(const Call& call, const std::string& kernel, const std::vector<std::string>& foreign) {
  const std::string name = call.function.substr(0, call.function.find('('));
  if (name.empty() || name.find("__device_stub__") != std::string::npos || name == "_start" ||
      name.starts_with("__libc_start"))
    return false;
  if (!kernel.empty() && without_template_arguments(shorten(call.function)) == kernel) return false;
  return call.place.file.empty() || !is_foreign(call.place.file, foreign);
}

// A launch is called by the kernel's stub, which compilers inline: addr2line then names the function around it.
std::vector<Call> users_calls(const Trace& trace, const std::string& kernel, const Calls& known,
                              const std::vector<std::string>& foreign) {
  std::vector<Call> all;
  bool in_stub = !kernel.empty();
  for (const std::string& frame : trace.frames) {
    const auto calls = known.find(frame);
    if (calls == known.end()) continue;
    for (const Call& call : calls->second) {
      const bool inlined = calls->second.size() > 1 && &call != &calls->second.back();
      if (is_users(call, kernel, foreign) && !(in_stub && inlined)) all.push_back(call);
      in_stub = false;
    }
    if (!all.empty() && all.back().function.starts_with("main")) break;
  }
  return all;
}

std::string text_of(const std::vector<Call>& calls) {
  std::string text;
  for (std::size_t k = 0; k < std::min(calls.size(), kShownCalls); ++k) {
    const Call& c = calls[k];
    text += (k == 0 ? "" : ", from ") + c.function;
    if (!c.place.file.empty()) text += " (" + c.place.file + ":" + std::to_string(c.place.line) + ")";
  }
  return text;
}

}  // namespace

void name_calls(std::vector<Diagnostic>& diagnostics, const std::vector<std::string>& foreign) {
  std::set<std::string> frames;
  for (const Diagnostic& d : diagnostics)
    for (const Trace& trace : d.traces) frames.insert(trace.frames.begin(), trace.frames.end());
  const Calls known = frames.empty() ? Calls() : ask(frames);
  for (Diagnostic& d : diagnostics) {
    const auto base = [](const std::string& name) {
      return name.empty() ? "" : without_template_arguments(shorten(demangle(name)));
    };
    std::vector<Trace> named;
    for (const Trace& trace : d.traces) {
      const bool other = trace.title == "other";
      const std::string kernel =
          other && d.other ? base(d.other->who.substr(0, d.other->who.find(' '))) : base(d.kernel);
      const std::vector<Call> calls = users_calls(trace, kernel, known, foreign);
      if (calls.empty()) continue;
      SourcePlace& place = other && d.other ? d.other->place : d.place;
      if ((trace.title == "call" || other) && place.file.empty()) place = calls[0].place;
      const std::string title = trace.title == "call" ? "called by"
                                : other               ? "the other called by"
                                                      : trace.title + " by";
      d.notes.push_back(title + " " + text_of(calls));
      Trace& kept = named.emplace_back(Trace{trace.title, {}});
      for (const Call& c : calls)
        kept.frames.push_back(c.function +
                              (c.place.file.empty() ? "" : " " + c.place.file + ":" + std::to_string(c.place.line)));
    }
    d.traces = std::move(named);
  }
}

}  // namespace coalesce::tool
