// One column of a CSV file (RFC 4180) as doubles.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace coalesce::reduce {

struct CsvColumn {
  std::string column;  // its heading in the first line; or its number from 1, where the first line is a number there
  char separator = ',';
  bool skip_missing = false;  // empty fields are left out; otherwise they are an error
};

// Calls f(values, count) for the column's numbers in their order, up to 32768 at a time; `bytes` is how much of the
// file has been read. Numbers are rounded to double, to nearest; "nan" and "inf" are numbers. Throws std::runtime_error
// with file, line and reason.
void read_csv(const std::string& path, const CsvColumn& column,
              const std::function<void(const double*, std::size_t, uint64_t bytes)>& f);

}  // namespace coalesce::reduce
