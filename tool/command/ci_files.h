// The files and annotations that CI reads, for the commands that run a program.
#pragma once

#include <memory>
#include <vector>

#include "tool/command/options.h"
#include "tool/present/ci.h"
#include "tool/present/export.h"

namespace coalesce::tool {

class CiFiles {
 public:
  // Opens the files. Throws Error (usage) when one cannot be written.
  explicit CiFiles(const CiOptions& options);
  // Writes all of them; those that fail, fail in `exporting`.
  void write(Exporting& exporting, const Record& record, const std::vector<Notice>& notices,
             const std::vector<Judgement>& judgements, int code);
  // Whether standard output carries one of them.
  bool standard_output() const;

 private:
  LineFormat lines_;
  std::unique_ptr<Export> sarif_, junit_;
};

}  // namespace coalesce::tool
