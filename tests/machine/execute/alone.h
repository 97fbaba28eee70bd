// A thread alone that asks for a service: it has shared and global memory, and notes what it is told.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "machine/execute/cluster.h"
#include "machine/isa/service.h"
#include "machine/memory/memory.h"

namespace coalesce::machine::test {

// How a thread ends that asks for what cannot be.
struct ThreadEnds {
  int error;  // CUDA's number
  std::string message;
};

class ThreadAlone final : public ServiceThread {
 public:
  alignas(256) std::array<std::byte, 20 << 10> shared{};
  alignas(256) std::array<std::byte, (128 << 10) + 256> global{};
  std::vector<BulkPart> moved;
  std::vector<std::pair<uint64_t, uint64_t>> used;  // address, bytes
  uint64_t counted = 0, touched = 0, completed = 0;

  uint64_t base() const { return reinterpret_cast<uint64_t>(global.data()); }
  std::byte* at(uint64_t address, uint64_t bytes) override {
    used.emplace_back(address, bytes);
    if (const uint64_t offset = address - kSharedWindow; offset < kWindowSize)
      return offset + bytes <= shared.size() ? shared.data() + offset : throw ThreadEnds{700, "shared"};
    const uint64_t offset = address - base();
    return offset <= global.size() && bytes <= global.size() - offset ? global.data() + offset
                                                                      : throw ThreadEnds{700, "global"};
  }
  const std::byte* read(uint64_t address, uint64_t bytes) override { return at(address, bytes); }
  void touch(uint64_t, uint64_t bytes) override { touched += bytes; }
  void sectors(uint64_t count) override { counted += count; }
  void moves(const BulkPart& part) override { moved.push_back(part); }
  void completes(uint64_t object) override { completed = object; }
  Cluster& cluster(uint32_t&) override { throw ThreadEnds{-1, "no cluster"}; }
  [[noreturn]] void fail(const std::string& message) override { throw ThreadEnds{715, message}; }
  [[noreturn]] void astray(const std::string& message) override { throw ThreadEnds{700, message}; }
  [[noreturn]] void misaligned(const std::string& message) override { throw ThreadEnds{716, message}; }
};

// CUDA's number of the error with which the thread ends; 0: it goes on.
inline int error_of(ThreadAlone& t, std::string_view service, const std::vector<uint64_t>& words,
                    uint64_t* result = nullptr) {
  std::vector<uint64_t> all = words;
  all.resize(kMostServiceWords);
  try {
    const uint64_t r = find_service(service)->run(t, all.data());
    if (result) *result = r;
    return 0;
  } catch (const ThreadEnds& e) {
    return e.error;
  }
}

}  // namespace coalesce::machine::test
