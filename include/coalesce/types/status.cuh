// The result of every function of the library: whether the work could be started, and if not, why and what to do.
//
// The host finds an error in the arguments before anything is launched; then nothing has happened. Errors of the CUDA
// runtime come through as they are. Errors of the kernel itself (a pointer that is not the device's) show later, at the
// stream's next synchronisation, as with any launch.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace coalesce {

class status {
 public:
  constexpr status() = default;
  // `message`: a literal, it is not copied.
  constexpr status(cudaError_t error, const char* message) : error_(error), message_(message) {}
  constexpr status(cudaError_t error) : error_(error) {}

  constexpr bool ok() const { return error_ == cudaSuccess; }
  constexpr explicit operator bool() const { return ok(); }
  // cudaErrorInvalidValue: the arguments were refused.
  constexpr cudaError_t error() const { return error_; }
  const char* message() const { return message_ ? message_ : cudaGetErrorString(error_); }

 private:
  cudaError_t error_ = cudaSuccess;
  const char* message_ = nullptr;
};

namespace detail {

constexpr status refuse(const char* message) { return {cudaErrorInvalidValue, message}; }

// Bytes from `begin` up to `end`; none when they are equal.
struct span {
  std::uintptr_t begin = 0, end = 0;
};

inline span bytes_of(const void* data, std::uint64_t bytes) {
  const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(data);
  return {begin, begin + bytes};
}

constexpr bool overlap(span a, span b) {
  return a.begin < a.end && b.begin < b.end && a.begin < b.end && b.begin < a.end;
}

template <class T>
bool aligned(const T* data) {
  return reinterpret_cast<std::uintptr_t>(data) % alignof(T) == 0;
}

// a * b, false when it does not fit; both at least 0.
constexpr bool multiply(std::int64_t a, std::int64_t b, std::int64_t& product) {
  if (b != 0 && a > INT64_MAX / b) return false;
  product = a * b;
  return true;
}

// The check of `count` elements that a call reads or writes. Without elements any pointer will do.
template <class T>
status check_array(const T* data, std::int64_t count, const char* null_message) {
  std::int64_t bytes = 0;
  if (count < 0) return refuse("a count is negative: pass how many elements there are, 0 or more");
  if (!multiply(count, sizeof(T), bytes)) return refuse("a count is so large that its bytes do not fit in 63 bits");
  if (count > 0 && !data) return refuse(null_message);
  if (count > 0 && !aligned(data)) {
    return refuse("a pointer is not aligned to its element type: offset pointers by whole elements");
  }
  return {};
}

inline status check_apart(span in, span out) {
  if (overlap(in, out))
    return refuse("out overlaps the input, which is still read while results are written: use memory of its own");
  return {};
}

}  // namespace detail
}  // namespace coalesce
