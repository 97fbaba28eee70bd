#include "tool/present/report_page.h"

#include <fmt/format.h>

#include <ostream>

#include "cache/hash.h"
#include "tool/present/html_assets.h"
#include "tool/present/html_page.h"

namespace coalesce::tool {
namespace {

using Json = nlohmann::ordered_json;

// Ids that pages must not take.
constexpr const char* kOwnIds[] = {"overview", "banks",  "sectors", "words",         "main",
                                   "data",     "claims", "kernels", "failed-claims", "all-claims"};

// A Content-Security-Policy that lets nothing be fetched and no script run but ours.
std::string base64_of_hex(const std::string& hex) {
  static constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t i = 0; i < hex.size(); i += 6) {
    const std::string part = hex.substr(i, 6);
    const auto bits = static_cast<uint32_t>(std::stoul((part + "000000").substr(0, 6), nullptr, 16));
    for (std::size_t k = 0; k < 4; ++k) out += k <= part.size() / 2 ? kDigits[bits >> (18 - 6 * k) & 63] : '=';
  }
  return out;
}

}  // namespace

void write_page(std::ostream& out, const std::string& title, const std::string& subtitle,
                const std::vector<Section>& sections, const Json& data) {
  const std::string script(report_script());
  const std::string hash = base64_of_hex(cache::Sha256().add(script).hex());
  out << "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      << "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
         "img-src "
         "data:; base-uri 'none'; form-action 'none'; script-src 'sha256-"
      << hash << "'\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      << "<meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"generator\" content=\"coalesce\">\n"
      << "<link rel=\"icon\" href=\"data:,\">\n<title>" << escape(title) << "</title>\n<style>" << report_style()
      << "</style>\n</head>\n<body>\n<a class=\"skip\" href=\"#main\">To the figures</a>\n<header><h1>" << escape(title)
      << "</h1><p class=\"where\">" << subtitle << "</p>\n<nav aria-label=\"Pages\">";
  for (const Section& s : sections) {
    out << "<a href=\"#" << s.id << (s.aid ? "\" class=\"aid\">" : "\">") << escape(s.name) << "</a>";
  }
  out << "</nav></header>\n<main id=\"main\">\n";
  for (const Section& s : sections) {
    out << "<section class=\"page\" id=\"" << s.id << "\" aria-labelledby=\"" << s.id << "---h\">\n<h2 id=\"" << s.id
        << "---h\" tabindex=\"-1\">" << escape(s.title) << "</h2>\n"
        << s.html << "</section>\n";
  }
  out << "</main>\n<footer>Made by Coalesce. The file is complete: it asks for nothing from anywhere.</footer>\n"
      << "<script type=\"application/json\" id=\"data\">" << json_for_script(data) << "</script>\n<script>" << script
      << "</script>\n</body>\n</html>\n";
}

Ids report_ids() {
  Ids ids;
  for (const char* taken : kOwnIds) ids.make(taken);
  return ids;
}

std::string device_text(const DeviceName& device, const std::string& gpu) {
  if (device.key == kGpuKey) {
    return fmt::format("Measured on an <b>{}</b> (compute capability {}.{}), by its own counters.", escape(device.name),
                       device.compute_capability[0], device.compute_capability[1]);
  }
  return fmt::format("Counted by the Coalesce machine, which stands in for an <b>{}</b> (compute capability {}.{}). {}",
                     escape(device.name), device.compute_capability[0], device.compute_capability[1],
                     gpu.empty() ? "No GPU was used; nothing is timed."
                                 : "Times, and what is called measured, are an <b>" + escape(gpu) + "</b>'s.");
}

Json report_json(const char* kind, const DeviceName& device, const std::string& program) {
  return {{"schema", "coalesce.report/1"},
          {"kind", kind},
          {"how", device.key == kGpuKey ? "measured" : "counted"},
          {"where", device.key == kGpuKey ? "on an " + device.name : counted_on(device).where},
          {"device", {{"key", device.key}, {"name", device.name}, {"compute_capability", device.compute_capability}}},
          {"program", program},
          {"pages", Json::array()}};
}

}  // namespace coalesce::tool
