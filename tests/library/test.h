// The shared part of the library's test programs: checked calls, expectations with a text, random numbers that are the
// same everywhere, and device arrays of any misalignment with guards on both sides.
#pragma once

#include <cuda_runtime.h>

#include <coalesce/status.cuh>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#define CHECK(call)                                                                                   \
  do {                                                                                                \
    const cudaError_t error_ = (call);                                                                \
    if (error_ != cudaSuccess) {                                                                      \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(error_)); \
      std::exit(1);                                                                                   \
    }                                                                                                 \
  } while (0)

// A call of the library that must succeed.
#define CALL(call)                                                                           \
  do {                                                                                       \
    const coalesce::status status_ = (call);                                                 \
    if (!status_) {                                                                          \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, status_.message()); \
      std::exit(1);                                                                          \
    }                                                                                        \
  } while (0)

// EXPECT(condition, "rows %d", rows): what follows the condition says what was tried.
#define EXPECT(condition, ...)                                                     \
  do {                                                                             \
    if (!(condition)) {                                                            \
      std::fprintf(stderr, "%s:%d: not so: %s: ", __FILE__, __LINE__, #condition); \
      std::fprintf(stderr, __VA_ARGS__);                                           \
      std::fprintf(stderr, "\n");                                                  \
      std::exit(1);                                                                \
    }                                                                              \
  } while (0)

using i64 = std::int64_t;

// splitmix64.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  // A number from low to high, both included.
  i64 between(i64 low, i64 high) { return low + static_cast<i64>(next() % static_cast<std::uint64_t>(high - low + 1)); }
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }  // [0, 1)

 private:
  std::uint64_t state_;
};

// `count` elements on the device, the first one `shift` elements behind a 256-byte boundary; around them guards that
// must stay as they are.
template <class T>
class Array {
 public:
  explicit Array(i64 count, int shift = 0) : count_(count), before_(256 + shift * sizeof(T)) {
    CHECK(cudaMalloc(reinterpret_cast<void**>(&memory_), bytes()));
    CHECK(cudaMemset(memory_, kGuard, bytes()));
    CHECK(cudaDeviceSynchronize());  // streams that do not wait for the default one may write at once
  }
  explicit Array(const std::vector<T>& values, int shift = 0) : Array(static_cast<i64>(values.size()), shift) {
    if (count_) CHECK(cudaMemcpy(get(), values.data(), count_ * sizeof(T), cudaMemcpyHostToDevice));
    CHECK(cudaDeviceSynchronize());  // from pageable memory the copy may return sooner; not all streams wait for it
  }
  ~Array() { CHECK(cudaFree(memory_)); }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;

  T* get() const { return reinterpret_cast<T*>(memory_ + before_); }
  i64 count() const { return count_; }
  // True if nothing has written here.
  bool untouched() const {
    for (const unsigned char byte : checked()) {
      if (byte != kGuard) return false;
    }
    return true;
  }
  // Waits for all work.
  std::vector<T> download() const {
    const std::vector<unsigned char> all = checked();
    std::vector<T> values(count_);
    if (count_) std::memcpy(static_cast<void*>(values.data()), all.data() + before_, count_ * sizeof(T));
    return values;
  }
  // The first element alone; T may be bool.
  T first() const {
    const std::vector<unsigned char> all = checked();
    T value;
    std::memcpy(static_cast<void*>(&value), all.data() + before_, sizeof(T));
    return value;
  }

 private:
  static constexpr int kGuard = 0xa5;
  // Everything, once all launches have ended and the guards are found as they were.
  std::vector<unsigned char> checked() const {
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    std::vector<unsigned char> all(bytes());
    CHECK(cudaMemcpy(all.data(), memory_, bytes(), cudaMemcpyDeviceToHost));
    for (std::size_t i = 0; i < all.size(); ++i) {
      const bool guard = i < before_ || i >= before_ + count_ * sizeof(T);
      EXPECT(!guard || all[i] == kGuard, "byte %lld of an array of %lld bytes was overwritten",
             static_cast<long long>(i) - static_cast<long long>(before_), static_cast<long long>(count_ * sizeof(T)));
    }
    return all;
  }
  std::size_t bytes() const { return before_ + count_ * sizeof(T) + 64; }
  i64 count_;
  std::size_t before_;
  unsigned char* memory_ = nullptr;
};

// A call that must be refused, in words with `words` in them.
inline void refused(const coalesce::status& s, const char* what, const char* words) {
  EXPECT(!s && s.error() == cudaErrorInvalidValue, "%s was not refused", what);
  EXPECT(std::strstr(s.message(), words), "%s: '%s' does not say '%s'", what, s.message(), words);
}
