// The shared part of the experiments' programs: options, checked calls, device arrays, and the lines they print.
// Ordinary host code for nvcc and clang; a program includes it as "../program.h".
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <vector>

#define CHECK(call)                                                                                         \
  do {                                                                                                      \
    const cudaError_t error = (call);                                                                       \
    if (error != cudaSuccess) {                                                                             \
      std::fprintf(stderr, "%s:%d: error: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(error)); \
      std::exit(1);                                                                                         \
    }                                                                                                       \
  } while (0)

// After a launch: errors of the launch itself, then those of the kernel.
#define CHECK_KERNEL()              \
  do {                              \
    CHECK(cudaGetLastError());      \
    CHECK(cudaDeviceSynchronize()); \
  } while (0)

// An array on the device. No elements: no memory, and a null pointer.
template <typename T>
class Array {
 public:
  explicit Array(size_t size) : size_(size) {
    if (size) CHECK(cudaMalloc(reinterpret_cast<void**>(&data_), size * sizeof(T)));
  }
  explicit Array(const std::vector<T>& host) : Array(host.size()) { upload(host); }
  ~Array() { cudaFree(data_); }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;

  T* get() const { return data_; }
  void upload(const std::vector<T>& host) {
    if (size_) CHECK(cudaMemcpy(data_, host.data(), size_ * sizeof(T), cudaMemcpyHostToDevice));
  }
  // Bytes that no right result consists of, so that a kernel that writes nothing is found out.
  void spoil() {
    if (size_) CHECK(cudaMemset(data_, 0xcd, size_ * sizeof(T)));
  }
  std::vector<T> download() const { return download(size_); }
  std::vector<T> download(size_t count) const {
    std::vector<T> host(count);
    if (count) CHECK(cudaMemcpy(host.data(), data_, count * sizeof(T), cudaMemcpyDeviceToHost));
    return host;
  }

 private:
  T* data_ = nullptr;
  size_t size_;
};

// A whole number that the command line may change.
struct Option {
  const char* name;  // "--n"
  unsigned long long value, least, most;
  enum Kind { any, power_of_two } kind;
};

class Program {
 public:
  // Ends the program with code 2 when it is called wrongly. --rung NAME is understood by all.
  Program(int argc, char** argv, std::vector<Option> options) : options_(options) {
    std::set_new_handler([] {
      std::fputs("error: this computer has not enough memory for arrays of this size\nhint: smaller numbers\n", stderr);
      std::_Exit(3);
    });
    for (int i = 1; i < argc; i += 2) {
      const char* value = i + 1 < argc ? argv[i + 1] : "";
      if (!std::strcmp(argv[i], "--rung")) {
        only_ = value;
        continue;
      }
      Option* option = find(argv[i]);
      if (!option) usage(std::string("unknown option '") + argv[i] + "'");
      char* end = nullptr;
      const unsigned long long number = std::strtoull(value, &end, 10);
      const bool digits = *value >= '0' && *value <= '9' && !*end;
      if (!digits || number < option->least || number > option->most ||
          (option->kind == Option::power_of_two && (number & (number - 1)))) {
        usage(std::string(argv[i]) + " takes " + describe(*option) + ", not '" + value + "'");
      }
      option->value = number;
    }
  }

  unsigned long long operator[](const char* name) const { return const_cast<Program*>(this)->find(name)->value; }

  // True if the user asked for the rung.
  bool wants(const std::string& rung) {
    const bool wanted = only_.empty() || only_ == rung;
    found_ |= wanted;
    return wanted;
  }

  // The line that says how the rung ended. `what`: the result in a word or two.
  void result(const std::string& rung, bool right, const std::string& what = "") {
    std::printf("%-22s %s%s%s\n", rung.c_str(), what.c_str(), what.empty() ? "" : "  ", right ? "ok" : "wrong");
    wrong_ |= !right;
  }

  // The exit code.
  int end() const {
    if (!only_.empty() && !found_) usage("no rung is called '" + only_ + "'");
    return wrong_ ? 1 : 0;
  }

 private:
  Option* find(const char* name) {
    for (Option& option : options_) {
      if (!std::strcmp(option.name, name)) return &option;
    }
    return nullptr;
  }
  static std::string describe(const Option& option) {
    return (option.kind == Option::power_of_two ? "a power of two from " : "a whole number from ") +
           std::to_string(option.least) + " to " + std::to_string(option.most);
  }
  [[noreturn]] void usage(const std::string& why) const {
    std::fprintf(stderr, "error: %s\nhint: options:", why.c_str());
    for (const Option& option : options_) std::fprintf(stderr, " [%s %llu]", option.name, option.value);
    std::fprintf(stderr, " [--rung NAME]\n");
    std::exit(2);
  }

  std::vector<Option> options_;
  std::string only_;
  bool found_ = false, wrong_ = false;
};

inline unsigned int blocks_for(size_t elements, size_t block) {
  return static_cast<unsigned int>((elements + block - 1) / block);
}

// Small values of both signs and mean 0.
inline int element(size_t i) { return static_cast<int>(i * 7919 % 101) - 50; }
