// Exact statistics on the CPU: a summary of any elements keeps their exact sum, the exact sum of their squares, the least
// and the largest with their positions, and the count. Summaries of parts merge in any order to the same bytes. Plain
// C++17 for GCC and Clang; no CUDA. T is float, double, coalesce::half_bits, coalesce::bfloat16_bits or an integer of 8 to
// 64 bits.
//
//   coalesce::host::summary<float> all;
//   all.add(data, count, {true, true, true}, coalesce::host::ascending_from{first});
//
//   reproducible   (words: coalesce/reduce.cuh)
//   summary        elements and their positions, however they were added and merged; so are the bytes that it stores
#pragma once

#include <coalesce/host/exact.hpp>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

namespace coalesce::host {

// The parts of a summary to keep. Each costs a pass over data in the cache.
struct needs_of_summary {
  bool sum = false, squares = false, extremes = false;
};

template <class T>
inline constexpr bool is_integer = std::is_integral_v<T>;

// The value as a type that compares.
inline float number(half_bits x) { return coalesce::detail::host::as_float(x); }
inline float number(bfloat16_bits x) { return coalesce::detail::host::as_float(x); }
template <class T>
T number(T x) {
  return x;
}

// The least or the largest element and the lowest of its positions. As in the library, NaN wins over all numbers, and
// the first NaN is the one.
template <class T>
struct extreme {
  bool any = false, nan = false;
  T value{};
  uint64_t position = 0;

  template <class Better>
  void merge(const extreme& other, Better better) {
    if (!other.any) return;
    const bool same = any && nan == other.nan && (nan || number(value) == number(other.value));
    const bool wins = !any || (other.nan && !nan) || (!nan && !other.nan && better(number(other.value), number(value)));
    const bool takes = same ? other.position < position : wins;
    if (takes) *this = other;
  }
};

// An integer of 192 bits: sums of squares of 64-bit elements.
struct wide_integer {
  detail::host::wide_unsigned low = 0;
  uint64_t high = 0;
  void add(detail::host::wide_unsigned value) { high += __builtin_add_overflow(low, value, &low); }
  void merge(const wide_integer& other) {
    add(other.low);
    high += other.high;
  }
};

template <class T, bool = is_integer<T>>
struct sums_of {  // of floating-point elements
  exact_accumulator<T> sum;
  exact_accumulator<T, exact::format<T>::dot> squares;

  void add(const T* data, std::size_t count) { sum.add(data, count, 1); }
  void add_squares(const T* data, std::size_t count) { squares.add_products(data, data, count, 1); }
  void merge(const sums_of& other) {
    sum.merge(other.sum);
    squares.merge(other.squares);
  }
};

template <class T>
struct sums_of<T, true> {  // of integers
  detail::host::wide_signed sum = 0;     // room for 2^63 elements of 64 bits
  wide_integer squares;

  // A block has at most 2^24 elements, so 64 bits hold the sum of its elements of up to 32 bits.
  void add(const T* data, std::size_t count) {
    if constexpr (sizeof(T) < 8) {
      int64_t total = 0;
      for (std::size_t i = 0; i < count; ++i) total += data[i];
      sum += total;
    } else {
      detail::host::wide_signed total = 0;
      for (std::size_t i = 0; i < count; ++i) total += data[i];
      sum += total;
    }
  }
  void add_squares(const T* data, std::size_t count) {
    if constexpr (sizeof(T) < 4) {
      uint64_t total = 0;
      for (std::size_t i = 0; i < count; ++i) total += static_cast<uint64_t>(int64_t{data[i]} * data[i]);
      squares.add(total);
    } else if constexpr (sizeof(T) == 4) {
      detail::host::wide_unsigned total = 0;
      for (std::size_t i = 0; i < count; ++i) {
        const auto x = static_cast<uint64_t>(std::abs(int64_t{data[i]}));
        total += x * x;
      }
      squares.add(total);
    } else {
      for (std::size_t i = 0; i < count; ++i) {
        const uint64_t x = data[i] < 0 ? uint64_t{0} - static_cast<uint64_t>(data[i]) : static_cast<uint64_t>(data[i]);
        squares.add(static_cast<detail::host::wide_unsigned>(x) * x);
      }
    }
  }
  void merge(const sums_of& other) {
    sum += other.sum;
    squares.merge(other.squares);
  }
};

template <class T>
class summary {
 public:
  // Elements `first` .. `first` + count - 1 of the reduction; count <= 2^24. `position` maps an index into data to a
  // position.
  template <class Position>
  void add(const T* data, std::size_t count, const needs_of_summary& needs, Position position) {
    count_ += count;
    if (needs.sum) sums_.add(data, count);
    if (needs.squares) sums_.add_squares(data, count);
    if (needs.extremes && count != 0) add_extremes(data, count, position);
  }

