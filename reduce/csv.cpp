#include "reduce/csv.h"

#include <charconv>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "reduce/mapped_file.h"

namespace coalesce::reduce {
namespace {

constexpr std::size_t kValues = 32768;

class RecordReader {
 public:
  RecordReader(std::string_view text, const std::string& path, char separator)
      : text_(text), path_(path), separator_(separator) {}

  bool end() const { return at_ >= text_.size(); }
  uint64_t at() const { return at_; }
  uint64_t line() const { return line_; }

  [[noreturn]] void refuse(const std::string& reason) const {
    throw std::runtime_error(path_ + ":" + std::to_string(line_) + ": " + reason);
  }

  // The fields of the next record; the one numbered `wanted` (from 0) is kept, all if it is kAll.
  static constexpr std::size_t kAll = SIZE_MAX;
  std::vector<std::string> record(std::size_t wanted) {
    std::vector<std::string> fields;
    line_ = next_line_;
    for (std::size_t number = 0;; ++number) {
      std::string field = this->field();
      if (wanted == kAll || number == wanted) fields.push_back(std::move(field));
      if (end()) break;
      const char c = text_[at_++];
      if (c == separator_) continue;
      if (c == '\r' && !end() && text_[at_] == '\n') ++at_;
      ++next_line_;
      break;
    }
    return fields;
  }

 private:
  std::string field() {
    std::string result;
    if (!end() && text_[at_] == '"') {
      for (++at_;; ++at_) {
        if (end()) refuse("a quoted field has no end");
        if (text_[at_] == '\n') ++next_line_;
        if (text_[at_] == '"') {
          if (at_ + 1 >= text_.size() || text_[at_ + 1] != '"') break;
          ++at_;
        }
        result += text_[at_];
      }
      ++at_;
      if (!end() && text_[at_] != separator_ && text_[at_] != '\n' && text_[at_] != '\r')
        refuse("text follows a quoted field");
      return result;
    }
    const auto begin = at_;
    while (!end() && text_[at_] != separator_ && text_[at_] != '\n' && text_[at_] != '\r') ++at_;
    return std::string(text_.substr(begin, at_ - begin));
  }

  std::string_view text_;
  const std::string& path_;
  char separator_;
  std::size_t at_ = 0;
  uint64_t line_ = 1, next_line_ = 1;
};

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

bool parse(std::string_view text, double& value) {
  text = trimmed(text);
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range && end == text.data() + text.size()) {
    value = std::strtod(std::string(text).c_str(), nullptr);  // the infinity or 0 that it rounds to
    return true;
  }
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

void read_csv(const std::string& path, const CsvColumn& column,
              const std::function<void(const double*, std::size_t, uint64_t)>& f) {
  const MappedFile file(path);
  std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // a byte order mark
  RecordReader reader(text, path, column.separator);
  std::vector<double> values;
  const auto hand_over = [&] {
    if (!values.empty()) f(values.data(), values.size(), reader.at());
    values.clear();
  };
  const auto take = [&](const std::string& field) {
    double value = 0;
    if (parse(field, value)) {
      values.push_back(value);
    } else if (!trimmed(field).empty()) {
      reader.refuse("'" + field + "' in column " + column.column + " is not a number");
    } else if (!column.skip_missing) {
      reader.refuse("column " + column.column + " is empty");
    }
    if (values.size() == kValues) hand_over();
  };
  if (reader.end()) throw std::runtime_error("'" + path + "' is empty");

  // The first record: headings, or values if the column is named by a number and holds one.
  const std::vector<std::string> first = reader.record(RecordReader::kAll);
  std::size_t wanted = first.size();
  for (std::size_t i = 0; i < first.size(); ++i) {
    if (trimmed(first[i]) == column.column) wanted = i;
  }
  if (wanted == first.size()) {
    std::size_t number = 0;
    const char* const end = column.column.data() + column.column.size();
    const auto [stopped, error] = std::from_chars(column.column.data(), end, number);
    if (error != std::errc() || stopped != end || number == 0 || number > first.size()) {
      std::string headings;
      for (const std::string& one : first) headings += (headings.empty() ? "" : ", ") + one;
      throw std::runtime_error("'" + path + "' has no column '" + column.column + "'; its first line is: " + headings);
    }
    wanted = number - 1;
    double ignored = 0;
    if (parse(first[wanted], ignored)) take(first[wanted]);
  }
  while (!reader.end()) {
    const auto before = reader.at();
    const std::vector<std::string> fields = reader.record(wanted);
    if (!fields.empty()) {
      // An empty line is no record, unless the file has one column.
      if (fields[0].empty() && reader.at() - before <= 2 && first.size() > 1) continue;
      take(fields[0]);
    } else if (reader.at() - before > 2) {
      reader.refuse("it has no column " + column.column);
    }
  }
  hand_over();
  if (MappedFile::failed()) throw std::runtime_error("'" + path + "' became shorter while it was read");
}

}  // namespace coalesce::reduce
