#include "reduce/operation.h"

#include <fmt/format.h>
#include <gmpxx.h>
#include <mpfr.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace coalesce::reduce {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// value x 2^exponent, rounded once to nearest even.
double nearest(const mpz_class& value, long exponent) {
  mpfr_t exact;
  mpfr_init2(exact, std::max<mpfr_prec_t>(2, static_cast<mpfr_prec_t>(mpz_sizeinbase(value.get_mpz_t(), 2))));
  mpfr_set_z_2exp(exact, value.get_mpz_t(), exponent, MPFR_RNDN);  // all bits fit
  const double result = mpfr_get_d(exact, MPFR_RNDN);
  mpfr_clear(exact);
  return result;
}

// Bits that decide a rounding to double: 53, two more, and one that says whether anything follows.
constexpr long kBits = 64;

// numerator / denominator x 2^exponent, rounded once. denominator > 0.
double quotient(mpz_class numerator, const mpz_class& denominator, long exponent) {
  const long up = std::max(0L, kBits + static_cast<long>(mpz_sizeinbase(denominator.get_mpz_t(), 2)) -
                                   static_cast<long>(mpz_sizeinbase(numerator.get_mpz_t(), 2)));
  numerator <<= static_cast<mp_bitcnt_t>(up);
  const bool negative = numerator < 0;
  mpz_class whole, rest;
  mpz_tdiv_qr(whole.get_mpz_t(), rest.get_mpz_t(), numerator.get_mpz_t(), denominator.get_mpz_t());
  whole *= 2;
  if (rest != 0) whole += negative ? -1 : 1;
  return nearest(whole, exponent - up - 1);
}

// The square root of numerator / denominator x 2^exponent, rounded once. numerator >= 0, denominator > 0.
double root(mpz_class numerator, const mpz_class& denominator, long exponent) {
  long up = std::max(0L, 2 * kBits + static_cast<long>(mpz_sizeinbase(denominator.get_mpz_t(), 2)) -
                             static_cast<long>(mpz_sizeinbase(numerator.get_mpz_t(), 2)));
  if ((exponent - up) % 2 != 0) ++up;
  numerator <<= static_cast<mp_bitcnt_t>(up);
  mpz_class whole, rest, square, below;
  mpz_tdiv_qr(whole.get_mpz_t(), rest.get_mpz_t(), numerator.get_mpz_t(), denominator.get_mpz_t());
  mpz_sqrtrem(square.get_mpz_t(), below.get_mpz_t(), whole.get_mpz_t());
  square *= 2;
  if (below != 0 || rest != 0) square += 1;
  return nearest(square, (exponent - up) / 2 - 1);
}

template <exact::range R>
mpz_class integer(const exact::total<R>& total) {
  mpz_class value;
  mpz_import(value.get_mpz_t(), exact::total<R>::words, -1, sizeof(uint64_t), 0, 0, total.word);
  if (total.word[exact::total<R>::words - 1] >> 63) value -= mpz_class(1) << (64 * exact::total<R>::words);
  return value;
}

mpz_class integer(coalesce::detail::host::wide_unsigned value) {
  mpz_class result(static_cast<unsigned long>(value >> 64));
  result <<= 64;
  result += static_cast<unsigned long>(value);
  return result;
}
mpz_class integer(coalesce::detail::host::wide_signed value) {
  return value < 0 ? mpz_class(-integer(-static_cast<coalesce::detail::host::wide_unsigned>(value)))
                   : integer(static_cast<coalesce::detail::host::wide_unsigned>(value));
}
mpz_class integer(const Wide& value) {
  return (mpz_class(static_cast<unsigned long>(value.high)) << 128) + integer(value.low);
}

Result whole(const mpz_class& value) {
  if (value.fits_slong_p()) return int64_t{value.get_si()};
  return value.get_str();
}

// Sum and sum of squares as integers, in units of 2^unit and 2^square_unit. False if an element is NaN or infinite.
template <class T>
bool moments(const Summary<T>& summary, mpz_class& sum, long& unit, mpz_class& squares, long& square_unit) {
  const Sums<T>& sums = summary.sums();
  if constexpr (is_integer<T>) {
    sum = integer(sums.sum);
    squares = integer(sums.squares);
    unit = square_unit = 0;
    return true;
  } else {
    constexpr uint32_t special = exact::nan_seen | exact::plus_infinity | exact::minus_infinity;
    if ((sums.sum.total().flags() & special) != 0) return false;
    sum = integer(sums.sum.total());
    squares = integer(sums.squares.total());
    unit = exact::layout<exact::format<T>::sum>::unit;
    square_unit = exact::layout<exact::format<T>::dot>::unit;
    return true;
  }
}

