// The command's treatment of `check`'s diagnostics: merging, the user's lines, suppressions, text and JSON.
#include "tool/present/hazards.h"

#include <gmock/gmock.h>

#include <fstream>
#include <sstream>

#include "tests/tool/fixture.h"
#include "tool/figures/error.h"
#include "tool/present/remedy.h"

namespace coalesce::tool {
namespace {

using machine::Diagnostic;
using machine::Fault;
using machine::Hazard;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

Diagnostic race_at(uint32_t line, uint32_t other, const std::string& kernel = "_Z1kIiEvPi") {
  Diagnostic d;
  d.hazard = Hazard::race_shared;
  d.message = "race";
  d.kernel = kernel;
  d.what = "read";
  d.address = "4 bytes at offset 12 of shared memory 'sums'";
  if (line != 0) d.place = {"/home/a.cu", line, 1};
  d.ptx_line = 10 * line + 1;
  d.other.emplace();
  d.other->what = "write";
  d.other->ptx_line = 10 * other + 1;
  if (other != 0) d.other->place = {"/home/a.cu", other, 1};
  d.count = 2;
  return d;
}

std::string text_of(const Hazards& hazards) {
  std::ostringstream out;
  print_hazards(out, hazards, read_text(kHeader + kernel_text(0, "_Z1kIiEvPi") + launch_text(0, {}) + kEnd), false);
  return out.str();
}

TEST(HazardsTest, EqualLinesAreOneFindingInAllKernels) {
  const Hazards h = hazards_of({race_at(1, 2), race_at(2, 1, "_Z1kIfEvPf"), race_at(1, 3)}, {});
  ASSERT_EQ(h.found.size(), 2u);
  EXPECT_EQ(h.found[0].d.count, 4u);
  EXPECT_THAT(h.found[0].kernels, ElementsAre("_Z1kIiEvPi", "_Z1kIfEvPf"));
  EXPECT_THAT(text_of(h), HasSubstr("note: the same in void k<float>(float*)"));
  EXPECT_THAT(text_of(h), HasSubstr("2 hazards in 1 launch of 1 kernel"));
}

TEST(HazardsTest, WithoutLinesAVariableOfAKernelIsOneFinding) {
  std::vector<Diagnostic> all;
  for (uint32_t k = 0; k < 300; ++k) {
    Diagnostic d = race_at(0, 0, k % 2 ? "_Z1kIiEvPi" : "_Z1kIfEvPf");
    d.ptx_line = 100 + k;
    d.address = std::to_string(k) + " bytes at offset " + std::to_string(k) + " of shared memory 'sums'";
    all.push_back(d);
  }
  all.push_back(race_at(0, 0));
  all.back().address = "4 bytes at offset 0 of shared memory 'other'";
  const Hazards h = hazards_of(all, {});
  ASSERT_EQ(h.found.size(), 2u);
  EXPECT_EQ(h.found[0].places, 300u);
  EXPECT_THAT(text_of(h), HasSubstr("at 300 pairs of PTX lines"));
}

TEST(HazardsTest, EachKindSaysWhatToDo) {
  for (const auto& [kind, hazard] : machine::kHazards) {
    const std::string name = kind;
    Diagnostic d;
    d.hazard = hazard;
    const bool told_by_its_own_notes =
        name.starts_with("race_") || name == "early_use" || name == "bad_mask" || name == "constant_write";
    if (hazard != Hazard::none && hazard != Hazard::not_checked)
      EXPECT_EQ(remedy_of(d).empty(), told_by_its_own_notes) << name;
  }
  Diagnostic past = race_at(1, 2);
  past.hazard = Hazard::out_of_array;
  past.notes = {"the address was made of 'tile'"};
  EXPECT_THAT(
      text_of(hazards_of({past}, {})),
      HasSubstr("note: the index has to stay below the array's length\n  note: the address was made of 'tile'"));
}

// Lanes meet at one pair, warps at another, blocks at a third: __syncwarp() is no remedy.
TEST(HazardsTest, OfEqualFindingsTheWidestPairIsShown) {
  Diagnostic lanes = race_at(1, 2), warps = race_at(1, 2, "_Z5widerv"), blocks = race_at(1, 2);
  lanes.notes = {"lanes of one warp need not run in step: __syncwarp() has to come between them"};
  warps.notes = {"__syncthreads() has to come between them"};
  blocks.other->block = {1, 0, 0};
  blocks.notes = {"blocks run in any order"};
  const auto shown = [](const std::vector<Diagnostic>& all) {
    const Hazards h = hazards_of(all, {});
    EXPECT_EQ(h.found.size(), 1u);
    EXPECT_EQ(h.found[0].d.count, 2 * all.size());
    return h.found[0].d.notes.at(0).substr(0, 5);
  };
  EXPECT_EQ(shown({lanes, lanes}), "lanes");
  EXPECT_EQ(shown({lanes, warps}), "__syn");
  EXPECT_EQ(shown({warps, lanes}), "__syn");
  EXPECT_EQ(shown({warps, blocks, lanes}), "block");
  EXPECT_THAT(text_of(hazards_of({lanes, warps}, {})), HasSubstr("note: the same in void k<int>(int*)"));
}

TEST(HazardsTest, HazardsThatARunGoesOnAfterAreErrors) {
  Diagnostic d = race_at(1, 2);
  d.hazard = Hazard::divergent_barrier;
  d.severity = machine::Severity::warning;
  EXPECT_THAT(text_of(hazards_of({d}, {})), HasSubstr(": error: race"));
  d.hazard = Hazard::uninitialised_copy;
  EXPECT_THAT(text_of(hazards_of({d}, {})), HasSubstr(": warning: race"));
}

TEST(HazardsTest, TheLineIsTheUsersInnermost) {
  Diagnostic d = race_at(1, 2);
  d.place = {"/usr/include/lib.h", 70, 1};
  d.inlined_at = {{"/opt/x/more.h", 71, 0}, {"/home/mine.h", 5, 0}, {"/home/a.cu", 9, 0}};
  d.other->place = {"/ours/cuda_fp16.h", 3, 0};
  d.other->inlined_at = {{"/home/a.cu", 8, 0}};
  HazardRules rules;
  rules.foreign = {"/ours"};
  const Hazards h = hazards_of({d}, rules);
  EXPECT_EQ(h.found.at(0).d.place.file, "/home/mine.h");
  EXPECT_EQ(h.found[0].d.other->place.line, 8u);
  EXPECT_THAT(h.found[0].d.notes, testing::Contains(HasSubstr("/usr/include/lib.h:70")));
}

TEST(HazardsTest, AtMostTwentyArePrinted) {
  std::vector<Diagnostic> all;
  for (uint32_t k = 1; k <= 25; ++k) all.push_back(race_at(k, k));
  const std::string text = text_of(hazards_of(all, {}));
  std::size_t shown = 0;
  for (std::size_t at = text.find("error: race"); at != std::string::npos; at = text.find("error: race", at + 1))
    ++shown;
  EXPECT_EQ(shown, 20u);
  EXPECT_THAT(text, HasSubstr("and 5 more hazards"));
  EXPECT_THAT(text, HasSubstr("25 hazards in"));
}

TEST(HazardsTest, WhatStoppedItselfIsNeitherHazardNorClean) {
  for (const Fault fault : {Fault::illegal_instruction, Fault::assertion, Fault::trap, Fault::budget}) {
    Diagnostic d;
    d.fault = fault;
    d.message = "stopped";
    const Hazards h = hazards_of({d}, {});
    EXPECT_EQ(h.found.size(), 0u);
    EXPECT_EQ(h.not_checked.size(), 1u);
    EXPECT_THAT(text_of(h), HasSubstr("not all was checked"));
    EXPECT_THAT(text_of(h), Not(HasSubstr("no hazards in 1")));
  }
  Diagnostic d;
  d.fault = Fault::illegal_address;
  EXPECT_EQ(hazards_of({d}, {}).found.size(), 1u);
}

TEST(HazardsTest, Suppressions) {
  const auto left = [](const std::string& text) {
    HazardRules rules;
    rules.suppressions = parse_suppressions(text, "file");
    const Hazards h = hazards_of({race_at(7, 8)}, rules);
    EXPECT_EQ(h.suppressed, h.found.empty() ? 2u : 0u);
    return h.found.size();
  };
  EXPECT_EQ(left(""), 1u);
  EXPECT_EQ(left("# nothing\n\n"), 1u);
  for (const char* text : {"race", "*", "race_shared", "leak,race_shared", "race at=a.cu", "race at=a.cu:7",
                           "race at=/home/a.cu:8", "race kernel=k<int>", "leak\nrace at=a.cu:8  # why"})
    EXPECT_EQ(left(text), 0u) << text;
  for (const char* text : {"race_global", "race at=b.cu", "race at=a.cu:9", "race at=ome/a.cu", "race kernel=^k"})
    EXPECT_EQ(left(text), 1u) << text;
  for (const char* text : {"races", "race at=", "race at=a.cu:0", "race at=a.cu:x", "race kernel=(", "race a.cu"})
    EXPECT_THROW(parse_suppressions(text, "file"), Error) << text;
}

TEST(HazardsTest, KindsCanBeSwitchedOff) {
  HazardRules rules;
  rules.disabled = {"race_shared"};
  EXPECT_EQ(hazards_of({race_at(1, 2)}, rules).found.size(), 0u);
  rules.disabled = {"race_global"};
  EXPECT_EQ(hazards_of({race_at(1, 2)}, rules).found.size(), 1u);
}

TEST(HazardsTest, TheManualNamesEveryKind) {
  std::ifstream in(COALESCE_SOURCE_DIR "/docs/check.md");
  const std::string manual{std::istreambuf_iterator<char>(in), {}};
  for (const std::string& kind : hazard_kinds()) EXPECT_THAT(manual, HasSubstr("`" + kind + "`"));
}

// As much of JSON Schema as docs/check.schema.json uses. What it does not know is an error.
class Schema {
 public:
  explicit Schema(nlohmann::json root) : root_(std::move(root)) {}
  std::string check(const nlohmann::json& value) const { return check(value, root_, "$"); }

