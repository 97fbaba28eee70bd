#include "tool/figures/record.h"

#include <fmt/format.h>
#include <regex.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "tool/figures/error.h"

namespace coalesce::tool {

Record read_record_file(const std::string& path) {
  if (auto record = record::read_record_file(path)) return *std::move(record);
  throw Error(Exit::environment, "cannot read the record " + path + ": " + std::strerror(errno));
}

void filter(Record& record, const std::string& regular_expression) {
  regex_t compiled;
  if (const int status = regcomp(&compiled, regular_expression.c_str(), REG_EXTENDED | REG_NOSUB); status != 0) {
    char why[200] = "";
    regerror(status, &compiled, why, sizeof why);
    throw Error(Exit::usage, "--filter '" + regular_expression + "' is no regular expression: " + why);
  }
  std::vector<bool> keep;
  for (const Kernel& kernel : record.kernels)
    keep.push_back(regexec(&compiled, kernel.full.c_str(), 0, nullptr, 0) == 0);
  regfree(&compiled);
  const std::size_t launches = record.launches.size();
  std::erase_if(record.launches, [&](const Launch& launch) { return !keep[launch.kernel]; });
  if (launches == 0 || !record.launches.empty()) return;
  constexpr std::size_t kNamed = 5;
  record.none = fmt::format("No kernel matches --filter '{}'; those that were launched do not:", regular_expression);
  for (std::size_t k = 0; k < std::min(kNamed, record.kernels.size()); ++k)
    record.none += (k ? ", " : " ") + record.kernels[k].full;
  if (record.kernels.size() > kNamed) record.none += fmt::format(" and {} more", record.kernels.size() - kNamed);
  record.none += ".";
}

}  // namespace coalesce::tool
