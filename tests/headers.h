// For the tests' precompiled header: what most of them do with JSON. Its templates take longer to make than the rest of
// such a file; here the compiler makes them once. Nobody calls these functions, so no program has them.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace coalesce::precompiled {

template <class Json>
void scalars(Json& json, const std::string& text) {
  json["a"] = nullptr;
  json["a"] = true;
  json["a"] = 1;
  json["a"] = 1u;
  json["a"] = int64_t{1};
  json["a"] = uint64_t{1};
  json["a"] = 1.0;
  json["a"] = text;
  json["a"] = std::string(text);
  json["a"] = "text";
  json[text] = std::vector<std::string>{text};
  json.at("a").template get<std::string>();
  json.at(0).template get<double>();
  json.at(text).template get<bool>();
  json.at("a").template get<int>();
  json.at("a").template get<int64_t>();
  json.at("a").template get<uint32_t>();
  json.at("a").template get<uint64_t>();
  json.value("a", text);
  json.value("a", "");
  json.value("a", 0.0);
  json.value("a", uint64_t{0});
  static_cast<void>(json == "text" || json == text || json == 1 || json == 1u || json == uint64_t{1} || json == 1.0 ||
                    json == true || json == nullptr || json == json || json != json);
}

template <class Json>
void objects(Json json, const std::string& text, std::ifstream& file) {
  scalars(json, text);
  Json other = {
      {"a", 1}, {"b", text}, {"c", {{"d", true}, {"e", 1.0}}}, {"f", Json::array({1, 2})}, {"g", uint64_t{1}}};
  other = Json::object();
  other = Json::array();
  other = Json::parse(text);
  other = Json::parse(text, nullptr, false);
  other = Json::parse(file);
  json.push_back(other);
  json.push_back(std::move(other));
  json.push_back({{"a", text}});
  json.emplace_back(text);
  json["a"]["b"].push_back(1);
  json.erase("a");
  for (const Json& each : json) static_cast<void>(each.size() + each.dump(2).size());
  for (const auto& [key, value] : json.items()) static_cast<void>(value.contains(key) || value.empty());
  static_cast<void>(json.contains("a") && json.find("a") != json.end() && !json.back().is_discarded());
}

template <class Json>
void expected(const Json& json, const std::string& text) {
  EXPECT_EQ(json, "text");
  EXPECT_EQ(json["a"], text) << json << text << 1;
  EXPECT_EQ(json["a"], 1) << json["a"];
  EXPECT_EQ(json["a"], 1u);
  EXPECT_EQ(json["a"], uint64_t{1});
  EXPECT_EQ(json["a"], 1.0);
  EXPECT_EQ(json["a"], true);
  EXPECT_EQ(json["a"], nullptr);
  EXPECT_EQ(json, json);
  EXPECT_EQ(text, "text");
  EXPECT_EQ(text, text);
  EXPECT_EQ(text.size(), 1u);
}

inline void all(const std::string& text, std::ifstream& file) {
  objects(nlohmann::json(), text, file);
  objects(nlohmann::ordered_json(), text, file);
  expected(nlohmann::json(), text);
  expected(nlohmann::ordered_json(), text);
  static_cast<void>(nlohmann::json(nlohmann::ordered_json()));
  static_cast<void>(nlohmann::ordered_json(nlohmann::json()));
}

}  // namespace coalesce::precompiled
