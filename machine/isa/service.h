// Services: functions and instructions that the machine carries out itself, a thread at a time, for all executors
// (execute/device_services.cpp: the device's runtime). A service is a row; its arguments are 64-bit words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace coalesce::machine {

class DeviceHeap;
class DeviceRuntime;

// The thread that asks.
class ServiceThread {
 public:
  virtual ~ServiceThread() = default;
  // `bytes` at a generic address that this thread may use. Throws what the executor throws for such an access.
  virtual std::byte* at(uint64_t address, uint64_t bytes) = 0;
  // The thread ends the launch with this message.
  [[noreturn]] virtual void fail(const std::string& message) = 0;
  DeviceRuntime* runtime = nullptr;
  DeviceHeap* heap = nullptr;
  uint64_t block = 0;   // its number
  uint32_t thread = 0;  // within the block
};

struct Service {
  std::string_view name;
  std::string_view arguments;  // one each: 4 and 8 (bytes), d (a dim3, three words)
  char result = '4';           // bytes; 0: none
  bool ordered = true;         // its effect depends on the order of blocks: one at a time, in that order
  uint64_t (*run)(ServiceThread&, const uint64_t* arguments) = nullptr;
};

// Null: there is no such service.
const Service* find_service(std::string_view name);

inline constexpr std::size_t kMostServiceWords = 16;

}  // namespace coalesce::machine
