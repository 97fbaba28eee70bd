#include "tool/present/html_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "tool/figures/figures.h"
#include "tool/figures/findings.h"
#include "tool/present/html_table.h"
#include "tool/present/html_text.h"
#include "tool/present/terminal.h"

namespace coalesce::tool {
namespace fs = std::filesystem;
namespace {

using machine::Counters;

constexpr uint32_t kAround = 2;            // lines shown before and after a counted one
constexpr std::size_t kLongestLine = 400;  // bytes shown

uint64_t sectors(const Counters& c) {
  return c.global_load_sectors + c.global_store_sectors + c.global_atomic_sectors + c.global_reduction_sectors;
}
uint64_t local_sectors(const Counters& c) { return c.local_load_sectors + c.local_store_sectors; }

struct Measure {
  const char* title;
  const char* hint;
  const char* heat;  // CSS class
  bool waste;        // shaded
  uint64_t (*value)(const Counters&);
};
const Measure kMeasures[] = {
    {"sectors", "32-byte sectors of global memory that loads, stores and atomics at this line touched", "hs", false,
     sectors},
    {"wasted", "of these, sectors beyond the fewest that hold the bytes asked for", "hw", true, wasted_sectors},
    {"local", "sectors of local memory: arrays and spills that did not stay in registers", "hw", true, local_sectors},
    {"waves", "passes over the banks of shared memory", "hv", false, shared_wavefronts},
    {"conflicts", "of these, passes due to bank conflicts", "hc", true, bank_conflicts},
    {"divergent", "branches whose lanes went both ways", "hc", false,
     [](const Counters& c) { return c.divergent_branches; }},
    {"instr", "warp instructions (of PTX)", "hi", false, [](const Counters& c) { return c.instructions; }},
};

// Shading by share of the largest; nothing below 1 %.
std::string shade(double value, double most) {
  const double share = most > 0 ? value / most : 0;
  return share >= 0.01 ? fmt::format(" style=\"--h:{:.2g}\"", share) : "";
}

class Listing {
 public:
  Listing(const Lines& lines, double most_waste) : most_waste_(most_waste) {
    for (const Line& line : lines) {
      for (std::size_t i = 0; i < std::size(kMeasures); ++i) {
        most_[i] = std::max(most_[i], kMeasures[i].value(line.counters));
      }
    }
  }

  std::string head(const std::string& file) const {
    std::string out = "<table class=\"source\"><thead><tr><th scope=\"col\" class=\"n\">line</th>";
    for (std::size_t i = 0; i < std::size(kMeasures); ++i) {
      if (most_[i]) {
        out += fmt::format("<th scope=\"col\" class=\"n\" title=\"{}\">{}</th>", kMeasures[i].hint, kMeasures[i].title);
      }
    }
    return out + fmt::format("<th scope=\"col\">{}</th></tr></thead><tbody>\n", escape(file));
  }

  // `counters`: null where nothing was counted at the line.
  std::string row(uint32_t number, const Counters* counters, const std::string& code) const {
    std::string out =
        fmt::format("<tr{}><th scope=\"row\" class=\"n\">{}</th>", counters ? "" : " class=\"q\"", number);
    const std::string heat = counters ? shade(wasted_cycles(*counters), most_waste_) : "";
    for (std::size_t i = 0; i < std::size(kMeasures); ++i) {
      if (most_[i] == 0) continue;
      const uint64_t value = counters ? kMeasures[i].value(*counters) : 0;
      if (value) {
        out += fmt::format("<td class=\"n {} m-{}\"{}>{}</td>", kMeasures[i].heat, kMeasures[i].title,
                           kMeasures[i].waste ? heat : "", grouped(value));
      } else {
        out += "<td></td>";
      }
    }
    return out + fmt::format("<td class=\"code\"{}>{}</td></tr>\n", heat, escape(code.substr(0, kLongestLine)));
  }

  std::string gap() const {
    const auto shown = std::count_if(std::begin(most_), std::end(most_), [](uint64_t m) { return m != 0; });
    return fmt::format("<tr class=\"gap\"><td colspan=\"{}\">\u22ef</td></tr>\n", shown + 2);
  }

 private:
  uint64_t most_[std::size(kMeasures)] = {};
  double most_waste_;
};

std::string file_rows(const Listing& listing, const std::vector<const Line*>& lines,
                      const std::vector<std::string>* code) {
  std::string out;
  uint32_t next = 0;  // the first line not shown yet; 0: none was
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const uint32_t line = lines[i]->line;
    if (!code || line == 0 || line > code->size()) {
      out += listing.row(line ? line : lines[i]->ptx_line, &lines[i]->counters, "");
      continue;
    }
    uint32_t from = line > kAround ? line - kAround : 1;
    // A gap of one line is no shorter than the line.
    if (next && from > next + 1) out += listing.gap();
    if (next && from <= next + 1) from = next;
    for (uint32_t n = from; n < line; ++n) out += listing.row(n, nullptr, (*code)[n - 1]);
    out += listing.row(line, &lines[i]->counters, (*code)[line - 1]);
    next = line + 1;
    const uint32_t stop = i + 1 < lines.size() ? std::max(lines[i + 1]->line, next) : UINT32_MAX;
    for (uint32_t n = 0; n < kAround && next < stop && next <= code->size(); ++n, ++next) {
      out += listing.row(next, nullptr, (*code)[next - 1]);
    }
  }
  return out;
}

}  // namespace

std::string source_html(const Lines& lines, const std::string& label, const fs::path& beside, Sources& sources,
                        double most_waste) {
  if (lines.empty()) return "<p>No line touched memory or branched.</p>\n";
  const Listing listing(lines, most_waste);
  std::map<std::string, std::vector<const Line*>> files;
  for (const Line& line : lines) files[line.file].push_back(&line);
  // Instructions that belong to no source line come last.
  std::string out, rest;
  for (auto& [file, counted] : files) {
    std::sort(counted.begin(), counted.end(), [](const Line* a, const Line* b) {
      return std::pair(a->line, a->ptx_line) < std::pair(b->line, b->ptx_line);
    });
    const std::vector<std::string>* code = sources.lines(file, beside);
    std::string name = file.substr(file.rfind('/') + 1);
    if (file.empty()) {
      name =
          files.size() == 1 ? "PTX (build with -lineinfo to see source lines)" : "PTX that belongs to no source line";
    } else if (!code) {
      name += " (the file is not there)";
    }
    (file.empty() ? rest : out) +=
        scroll_html(label + ", " + name, listing.head(name) + file_rows(listing, counted, code) + "</tbody></table>");
  }
  return out + rest;
}

}  // namespace coalesce::tool
