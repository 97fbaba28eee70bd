// Arrays that are hard to add: by seed, so that a failure can be repeated.
#pragma once

#include <coalesce/detail/exact/format.hpp>
#include <cstdint>
#include <random>
#include <vector>

namespace cases {

using generator = std::mt19937_64;

// Any finite value with an exponent field in [low, high].
template <class T>
T finite(generator& random, unsigned low, unsigned high) {
  namespace exact = coalesce::exact;
  using bits = typename exact::format<T>::bits;
  constexpr int precision = exact::format<T>::precision;
  const bits fraction = static_cast<bits>(random() & ((std::uint64_t(1) << (precision - 1)) - 1));
  const bits field = static_cast<bits>(low + random() % (high - low + 1));
  const bits sign = random() % 2 ? exact::sign_bit<T> : bits(0);
  // Often few bits are set: ties and exact cancellation are otherwise never met.
  const bits kept =
      random() % 4 ? fraction : static_cast<bits>(fraction & fraction << (precision - 1 - random() % precision));
  return exact::from_bits<T>(static_cast<bits>(sign | field << (precision - 1) | kept));
}

template <class T>
T negated(T x) {
  namespace exact = coalesce::exact;
  return exact::from_bits<T>(static_cast<typename exact::format<T>::bits>(exact::to_bits(x) ^ exact::sign_bit<T>));
}

template <class T>
std::vector<T> array(generator& random, std::size_t count) {
  namespace exact = coalesce::exact;
  using bits = typename exact::format<T>::bits;
  const unsigned top =
      static_cast<unsigned>(exact::infinity<T> >> (exact::format<T>::precision - 1)) - 1;  // the largest finite field
  std::vector<T> x(count);
  const unsigned centre = static_cast<unsigned>(random() % (top + 1)), width = static_cast<unsigned>(random() % 12);
  const unsigned low = centre > width ? centre - width : 0, high = centre + width < top ? centre + width : top;
  switch (random() % 8) {
    case 0:  // all exponents
      for (auto& v : x) v = finite<T>(random, 0, top);
      break;
    case 1:
    case 2:  // some exponents
      for (auto& v : x) v = finite<T>(random, low, high);
      break;
    case 3:  // subnormal
      for (auto& v : x) v = finite<T>(random, 0, random() % 4 == 0 ? 1 : 0);
      break;
    case 4:  // cancels, but for something far below
      for (std::size_t i = 0; i < count; ++i) x[i] = i % 2 ? negated(x[i - 1]) : finite<T>(random, low, top);
      if (count > 0) x[random() % count] = finite<T>(random, 0, low);
      break;
    case 5:  // a number, half of its last place, and a little or nothing
      for (auto& v : x) v = exact::from_bits<T>(random() % 2 ? bits(0) : exact::sign_bit<T>);
      if (count >= 3) {
        const unsigned precision = exact::format<T>::precision;
        const unsigned field = static_cast<unsigned>(random() % (top + 1));
        x[0] = finite<T>(random, field, field);
        if (field > precision)
          x[1] = exact::from_bits<T>(static_cast<bits>(bits(field - precision) << (precision - 1)));
        const unsigned below = field > precision ? field - precision : 0;
        if (random() % 3) x[2] = finite<T>(random, 0, below);
        if (random() % 2) x[1] = negated(x[1]);
      }
      break;
    case 6:  // the largest ones, of both signs
      for (auto& v : x)
        v = exact::from_bits<T>(
            static_cast<bits>((exact::infinity<T> - 1 - random() % 2) | (random() % 2 ? exact::sign_bit<T> : 0)));
      break;
    default:  // zeros of both signs, and now and then something else
      for (auto& v : x)
        v = random() % 16 ? exact::from_bits<T>(random() % 4 ? exact::sign_bit<T> : bits(0))
                          : finite<T>(random, low, high);
      break;
  }
  if (count > 0 && random() % 32 == 0) {  // infinities and NaN
    for (std::size_t k = random() % 3 + 1; k > 0; --k) {
      const bits special[] = {exact::infinity<T>, static_cast<bits>(exact::infinity<T> | exact::sign_bit<T>),
                              static_cast<bits>(exact::infinity<T> + 1)};
      x[random() % count] = exact::from_bits<T>(special[random() % 8 < 4 ? 0 : random() % 3]);
    }
  }
  return x;
}

// Mostly few elements; at times enough for several blocks, and odd.
inline std::size_t size(generator& random) {
  const auto choice = random() % 128;
  if (choice == 0) return random() % 20000;
  if (choice < 8) return random() % 600;
  return random() % 24;
}

}  // namespace cases
