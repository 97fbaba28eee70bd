// The operations of `coalesce reduce`, and their results.
#pragma once

#include <coalesce/host/summary.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace coalesce::reduce {

using Needs = host::needs_of_summary;
using Ascending = host::ascending_from;
template <class T>
using Summary = host::summary<T>;
template <class T>
using Extreme = host::extreme<T>;
template <class T>
using Sums = host::sums_of<T>;
using Wide = host::wide_integer;
using host::is_integer;
using host::number;

enum class Operation : uint8_t {
  count,
  exact_sum,
  exact_mean,
  sum_of_squares,
  norm2,
  min,
  argmin,
  max,
  argmax,
  variance,
  stddev
};

struct OperationRow {
  Operation operation;
  std::string_view name, meaning;
  Needs needs;
};

inline constexpr Needs kNothing{}, kSum{.sum = true}, kSquares{.squares = true}, kExtremes{.extremes = true},
    kMoments{.sum = true, .squares = true};

inline constexpr OperationRow kOperations[] = {
    {Operation::count, "count", "elements", kNothing},
    {Operation::exact_sum, "exact_sum", "the sum, rounded once; of integers exact", kSum},
    {Operation::exact_mean, "exact_mean", "the exact sum / count, rounded once", kSum},
    {Operation::sum_of_squares, "sum_of_squares", "the exact sum of squares, rounded once; of integers exact",
     kSquares},
    {Operation::norm2, "norm2", "the square root of the exact sum of squares, rounded once", kSquares},
    {Operation::min, "min", "the least element; NaN if there is one", kExtremes},
    {Operation::argmin, "argmin", "the lowest position of the least element, from 0", kExtremes},
    {Operation::max, "max", "the largest element; NaN if there is one", kExtremes},
    {Operation::argmax, "argmax", "the lowest position of the largest element, from 0", kExtremes},
    {Operation::variance, "variance", "divided by the count; exact up to one rounding", kMoments},
    {Operation::stddev, "stddev", "the square root of the variance, rounded once", kMoments},
};

inline const OperationRow& row_of(Operation operation) { return kOperations[static_cast<int>(operation)]; }

// "exact_sum,stats" -> operations, in their order, each once. `stats` is all of the table but sums of squares and
// norm2. Throws std::runtime_error naming the word that is none.
std::vector<Operation> operations_named(std::string_view list);
Needs needs_of(const std::vector<Operation>& operations);

// Nothing (of no elements), a whole number (as text where it has more than 64 bits), or a number rounded once to
// double.
using Result = std::variant<std::monostate, int64_t, std::string, double>;

template <class T>
Result result(const Summary<T>& summary, Operation operation);

std::string text(const Result& result);

}  // namespace coalesce::reduce
