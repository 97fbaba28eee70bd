// Exact sums on the CPU: the real-number result, rounded once to nearest even. The same bits as coalesce/exact.cuh on a
// GPU, whatever the order, the number of threads, the compiler's vector width, or how the data is cut into ranges.
// Plain C++17 for GCC and Clang; no CUDA. T is float, double, coalesce::half_bits or coalesce::bfloat16_bits.
//
//   double total = coalesce::host::exact_sum(data, count);
//
//   reproducible           (words: coalesce/reduce.cuh)
//   exact_sum              elements
//   exact_mean             elements
//   exact_dot              elements, in their pairs
//   exact_sum_of_squares   elements
//   exact_norm2            elements
//   exact_accumulator      elements, however they were added and merged; so are the bytes that it stores
//
// Special values: any NaN, or infinities of both signs: NaN. Infinities of one sign: that one. A result beyond T's
// range: the infinity it rounds to; partial sums beyond the range do no harm. Only -0: -0. Nothing at all: +0, and its
// mean is NaN.
#pragma once

#include <coalesce/detail/host/terms.hpp>
#include <system_error>
#include <thread>
#include <vector>

namespace coalesce::host {

// A sum in the making. It holds every bit, so that ranges may be added, and accumulators merged, in any order and
// grouping. R says what it has room for: sums of T (the default), or sums of products of two T, as format<T>::dot.
template <class T, exact::range R = exact::format<T>::sum>
class exact_accumulator {
  static_assert(R == exact::format<T>::sum || R == exact::format<T>::dot,
                "exact_accumulator<T, R>: R is exact::format<T>::sum or exact::format<T>::dot");

 public:
  using total_type = exact::total<R>;
  // Bytes of the stored form: a header of 8, then the words (docs/exact.md).
  static constexpr std::size_t stored_bytes = sizeof(total_type);

  exact_accumulator() { exact::clear(total_); }

  // Adds data[0 … count). threads = 0: as many as are worth while, at most one a core.
  void add(const T* data, std::size_t count, unsigned threads = 0) {
    static_assert(R == exact::format<T>::sum, "this accumulator holds products: use add_products");
    in_parts(count, threads, [data](std::size_t begin, std::size_t end, total_type& to) {
      detail::host::superaccumulator<typename detail::host::terms<T>::element> superaccumulator;
      detail::host::add_elements(superaccumulator, data + begin, end - begin);
      exact::merge(to, superaccumulator.total());
    });
  }
  void add(T value) {
    static_assert(R == exact::format<T>::sum, "this accumulator holds products: use add_products");
    detail::host::add_one(total_, detail::host::as_element(value));
  }

  // Adds a[i] * b[i], exactly, for i in [0, count). a and b may be the same.
  void add_products(const T* a, const T* b, std::size_t count, unsigned threads = 0) {
    static_assert(R == exact::format<T>::dot, "for products: exact_accumulator<T, coalesce::exact::format<T>::dot>");
    in_parts(count, threads, [a, b](std::size_t begin, std::size_t end, total_type& to) {
      if constexpr (R == exact::range::product) {
        detail::host::products_of_doubles products;
        products.add(a + begin, b + begin, end - begin);
        exact::merge(to, products.total());
      } else {
        detail::host::superaccumulator<typename detail::host::terms<T>::product> superaccumulator;
        detail::host::add_products(superaccumulator, a + begin, b + begin, end - begin);
        exact::merge(to, superaccumulator.total());
      }
    });
  }

  void merge(const exact_accumulator& other) { exact::merge(total_, other.total_); }

  // The sum, the sum / count, or the sum's square root: each rounded once, to T or to another element type.
  template <class As = T>
  As sum() const {
    return exact::from_bits<As>(exact::read<As>(total_));
  }
  template <class As = T>
  As mean(std::uint64_t count) const {
    return exact::from_bits<As>(exact::read<As>(total_, exact::reading::mean, count));
  }
  template <class As = T>
  As root() const {
    return exact::from_bits<As>(exact::read<As>(total_, exact::reading::root));
  }