// (n x squares - sum^2) / n^2, whose numerator is exact.
template <class T>
double variance(const Summary<T>& summary, bool as_root) {
  mpz_class sum, squares;
  long unit = 0, square_unit = 0;
  if (!moments(summary, sum, unit, squares, square_unit)) return kNaN;
  const mpz_class n(static_cast<unsigned long>(summary.count()));
  mpz_class left = squares * n, right = sum * sum;
  const long least = std::min(square_unit, 2 * unit);
  left <<= static_cast<mp_bitcnt_t>(square_unit - least);
  right <<= static_cast<mp_bitcnt_t>(2 * unit - least);
  const mpz_class numerator = left - right;
  return as_root ? root(numerator, n * n, least) : quotient(numerator, n * n, least);
}

template <class T>
Result value_of(const Extreme<T>& extreme) {
  if (!extreme.any) return {};
  if constexpr (is_integer<T>) {
    if constexpr (std::is_same_v<T, uint64_t>) {
      if (extreme.value > uint64_t{INT64_MAX}) return std::to_string(extreme.value);
    }
    return static_cast<int64_t>(extreme.value);
  } else {
    return static_cast<double>(number(extreme.value));
  }
}

template <class T>
Result position_of(const Extreme<T>& extreme) {
  if (!extreme.any) return {};
  return static_cast<int64_t>(extreme.position);
}

}  // namespace

std::vector<Operation> operations_named(std::string_view list) {
  std::vector<Operation> result;
  const auto take = [&](Operation one) {
    if (std::find(result.begin(), result.end(), one) == result.end()) result.push_back(one);
  };
  while (true) {
    const auto comma = list.find(',');
    const std::string_view word = list.substr(0, comma);
    bool known = false;
    for (const OperationRow& row : kOperations) {
      const bool of_stats = row.operation != Operation::sum_of_squares && row.operation != Operation::norm2;
      if (word == row.name || (word == "stats" && of_stats)) {
        take(row.operation);
        known = true;
      }
    }
    if (!known) {
      std::string names = "stats";
      for (const OperationRow& row : kOperations) names += ", " + std::string(row.name);
      throw std::runtime_error("--op knows no '" + std::string(word) + "'; it takes " + names);
    }
    if (comma == std::string_view::npos) return result;
    list.remove_prefix(comma + 1);
  }
}

Needs needs_of(const std::vector<Operation>& operations) {
  Needs needs;
  for (const Operation operation : operations) {
    const Needs& one = row_of(operation).needs;
    needs.sum |= one.sum;
    needs.squares |= one.squares;
    needs.extremes |= one.extremes;
  }
  return needs;
}

template <class T>
Result result(const Summary<T>& summary, Operation operation) {
  const Sums<T>& sums = summary.sums();
  switch (operation) {
    case Operation::count:
      return static_cast<int64_t>(summary.count());
    case Operation::min:
      return value_of(summary.least());
    case Operation::argmin:
      return position_of(summary.least());
    case Operation::max:
      return value_of(summary.largest());
    case Operation::argmax:
      return position_of(summary.largest());
    case Operation::variance:
      return summary.count() == 0 ? kNaN : variance(summary, false);
    case Operation::stddev:
      return summary.count() == 0 ? kNaN : variance(summary, true);
    case Operation::exact_sum:
      if constexpr (is_integer<T>)
        return whole(integer(sums.sum));
      else
        return sums.sum.template sum<double>();
    case Operation::exact_mean:
      if (summary.count() == 0) return kNaN;
      if constexpr (is_integer<T>) {
        return quotient(integer(sums.sum), mpz_class(static_cast<unsigned long>(summary.count())), 0);
      } else {
        return sums.sum.template mean<double>(summary.count());
      }
    case Operation::sum_of_squares:
      if constexpr (is_integer<T>)
        return whole(integer(sums.squares));
      else
        return sums.squares.template sum<double>();
    case Operation::norm2:
      break;
  }
  if constexpr (is_integer<T>)
    return root(integer(sums.squares), 1, 0);
  else
    return sums.squares.template root<double>();
}

std::string text(const Result& result) {
  struct Text {
    std::string operator()(std::monostate) const { return "none"; }
    std::string operator()(int64_t value) const { return std::to_string(value); }
    std::string operator()(const std::string& value) const { return value; }
    std::string operator()(double value) const { return fmt::format("{}", value); }  // every digit, no more
  };
  return std::visit(Text(), result);
}

#define COALESCE_RESULT(T) template Result result<T>(const Summary<T>&, Operation);
COALESCE_RESULT(int8_t)
COALESCE_RESULT(int16_t)
COALESCE_RESULT(int32_t)
COALESCE_RESULT(int64_t)
COALESCE_RESULT(uint8_t)
COALESCE_RESULT(uint16_t)
COALESCE_RESULT(uint32_t)
COALESCE_RESULT(uint64_t)
COALESCE_RESULT(half_bits)
COALESCE_RESULT(bfloat16_bits)
COALESCE_RESULT(float)
COALESCE_RESULT(double)
#undef COALESCE_RESULT

}  // namespace coalesce::reduce
