// Rows' softmax and attention in double precision, and how far a kernel may be from that. The kernels use
// ex2.approx, lg2.approx and div.full, whose last bits PTX leaves open, so an H100's bits are no measure.
#pragma once

#include <algorithm>
#include <cmath>

#include "tests/triton/cases.h"

namespace coalesce::triton {

struct Expected {
  std::vector<double> values, bounds;  // of one result: what it is, and how far from it a kernel may be
};

// Half a unit of the last place, relative; of what is stored as 16 bits.
inline double rounding(const std::string& kind) { return kind == "f16" ? 0x1p-11 : kind == "bf16" ? 0x1p-8 : 0x1p-24; }

inline double real(const std::string& kind, uint64_t bits) {
  if (kind == "f32") return std::bit_cast<float>(static_cast<uint32_t>(bits));
  if (kind == "bf16") return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
  const auto fraction = static_cast<double>(bits & 0x3ff);
  const int exponent = static_cast<int>(bits >> 10 & 31);
  const double is = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  return bits >> 15 ? -is : is;
}

inline std::vector<double> reals(const std::string& kind, const std::vector<uint8_t>& bytes) {
  const uint32_t width = width_of(kind);
  std::vector<double> all(bytes.size() / width);
  for (std::size_t i = 0; i < all.size(); ++i) {
    uint64_t bits = 0;
    std::memcpy(&bits, &bytes[i * width], width);
    all[i] = real(kind, bits);
  }
  return all;
}

constexpr double kUnit = 0x1p-24;    // a rounding in single precision, relative
constexpr double kApprox = 0x1p-22;  // ex2.approx, relative; div.full: two units of the last place

// Arguments: x, y, n. A power's exponent is rounded as a difference, as a product and in the factor log2(e).
inline std::vector<Expected> softmax(const Case& c) {
  const Argument &x = c.arguments[0], &y = c.arguments[1];
  const std::vector<double> in = reals(x.kind, bytes_of(x));
  const std::size_t n = c.arguments[2].value;
  Expected e;
  for (std::size_t row = 0; row < in.size() / n; ++row) {
    const auto first = in.begin() + static_cast<std::ptrdiff_t>(row * n), end = first + static_cast<std::ptrdiff_t>(n);
    const double most = *std::max_element(first, end), range = most - *std::min_element(first, end);
    const double power = 3 * range * kUnit + kApprox;  // relative error of a power
    const double relative = 2 * power + std::log2(n) * kUnit + kUnit + kApprox + rounding(y.kind);
    double sum = 0;
    for (auto v = first; v != end; ++v) sum += std::exp(*v - most);
    for (auto v = first; v != end; ++v) {
      e.values.push_back(std::exp(*v - most) / sum);
      e.bounds.push_back(e.values.back() * relative + (y.kind == "f16" ? 0x1p-25 : 0));
    }
  }
  return {e};
}

// Arguments: q, k, v, o, most, n, scale. Scores are sums of `width` products, each of whose additions loses less than a
// unit of the largest partial sum; powers are rounded to the factors' type before they multiply.
inline std::vector<Expected> attention(const Case& c, bool causal) {
  const std::string& kind = c.arguments[0].kind;
  std::vector<double> in[3];
  for (std::size_t i = 0; i < 3; ++i) in[i] = reals(kind, bytes_of(c.arguments[i]));
  const std::size_t n = c.arguments[5].value, heads = c.grid[1], width = in[0].size() / heads / n;
  const double scale = real("f32", c.arguments[6].value);
  Expected out, most;
  std::vector<double> scores(n), powers(n);
  for (std::size_t row = 0; row < heads * n; ++row) {
    const std::size_t head = row / n * n, columns = causal ? row - head + 1 : n;
    double largest = -HUGE_VAL, products = 0, sum = 0, farthest = 0;
    for (std::size_t j = 0; j < columns; ++j) {
      double score = 0, all = 0;
      for (std::size_t d = 0; d < width; ++d) {
        const double p = in[0][row * width + d] * in[1][(head + j) * width + d];
        score += p, all += std::abs(p);
      }
      scores[j] = score * scale;
      largest = std::max(largest, scores[j]);
      farthest = std::max(farthest, std::abs(scores[j]));
      products = std::max(products, all);
    }
    for (std::size_t j = 0; j < columns; ++j) sum += powers[j] = std::exp2(scores[j] - largest);
    // Absolute error of an exponent: of two scores, of their products with the scale, of the difference.
    const double exponent =
        2 * (static_cast<double>(width) * 2 * kUnit * products * scale + farthest * kUnit) + 2 * farthest * kUnit;
    const double power = exponent * std::log(2) + 2 * kApprox;  // and of the factor by which earlier ones shrink
    const double added = static_cast<double>(columns) * 2 * kUnit;
    most.values.push_back(largest + std::log2(sum));
    most.bounds.push_back(exponent + (power + added) / std::log(2) + 0x1p-22 +
                          (std::abs(most.values.back()) + 1) * kUnit);
    for (std::size_t d = 0; d < width; ++d) {
      double value = 0, weight = 0;
      for (std::size_t j = 0; j < columns; ++j) {
        value += powers[j] * in[2][(head + j) * width + d] / sum;
        weight += powers[j] * std::abs(in[2][(head + j) * width + d]) / sum;
      }
      out.values.push_back(value);
      out.bounds.push_back(weight * (rounding(kind) + 2 * power + 2 * added + kApprox) +
                           std::abs(value) * rounding(kind) + 0x1p-25);
    }
  }
  return {out, most};
}

// The definition of the results in their order; empty: digests judge them.
inline std::vector<Expected> expected(const Case& c) {
  if (c.name.starts_with("softmax")) return softmax(c);
  if (c.name.starts_with("attention")) return attention(c, c.name.find("causal") != std::string::npos);
  return {};
}

// Says where a result is too far from its definition; empty: nowhere.
inline std::string wrong_with(const Expected& e, const std::string& kind, const std::vector<uint8_t>& bytes) {
  const std::vector<double> is = reals(kind, bytes);
  if (is.size() != e.values.size()) return "another size";
  for (std::size_t i = 0; i < is.size(); ++i)
    if (!(std::abs(is[i] - e.values[i]) <= e.bounds[i]))
      return std::to_string(i) + ": " + std::to_string(is[i]) + ", not " + std::to_string(e.values[i]) + " to " +
             std::to_string(e.bounds[i]);
  return {};
}

}  // namespace coalesce::triton