  // The stored form: the same bytes for the same sum, on every machine.
  void store(unsigned char* bytes) const {
    if constexpr (as_in_memory) {
      memcpy(bytes, &total_, stored_bytes);
    } else {
      put(bytes, total_.header);
      for (int i = 0; i < total_type::words; ++i) put(bytes + 8 * (i + 1), total_.word[i]);
    }
  }
  // False, and nothing changed, if these are not `stored_bytes` bytes that store() has written for this range and
  // version.
  bool load(const unsigned char* bytes) {
    total_type found;
    if constexpr (as_in_memory) {
      memcpy(&found, bytes, stored_bytes);
    } else {
      found.header = get(bytes);
      for (int i = 0; i < total_type::words; ++i) found.word[i] = get(bytes + 8 * (i + 1));
    }
    total_type canonical = found;
    exact::set_flags(canonical, found.flags());
    if (memcmp(&canonical, &found, sizeof(found)) != 0) return false;
    total_ = found;
    return true;
  }

  const total_type& total() const { return total_; }

 private:
  static constexpr bool as_in_memory = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;

  static void put(unsigned char* bytes, std::uint64_t word) {
    for (int i = 0; i < 8; ++i) bytes[i] = static_cast<unsigned char>(word >> 8 * i);
  }
  static std::uint64_t get(const unsigned char* bytes) {
    std::uint64_t word = 0;
    for (int i = 0; i < 8; ++i) word |= std::uint64_t(bytes[i]) << 8 * i;
    return word;
  }

  template <class Part>
  void in_parts(std::size_t count, unsigned threads, Part part) {
    constexpr std::size_t worth_while = std::size_t(1)
                                        << 18;  // elements: some 50 us of work, twice what a thread costs
    const std::size_t most = count / worth_while;
    if (threads == 0) {
      threads = most < 2 ? 1 : std::thread::hardware_concurrency();
      if (threads > most) threads = static_cast<unsigned>(most);
    }
    if (threads <= 1) {
      part(0, count, total_);
      return;
    }
    std::vector<total_type> totals(threads);
    std::vector<std::thread> running;
    for (auto& one : totals) exact::clear(one);
    const auto run = [&](unsigned i) {
      const auto edge = [&](unsigned k) { return count / threads * k + (k == threads ? count % threads : 0); };
      part(edge(i), edge(i + 1), totals[i]);
    };
    unsigned started = 1;
    try {
      for (; started < threads; ++started) running.emplace_back(run, started);
    } catch (const std::system_error&) {  // no more threads to be had: the rest is done here
    }
    run(0);
    for (unsigned i = started; i < threads; ++i) run(i);
    for (auto& thread : running) thread.join();
    for (const auto& one : totals) exact::merge(total_, one);
  }

  total_type total_;
};

template <class T>
T exact_sum(const T* data, std::size_t count, unsigned threads = 0) {
  exact_accumulator<T> sum;
  sum.add(data, count, threads);
  return sum.sum();
}

template <class T>
T exact_mean(const T* data, std::size_t count, unsigned threads = 0) {
  exact_accumulator<T> sum;
  sum.add(data, count, threads);
  return sum.mean(count);
}

// The sum of a[i] * b[i]; the products are not rounded.
template <class T>
T exact_dot(const T* a, const T* b, std::size_t count, unsigned threads = 0) {
  exact_accumulator<T, exact::format<T>::dot> sum;
  sum.add_products(a, b, count, threads);
  return sum.sum();
}

template <class T>
T exact_sum_of_squares(const T* data, std::size_t count, unsigned threads = 0) {
  return exact_dot(data, data, count, threads);
}

// The square root of the exact sum of squares, rounded once: no overflow, no underflow in between.
template <class T>
T exact_norm2(const T* data, std::size_t count, unsigned threads = 0) {
  exact_accumulator<T, exact::format<T>::dot> sum;
  sum.add_products(data, data, count, threads);
  return sum.root();
}

}  // namespace coalesce::host
