// The names of record/ that the whole command uses, and what it asks of a record besides.
#pragma once

#include <string>

#include "record/names.h"
#include "record/record.h"

namespace coalesce::tool {

using record::demangle;
using record::DeviceName;
using record::kAllCounters;
using record::Kernel;
using record::kGpuKey;
using record::Launch;
using record::Line;
using record::Lines;
using record::read_record;
using record::Record;
using record::shorten;
using record::without_template_arguments;

// Throws Error (environment) when the file cannot be opened.
Record read_record_file(const std::string& path);

// Keeps only the launches whose kernel's demangled name matches the POSIX extended regular expression.
// Throws Error (usage) when it is none.
void filter(Record& record, const std::string& regular_expression);

}  // namespace coalesce::tool
