// Records made by hand, as the writer writes them.
#pragma once

#include <map>
#include <sstream>
#include <string>

#include "record/record.h"

namespace coalesce::record {

using Values = std::map<std::string, uint64_t>;

inline const char* const kHeader =
    R"({"record":"coalesce.record/1","device":{"key":"h200","name":"NVIDIA H200","compute_capability":[9,0]},"program":"./app","pid":7})"
    "\n";
inline const char* const kEnd = R"({"copies":{"h2d":{"calls":1,"bytes":64}}})"
                                "\n"
                                R"({"end":true})"
                                "\n";

inline std::string counters_text(const Values& values, bool zeros) {
  std::string text = "{";
  for (const auto& row : machine::kCounterRows) {
    const auto found = values.find(std::string(row.name));
    if (found == values.end() && !zeros) continue;
    text += (text.size() > 1 ? ",\"" : "\"") + std::string(row.name) +
            "\":" + std::to_string(found == values.end() ? 0 : found->second);
  }
  return text + "}";
}

inline std::string kernel_text(int id, const std::string& name) {
  return "{\"kernel\":" + std::to_string(id) + ",\"name\":\"" + name + "\"}\n";
}

// `more`: further members, each with a comma before it.
inline std::string launch_text(int kernel, const Values& values, const std::string& more = "") {
  return "{\"launch\":0,\"kernel\":" + std::to_string(kernel) +
         R"(,"grid":[4,1,1],"block":[48,1,1],"dynamic_shared_bytes":16,"seconds":0.5,"fault":"","counters":)" +
         counters_text(values, true) + more + "}\n";
}

inline Record read_text(const std::string& text) {
  std::istringstream in(text);
  return read_record(in);
}

}  // namespace coalesce::record