 private:
  static bool is(const nlohmann::json& value, const std::string& type) {
    return (type == "object" && value.is_object()) || (type == "array" && value.is_array()) ||
           (type == "string" && value.is_string()) || (type == "integer" && value.is_number_integer()) ||
           (type == "boolean" && value.is_boolean()) || (type == "null" && value.is_null());
  }
  std::string check(const nlohmann::json& value, const nlohmann::json& schema, const std::string& at) const {
    for (const auto& [key, rule] : schema.items()) {
      if (key == "$ref") {
        const std::string path = rule.get<std::string>();
        if (std::string wrong = check(value, root_.at("$defs").at(path.substr(path.rfind('/') + 1)), at);
            !wrong.empty())
          return wrong;
      } else if (key == "const") {
        if (value != rule) return at + " is not " + rule.dump();
      } else if (key == "type") {
        bool fits = rule.is_string() && is(value, rule);
        if (rule.is_array())
          for (const auto& type : rule) fits = fits || is(value, type);
        if (!fits) return at + " is no " + rule.dump();
      } else if (key == "required") {
        for (const auto& name : rule)
          if (!value.contains(name)) return at + " has no " + name.dump();
      } else if (key == "additionalProperties") {
        for (const auto& [name, each] : value.items())
          if (!schema.at("properties").contains(name)) return at + " has " + name + ", which the schema does not name";
      } else if (key == "properties") {
        for (const auto& [name, each] : rule.items())
          if (value.contains(name))
            if (std::string wrong = check(value[name], each, at + "." + name); !wrong.empty()) return wrong;
      } else if (key == "items") {
        for (const auto& each : value)
          if (std::string wrong = check(each, rule, at + "[]"); !wrong.empty()) return wrong;
      } else if (key != "$schema" && key != "title" && key != "description" && key != "$defs") {
        return "the schema says " + key;
      }
    }
    return "";
  }
  nlohmann::json root_;
};

TEST(HazardsTest, JsonKeepsItsSchema) {
  std::ifstream in(COALESCE_SOURCE_DIR "/docs/check.schema.json");
  const Schema schema(nlohmann::json::parse(in));
  Diagnostic stopped, copied, odd = race_at(0, 4);
  stopped.fault = Fault::trap;
  copied.severity = machine::Severity::warning;
  copied.hazard = Hazard::uninitialised_copy;
  odd.traces = {{"launch", {"main a.cu:7"}}};
  odd.who = "in stream 1";
  odd.message = "\xff";
  const Hazards h = hazards_of({race_at(1, 2), odd, stopped, copied}, {});
  const Record record = read_text(kHeader + kernel_text(0, "_Z1kIiEvPi") + launch_text(0, {}) + kEnd);
  nlohmann::json json = hazards_json(h, record, 4);
  EXPECT_EQ(schema.check(json), "");
  EXPECT_EQ(json["findings"].size(), 2u);
  EXPECT_EQ(json["warnings"].size(), 1u);
  EXPECT_EQ(json["complete"], false) << "a kernel stopped itself";
  EXPECT_EQ(schema.check(unfinished_json("app")), "");
  EXPECT_TRUE(nlohmann::json(unfinished_json("app"))["exit_code"].is_null());
  nlohmann::json complete = hazards_json({}, record, 0);
  EXPECT_EQ(complete["complete"], true);
  // It can fail.
  json["findings"][0].erase("kind");
  EXPECT_NE(schema.check(json), "");
  complete["more"] = 1;
  EXPECT_NE(schema.check(complete), "");
}

}  // namespace
}  // namespace coalesce::tool