  void merge(const summary& other) {
    count_ += other.count_;
    sums_.merge(other.sums_);
    least_.merge(other.least_, less());
    largest_.merge(other.largest_, greater());
  }

  uint64_t count() const { return count_; }
  const sums_of<T>& sums() const { return sums_; }
  const extreme<T>& least() const { return least_; }
  const extreme<T>& largest() const { return largest_; }

  // Bytes of a fixed length for T, equal on all little-endian machines; load() refuses others.
  std::string store() const;
  bool load(std::string_view bytes);

 private:
  struct less {
    template <class N>
    bool operator()(N a, N b) const {
      return a < b;
    }
  };
  struct greater {
    template <class N>
    bool operator()(N a, N b) const {
      return a > b;
    }
  };

  template <class Position>
  void add_extremes(const T* data, std::size_t count, Position position) {
    using N = decltype(number(T()));
    bool nan = false;
    N low = number(data[0]), high = low;
    for (std::size_t i = 0; i < count; ++i) {  // vectorised: no branches, NaN never compares
      const N x = number(data[i]);
      nan |= x != x;
      low = x < low || low != low ? x : low;
      high = x > high || high != high ? x : high;
    }
    take(least_, data, count, nan, low, less(), position);
    take(largest_, data, count, nan, high, greater(), position);
  }

  template <class N, class Better, class Position>
  void take(extreme<T>& best, const T* data, std::size_t count, bool nan, N value, Better better, Position position) {
    if (!nan && best.any && (best.nan || better(number(best.value), value))) return;
    extreme<T> found;
    for (std::size_t i = 0; i < count; ++i) {
      const N x = number(data[i]);
      if (nan ? x == x : x != value) continue;
      const uint64_t at = position(i);
      if (!found.any || at < found.position) found = {true, nan, data[i], at};
      if constexpr (Position::ascending) break;
    }
    best.merge(found, better);
  }

  uint64_t count_ = 0;
  sums_of<T> sums_;
  extreme<T> least_, largest_;
};

// Positions of elements that lie in memory in their order.
struct ascending_from {
  static constexpr bool ascending = true;
  uint64_t first = 0;
  uint64_t operator()(std::size_t i) const { return first + i; }
};

namespace stored {

template <class V>
void put(std::string& bytes, const V& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof(V));
}
template <class V>
bool get(std::string_view& bytes, V& value) {
  if (bytes.size() < sizeof(V)) return false;
  std::memcpy(&value, bytes.data(), sizeof(V));
  bytes.remove_prefix(sizeof(V));
  return true;
}
template <class A>
void put_exact(std::string& bytes, const A& sum) {
  unsigned char stored[A::stored_bytes];
  sum.store(stored);
  bytes.append(reinterpret_cast<const char*>(stored), sizeof(stored));
}
template <class A>
bool get_exact(std::string_view& bytes, A& sum) {
  if (bytes.size() < A::stored_bytes) return false;
  const bool right = sum.load(reinterpret_cast<const unsigned char*>(bytes.data()));
  bytes.remove_prefix(A::stored_bytes);
  return right;
}
template <class T>
void put_extreme(std::string& bytes, const extreme<T>& one) {
  put(bytes, static_cast<uint8_t>(one.any | one.nan << 1));
  put(bytes, one.value);
  put(bytes, one.position);
}
template <class T>
bool get_extreme(std::string_view& bytes, extreme<T>& one) {
  uint8_t flags = 0;
  if (!get(bytes, flags) || flags > 3 || !get(bytes, one.value) || !get(bytes, one.position)) return false;
  one.any = flags & 1;
  one.nan = flags & 2;
  return true;
}

}  // namespace stored

template <class T>
std::string summary<T>::store() const {
  std::string bytes;
  stored::put(bytes, count_);
  if constexpr (is_integer<T>) {
    stored::put(bytes, sums_.sum);
    stored::put(bytes, sums_.squares.low);
    stored::put(bytes, sums_.squares.high);
  } else {
    stored::put_exact(bytes, sums_.sum);
    stored::put_exact(bytes, sums_.squares);
  }
  stored::put_extreme(bytes, least_);
  stored::put_extreme(bytes, largest_);
  return bytes;
}

template <class T>
bool summary<T>::load(std::string_view bytes) {
  summary found;
  bool right = stored::get(bytes, found.count_);
  if constexpr (is_integer<T>) {
    right = right && stored::get(bytes, found.sums_.sum) && stored::get(bytes, found.sums_.squares.low) &&
            stored::get(bytes, found.sums_.squares.high);
  } else {
    right = right && stored::get_exact(bytes, found.sums_.sum) && stored::get_exact(bytes, found.sums_.squares);
  }
  right = right && stored::get_extreme(bytes, found.least_) && stored::get_extreme(bytes, found.largest_);
  if (!right || !bytes.empty()) return false;
  *this = found;
  return true;
}

}  // namespace coalesce::host
