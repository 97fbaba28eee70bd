#include "tool/command/ci_files.h"

#include <iostream>

#include "tool/figures/error.h"

namespace coalesce::tool {

CiFiles::CiFiles(const CiOptions& options)
    : lines_(options.lines),
      sarif_(options.sarif.empty() ? nullptr : std::make_unique<Export>("--sarif", options.sarif)),
      junit_(options.junit.empty() ? nullptr : std::make_unique<Export>("--junit", options.junit)) {
  if (sarif_ && junit_ && sarif_->standard_output() && junit_->standard_output())
    throw Error(Exit::usage, "--sarif - and --junit - cannot share standard output");
}

bool CiFiles::standard_output() const {
  return (sarif_ && sarif_->standard_output()) || (junit_ && junit_->standard_output());
}

void CiFiles::write(Exporting& exporting, const Record& record, const std::vector<Notice>& notices,
                    const std::vector<Judgement>& judgements, int code) {
  if (lines_ == LineFormat::github) std::cerr << github_annotations(notices);
  if (lines_ == LineFormat::gcc) std::cerr << gcc_lines(notices);
  if (sarif_) exporting.attempt([&] { sarif_->write(sarif(notices, COALESCE_VERSION)); });
  if (junit_) exporting.attempt([&] { junit_->write(junit(record, notices, judgements, code)); });
}

}  // namespace coalesce::tool
