// The bytes of one length as which accumulators travel between the ranks of coalesce/mpi.hpp, and how two of them are added.
#pragma once

#include <coalesce/host/exact.hpp>
#include <coalesce/host/summary.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <algorithm>
#include <string>
#include <type_traits>

namespace coalesce::mpi::detail {

// to += from: numbers of `words` words in the machine's order, the least first. Each word goes from memory to a register and
// back: a copy by vectors of what words have written would wait for them.
template <int words>
inline void add_words(unsigned char* to, const unsigned char* from) {
  unsigned char carry = 0;
  for (int i = 0; i < words; ++i) {
    unsigned long long sum, other;
    std::memcpy(&sum, to + 8 * i, 8);
    std::memcpy(&other, from + 8 * i, 8);
#if defined(__x86_64__)
    carry = __builtin_ia32_addcarryx_u64(carry, sum, other, &sum);
#else
    const unsigned long long partial = sum + other;
    sum = partial + carry;
    carry = (partial < other) | (sum < partial);
#endif
    std::memcpy(to + 8 * i, &sum, 8);
  }
}

// How an accumulator becomes bytes of one length, and back. `in_memory`: it is these bytes itself, so that arrays of it
// travel without copies.
template <class A>
struct stored_form;
template <class T, exact::range R>
struct stored_form<host::exact_accumulator<T, R>> {
  using accumulator = host::exact_accumulator<T, R>;
  using total = exact::total<R>;
  static constexpr int kind = 100 + static_cast<int>(R);
  static constexpr bool in_memory = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ &&
                                    sizeof(accumulator) == accumulator::stored_bytes &&
                                    std::is_trivially_copyable_v<accumulator>;
  static std::size_t bytes() { return accumulator::stored_bytes; }
  static void store(const accumulator& one, unsigned char* to) { one.store(to); }
  static bool load(accumulator& one, const unsigned char* from) { return one.load(from); }
  // Sums of numbers, which nearly all are: with this header any words are a stored form.
  static bool is_of_numbers(const unsigned char* bytes) {
    std::uint64_t header;
    std::memcpy(&header, bytes, sizeof(header));
    return in_memory && header == (total::blank_header | std::uint64_t{exact::something} << 48);
  }
  static bool is_stored(const unsigned char* bytes) {
    accumulator one;
    return is_of_numbers(bytes) || load(one, bytes);
  }
  // to += from. False if one of them is no stored form.
  static bool merge(unsigned char* to, const unsigned char* from) {
    if constexpr (in_memory) {
      if (is_of_numbers(to) && is_of_numbers(from)) {
        add_words<total::words>(to + 8, from + 8);
        return true;
      }
    }
    accumulator sum, other;
    if (!load(sum, to) || !load(other, from)) return false;
    sum.merge(other);
    store(sum, to);
    return true;
  }
};
template <class T>
struct stored_form<host::summary<T>> {
  using accumulator = host::summary<T>;
  static constexpr int kind = 1000 + static_cast<int>(sizeof(T)) + (host::is_integer<T> ? 100 : 0) +
                              (std::is_unsigned_v<T> ? 200 : 0) + (std::is_same_v<T, bfloat16_bits> ? 400 : 0);
  static constexpr bool in_memory = false;
  static std::size_t bytes() {
    static const std::size_t length = accumulator().store().size();
    return length;
  }
  static void store(const accumulator& one, unsigned char* to) {
    const std::string text = one.store();
    std::copy(text.begin(), text.end(), to);
  }
  static bool load(accumulator& one, const unsigned char* from) {
    return one.load({reinterpret_cast<const char*>(from), bytes()});
  }
  static bool is_stored(const unsigned char* bytes) {
    accumulator one;
    return load(one, bytes);
  }
  static bool merge(unsigned char* to, const unsigned char* from) {
    accumulator sum, other;
    if (!load(sum, to) || !load(other, from)) return false;
    sum.merge(other);
    store(sum, to);
    return true;
  }
};

// to[i] += from[i] for `count` stored forms. Bytes that are none make the result one that is none either, which is an error
// where it arrives.
template <class A>
void merge_forms(unsigned char* to, const unsigned char* from, int count) {
  using form = stored_form<A>;
  const std::size_t bytes = form::bytes();
  for (int i = 0; i < count; ++i, from += bytes, to += bytes)
    if (!form::merge(to, from)) std::memset(to, 0xff, bytes);
}

}  // namespace coalesce::mpi::detail
