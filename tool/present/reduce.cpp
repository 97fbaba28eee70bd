#include "tool/present/reduce.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "tool/figures/error.h"
#include "tool/present/table.h"
#include "tool/present/terminal.h"

namespace coalesce::tool {
namespace {

using coalesce::reduce::Operation;
using coalesce::reduce::Result;
using coalesce::reduce::text;
using Json = nlohmann::ordered_json;

constexpr uint64_t kRowsShown = 40;  // of results over axes

// NaN and infinities are no JSON numbers: they are text, as are whole numbers of more than 64 bits.
Json json_of(const Result& result) {
  if (const auto* number = std::get_if<double>(&result))
    return std::isfinite(*number) ? Json(*number) : Json(text(result));
  if (const auto* whole = std::get_if<int64_t>(&result)) return *whole;
  if (const auto* large = std::get_if<std::string>(&result)) return *large;
  return nullptr;
}

void write_text(const std::string& path, const std::string& text) {
  if (path == "-") {
    std::cout << text;
    return;
  }
  errno = 0;
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();
  if (!out) throw Error(Exit::environment, "cannot write '" + path + "': " + std::strerror(errno));
}

std::string index_text(uint64_t index, const std::vector<uint64_t>& extents) {
  std::vector<uint64_t> parts(extents.size());
  for (std::size_t i = extents.size(); i-- > 0;) {
    parts[i] = index % extents[i];
    index /= extents[i];
  }
  return fmt::format("[{}]", fmt::join(parts, ", "));
}

}  // namespace

void present_reduction(const Reduction& reduction, const std::string& json, bool colour) {
  const std::vector<Result> results =
      coalesce::reduce::results(reduction.element, *reduction.state, reduction.operations);
  const uint64_t read = reduction.state->end - reduction.state->begin;
  const bool part = read != reduction.identity.count && reduction.identity.parts > 1 &&
                    reduction.state->begin + read != 0 &&
                    static_cast<uint64_t>(std::get<int64_t>(coalesce::reduce::results(
                        reduction.element, *reduction.state, {Operation::count})[0])) != reduction.identity.count;
  if (json != "-") {
    std::cout << styled(fmt::format(
                            "{}, {} {} elements{}", plural(reduction.identity.files.size(), "file"),
                            grouped(reduction.identity.count), reduction.identity.element,
                            part ? fmt::format(", part {} of {}", reduction.identity.part, reduction.identity.parts)
                                 : std::string()),
                        Style::bold, colour)
              << '\n';
    for (std::size_t i = 0; i < results.size(); ++i)
      std::cout << fmt::format("  {:<14}  {}\n", row_of(reduction.operations[i]).name, text(results[i]));
  }
  if (json.empty()) return;
  Json files = Json::array(), values = Json::object();
  for (const auto& file : reduction.identity.files) files.push_back({{"path", file.path}, {"bytes", file.bytes}});
  for (std::size_t i = 0; i < results.size(); ++i)
    values[std::string(row_of(reduction.operations[i]).name)] = json_of(results[i]);
  Json all = {{"schema", "coalesce.reduce/1"},
              {"files", files},
              {"element", reduction.identity.element},
              {"elements", reduction.identity.count}};
  if (part) all["part"] = {reduction.identity.part, reduction.identity.parts};
  all["results"] = values;
  write_text(json, all.dump(2) + "\n");
}

void present_axes(const AxesReduction& reduction, const coalesce::reduce::AxesResult& result, const std::string& json,
                  bool colour) {
  const uint64_t count = result.results.empty() ? 0 : result.results[0].size();
  if (json != "-") {
    std::vector<Column> columns{{.title = "index", .left = true}};
    for (const Operation operation : reduction.operations)
      columns.push_back({.title = std::string(row_of(operation).name)});
    Table table(columns);
    for (uint64_t i = 0; i < std::min(count, kRowsShown); ++i) {
      std::vector<Cell> row{{index_text(i, result.extents)}};
      for (const std::vector<Result>& values : result.results) row.push_back({text(values[i])});
      table.row(std::move(row));
    }
    table.print(std::cout, colour, std::max<std::size_t>(terminal_width(STDOUT_FILENO), 40));
    if (count > kRowsShown)
      std::cout << fmt::format("and {} more; --json FILE or --output FILE.npy has all\n", grouped(count - kRowsShown));
  }
  if (json.empty()) return;
  Json values = Json::object();
  for (std::size_t o = 0; o < reduction.operations.size(); ++o) {
    Json list = Json::array();
    for (const Result& one : result.results[o]) list.push_back(json_of(one));
    values[std::string(row_of(reduction.operations[o]).name)] = std::move(list);
  }
  const Json all = {{"schema", "coalesce.reduce/1"},
                    {"files", {{{"path", reduction.path}}}},
                    {"element", std::string(row_of(reduction.element).name)},
                    {"shape", result.extents},
                    {"results", values}};
  write_text(json, all.dump(2) + "\n");
}

void write_npy(const std::string& path, const std::vector<uint64_t>& extents, const std::vector<Result>& results) {
  bool whole = true;
  for (const Result& one : results) {
    if (std::holds_alternative<std::monostate>(one))
      throw Error(Exit::usage, "no elements are reduced, so there is nothing to write to '" + path + "'");
    if (std::holds_alternative<std::string>(one))
      throw Error(Exit::usage, "a result has more than 64 bits: " + text(one), "--json FILE writes it whole");
    whole &= std::holds_alternative<int64_t>(one);
  }
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}",
                                   whole ? "<i8" : "<f8", fmt::join(extents, ", "), extents.size() == 1 ? "," : "");
  header.resize((10 + header.size() + 1 + 63) / 64 * 64 - 10 - 1, ' ');
  header += '\n';
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(header.size() & 255);
  bytes += static_cast<char>(header.size() >> 8);
  bytes += header;
  for (const Result& one : results) {
    char value[8];
    if (whole) {
      std::memcpy(value, &std::get<int64_t>(one), 8);
    } else {
      const double number =
          std::holds_alternative<double>(one) ? std::get<double>(one) : static_cast<double>(std::get<int64_t>(one));
      std::memcpy(value, &number, 8);
    }
    bytes.append(value, 8);
  }
  write_text(path, bytes);
}

}  // namespace coalesce::tool
