// Every single-warp pattern that was measured on an H200 (tests/truth/*.jsonl) must be counted exactly.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "machine/observe/traffic.h"

namespace coalesce::machine {
namespace {

struct Pattern {
  std::string place;  // file:line
  std::string op;
  uint32_t mask = 0;
  std::array<uint32_t, 32> offset{};
  nlohmann::json measured;
};

std::vector<Pattern> read(const std::string& name) {
  std::vector<Pattern> patterns;
  std::ifstream file(std::string(COALESCE_SOURCE_DIR) + "/tests/truth/" + name);
  std::string text;
  for (int line = 1; std::getline(file, text); ++line) {
    Pattern p;
    p.measured = nlohmann::json::parse(text);
    p.place = name + ":" + std::to_string(line);
    if (!p.measured.contains("op")) continue;  // where and when
    p.op = p.measured.at("op");
    p.mask = static_cast<uint32_t>(std::stoul(p.measured.at("mask").get<std::string>(), nullptr, 16));
    p.offset = p.measured.at("offsets").get<std::array<uint32_t, 32>>();
    patterns.push_back(p);
  }
  return patterns;
}

// An operation's name in the truth is a prefix and bits per lane: what it is, and which of our rules it goes by.
enum class CostRule { shared_load, shared_store, shared_atomic, global, global_atomic, global_cas };
struct Operation {
  const char* prefix;
  CostRule rule;
};
constexpr Operation kOperations[] = {
    {"gatom", CostRule::global_atomic}, {"gexch", CostRule::global_atomic}, {"gcas", CostRule::global_cas},
    {"gredf", CostRule::global_atomic}, {"gred", CostRule::global_atomic},  {"gld", CostRule::global},
    {"gnc", CostRule::global},          {"gst", CostRule::global},          {"g", CostRule::global},
    {"ld", CostRule::shared_load},      {"st", CostRule::shared_store},     {"at", CostRule::shared_atomic},
};

// Measured patterns that the rules miss; a line that comes to agree must be taken from the list.
const std::set<std::string> kKnownDifferences = {};

std::set<std::string> differences(const std::vector<Pattern>& patterns, const TrafficImplementation& with) {
  std::set<std::string> differing;
  for (const Pattern& p : patterns) {
    const Operation* op = nullptr;
    for (const Operation& each : kOperations) {
      if (!op && p.op.starts_with(each.prefix)) op = &each;
    }
    if (!op) {
      ADD_FAILURE() << p.place << ": unknown operation " << p.op;
      continue;
    }
    const uint32_t width = static_cast<uint32_t>(std::stoul(p.op.substr(std::string(op->prefix).size()))) / 8;
    nlohmann::json counted;
    const auto shared = [&](auto cost) {
      const SharedCost c = cost(p.offset.data(), p.mask, width);
      counted = {{"wavefronts", c.wavefronts}, {"ideal", c.ideal}};
    };
    const auto global = [&](auto cost) {
      std::array<uint64_t, 32> address{};
      for (unsigned i = 0; i < 32; ++i) address[i] = 0x7f12'3440'0000ull + p.offset[i];  // as measured: a page of 2 MiB
      const GlobalCost c = cost(address.data(), p.mask, width);
      counted = {{"sectors", c.sectors}, {"lines", c.lines}, {"requests", 1}};
    };
    switch (op->rule) {
      case CostRule::shared_load:
        shared(with.shared_load_cost);
        break;
      case CostRule::shared_store:
        shared(with.shared_store_cost);
        break;
      case CostRule::shared_atomic:
        shared(with.shared_atomic_cost);
        break;
      case CostRule::global:
        global(with.global_cost);
        break;
      case CostRule::global_atomic:
        global([&](const uint64_t* at, uint32_t mask, uint32_t bytes) {
          return with.global_atomic_cost(at, mask, bytes, 128);
        });
        break;
      case CostRule::global_cas:
        global([&](const uint64_t* at, uint32_t mask, uint32_t bytes) {
          return with.global_atomic_cost(at, mask, bytes, 64);
        });
        break;
    }
    for (const auto& [key, value] : counted.items()) {
      if (p.measured.contains(key) && p.measured.at(key) != value) {
        differing.insert(p.place);
        if (!kKnownDifferences.contains(p.place)) {
          ADD_FAILURE() << p.place << " (" << p.op << "), " << with.name << ": " << key << " measured "
                        << p.measured.at(key) << ", counted " << value;
        }
      }
    }
  }
  return differing;
}

TEST(TrafficTruth, EveryMeasuredPatternIsCountedExactly) {
  std::vector<Pattern> patterns = read("banks.jsonl");
  ASSERT_FALSE(patterns.empty());
  for (const char* name : {"global.jsonl", "scattered.jsonl"}) {
    const std::vector<Pattern> more = read(name);
    ASSERT_FALSE(more.empty());
    patterns.insert(patterns.end(), more.begin(), more.end());
  }
  for (const TrafficImplementation& with : traffic_implementations()) {
    EXPECT_EQ(differences(patterns, with), kKnownDifferences) << with.name;
  }
}

}  // namespace
}  // namespace coalesce::machine
