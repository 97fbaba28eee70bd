// The parts that every report has: the page itself, the two pictures, the explanation of the words.
#pragma once

#include <iosfwd>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tool/figures/record.h"
#include "tool/present/html_text.h"

namespace coalesce::tool {

struct Section {
  std::string id, name, title, html;
  bool aid = false;  // not about what was run
};

// Adds the sections about no run: the two pictures, and the words.
void add_aids(std::vector<Section>& sections);
// Ids that the page's own elements have are taken.
Ids report_ids();

void write_page(std::ostream& out, const std::string& title, const std::string& subtitle,
                const std::vector<Section>& sections, const nlohmann::ordered_json& data);

// The origin of the figures. `gpu`: the GPU that measured them too; empty: none.
std::string device_text(const DeviceName& device, const std::string& gpu);
// The page's data without its pages.
nlohmann::ordered_json report_json(const char* kind, const DeviceName& device, const std::string& program);

}  // namespace coalesce::tool
