#include "tool/command/compare.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iostream>
#include <memory>

#include "tool/command/cache.h"
#include "tool/figures/error.h"
#include "tool/present/compare.h"
#include "tool/present/export.h"

namespace coalesce::tool {

int compare(const CompareOptions& options) {
  const auto text_of = [](const std::string& path) {
    errno = 0;
    const auto text = read_file(path);
    if (text) return *text;
    throw Error(Exit::usage, "cannot read '" + path + "'" + (errno ? std::string(": ") + std::strerror(errno) : ""));
  };
  const auto json = options.json.empty() ? nullptr : std::make_unique<Export>("--json", options.json);
  const std::string first = text_of(options.counted), second = text_of(options.measured);
  const std::vector<ComparedLaunch> counted = read_launches(first, options.counted),
                                    measured = read_launches(second, options.measured);
  for (const auto& [launches, path] : {std::pair{&counted, &options.counted}, std::pair{&measured, &options.measured}})
    if (launches->empty()) throw Error(Exit::usage, *path + " holds no launch of a kernel");
  const bool baseline = is_counted(first) && is_counted(second);
  if (options.fail_on_increase && !baseline)
    throw Error(Exit::usage, "--fail-on-increase compares two runs of the machine",
                "coalesce run --json FILE writes one");
  const Comparing comparing = compare_launches(counted, measured, baseline);
  if (comparing.launches != 0 && !comparing.common)
    throw Error(Exit::usage, "no counter of memory is in both files",
                "ncu --csv --page raw --metrics $(coalesce counters --ncu) PROGRAM reads those that are compared");
  if (options.json != "-")
    print_comparing(std::cout, comparing, options.all, use_colour(options.colour, STDOUT_FILENO));
  if (json) json->write(comparing_json(comparing));
  if (options.fail_on_increase) return comparing.increased ? static_cast<int>(Exit::hazard) : 0;
  return comparing.equal == comparing.rows.size() && comparing.unmatched.empty() ? 0 : static_cast<int>(Exit::failed);
}

}  // namespace coalesce::tool
