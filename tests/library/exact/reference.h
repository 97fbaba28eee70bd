// Exact sums by other means: MPFR's numbers with so many bits that nothing is ever rounded, and one rounding in the
// end, by MPFR. Shares no line with the library but the names of formats.
#pragma once

#include <mpfr.h>

#include <coalesce/host/exact.hpp>
#include <vector>

namespace reference {

enum class what { sum, mean, root };

class number {
 public:
  number() {
    mpfr_init2(value_, 4608);  // from 2^-2149 to 2^2048, and 2^64 of those
    mpfr_set_zero(value_, 1);
  }
  ~number() { mpfr_clear(value_); }
  number(const number&) = delete;
  number& operator=(const number&) = delete;

  template <class T>
  void add(T x) {
    mpfr_t term;
    mpfr_init2(term, 64);
    set(term, x);
    note(term);
    mpfr_add(value_, value_, term, MPFR_RNDN);
    mpfr_clear(term);
  }
  template <class T>
  void add_product(T x, T y) {
    mpfr_t a, b, product;
    mpfr_inits2(64, a, b, static_cast<mpfr_ptr>(nullptr));
    mpfr_init2(product, 128);
    set(a, x);
    set(b, y);
    mpfr_mul(product, a, b, MPFR_RNDN);
    note(product);
    mpfr_add(value_, value_, product, MPFR_RNDN);
    mpfr_clears(a, b, product, static_cast<mpfr_ptr>(nullptr));
  }

  // This times `count`, less the other's square: no bit is lost.
  void times_less_square(unsigned long count, const number& other) {
    mpfr_t square;
    mpfr_init2(square, 4608);
    mpfr_sqr(square, other.value_, MPFR_RNDN);
    mpfr_mul_ui(value_, value_, count, MPFR_RNDN);
    mpfr_sub(value_, value_, square, MPFR_RNDN);
    mpfr_clear(square);
  }

  // The bits of the T that is nearest.
  template <class T>
  typename coalesce::exact::format<T>::bits read(what how, unsigned long count = 1) const {
    namespace exact = coalesce::exact;
    using bits = typename exact::format<T>::bits;
    constexpr int precision = exact::format<T>::precision, unit = exact::format<T>::unit;
    if (how == what::mean && count == 0) return exact::quiet_nan<T>;
    if (how == what::root && mpfr_sgn_or_nan() < 0) return exact::quiet_nan<T>;
    if (mpfr_nan_p(value_)) return exact::quiet_nan<T>;
    const bits sign = mpfr_signbit(value_) ? exact::sign_bit<T> : bits(0);
    if (mpfr_inf_p(value_)) return static_cast<bits>(exact::infinity<T> | sign);
    if (mpfr_zero_p(value_)) return elements_ > 0 && only_negative_zero_ ? exact::sign_bit<T> : bits(0);
    mpfr_t result;
    mpfr_init2(result, 70);
    apply(result, how, count, MPFR_RNDZ);  // its exponent is that of the exact result
    const long places = mpfr_get_exp(result) - unit;
    bits answer = 0;
    if (places >= 1) {
      mpfr_set_prec(result, places < precision ? places : precision);
      apply(result, how, count, MPFR_RNDN);
      // An integer number of units 2^(exponent of the last place), and that exponent, make the bits.
      const long top = mpfr_get_exp(result) - unit - 1;  // 0: the least subnormal
      mpz_t digits;
      mpz_init(digits);
      const long last = mpfr_get_z_2exp(digits, result);
      mpz_abs(digits, digits);
      const long field = top - (precision - 1) > 0 ? top - (precision - 1) : 0;
      const long up = last - (field + unit);
      if (up >= 0)
        mpz_mul_2exp(digits, digits, static_cast<unsigned long>(up));
      else
        mpz_tdiv_q_2exp(digits, digits, static_cast<unsigned long>(-up));
      const unsigned long long whole = (static_cast<unsigned long long>(field) << (precision - 1)) + mpz_get_ui(digits);
      answer = whole > exact::infinity<T> ? exact::infinity<T> : static_cast<bits>(whole);
      mpz_clear(digits);
    } else if (places == 0) {  // between half of the least subnormal and the whole: up, but for the tie
      mpfr_set_prec(result, 2);
      const bool tie = apply(result, how, count, MPFR_RNDZ) == 0 && mpfr_cmpabs_power(result, unit - 1) == 0;
      answer = tie ? 0 : 1;
    }
    mpfr_clear(result);
    return static_cast<bits>(answer | sign);
  }

 private:
  template <class T>
  static void set(mpfr_t to, T x) {
    if constexpr (sizeof(T) >= 4)
      mpfr_set_d(to, static_cast<double>(x), MPFR_RNDN);
    else
      small(to, x.bits, coalesce::exact::format<T>::precision, coalesce::exact::format<T>::unit,
            coalesce::exact::infinity<T>);
  }
  static void small(mpfr_t to, unsigned bits, int precision, int unit, unsigned infinity) {
    const int sign = bits >> 15 ? -1 : 1;
    const unsigned magnitude = bits & 0x7fff, field = magnitude >> (precision - 1);
    if (magnitude > infinity) {
      mpfr_set_nan(to);
    } else if (magnitude == infinity) {
      mpfr_set_inf(to, sign);
    } else if (magnitude == 0) {
      mpfr_set_zero(to, sign);
    } else {
      const unsigned fraction = magnitude & ((1u << (precision - 1)) - 1);
      const long significand = field == 0 ? fraction : fraction | 1u << (precision - 1);
      mpfr_set_si_2exp(to, sign * significand, unit + (field == 0 ? 0 : static_cast<int>(field) - 1), MPFR_RNDN);
    }
  }
  void note(const mpfr_t term) {
    ++elements_;
    only_negative_zero_ = only_negative_zero_ && mpfr_zero_p(term) && mpfr_signbit(term);
  }
  int mpfr_sgn_or_nan() const { return mpfr_nan_p(value_) ? 0 : mpfr_sgn(value_); }
  int apply(mpfr_t result, what how, unsigned long count, mpfr_rnd_t rounding) const {
    if (how == what::mean) return mpfr_div_ui(result, value_, count, rounding);
    if (how == what::root) return mpfr_sqrt(result, value_, rounding);
    return mpfr_set(result, value_, rounding);
  }
  static int mpfr_cmpabs_power(const mpfr_t x, long exponent) {
    mpfr_t magnitude;
    mpfr_init2(magnitude, 70);
    mpfr_abs(magnitude, x, MPFR_RNDN);
    const int order = mpfr_cmp_ui_2exp(magnitude, 1, exponent);
    mpfr_clear(magnitude);
    return order;
  }

  mpfr_t value_;
  unsigned long elements_ = 0;
  bool only_negative_zero_ = true;
};

// The bits of the double nearest to (n x squares - sum^2) / n^2.
template <class T>
std::uint64_t variance(const std::vector<T>& x) {
  number sum, squares;
  for (const T& one : x) {
    sum.add(one);
    squares.add_product(one, one);
  }
  squares.times_less_square(x.size(), sum);
  return squares.read<double>(what::mean, x.size() * x.size());
}

}  // namespace reference
