// The driver's functions with the kinds of their parameters, read from cudart/driver/*.cpp, and calls with arguments
// that are machine words. So a test meets every function that does something, new ones too.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "cudart/driver/abi.h"

namespace coalesce::cudart {

enum class Kind : uint8_t {
  context,
  device,
  stream,
  event,
  function,
  library,
  graph,
  node,
  exec,
  pool,
  link,
  memory,   // a CUmemGenericAllocationHandle
  address,  // a CUdeviceptr
  array,
  texture,
  surface,
  ipc,  // by value, 64 bytes
  last_handle = ipc,
  nodes,     // a pointer to nodes
  place,     // a pointer to memory of the host
  callback,  // a function of the program's
  number,
};
constexpr bool is_handle(Kind kind) { return kind <= Kind::last_handle; }

struct Parameter {
  std::string type, name;
  Kind kind;
};
struct Signature {
  std::string name;
  const void* function = nullptr;
  std::vector<Parameter> parameters;
  bool has_handle() const;
};

// Every function that is defined in cudart/driver, in the order of the files. Other names of the same function are left
// out.
const std::vector<Signature>& signatures();

// A row of driver.def: its name, and the address that a client gets.
struct Exported {
  const char* name;
  const void* function;
};
std::vector<Exported> exported();

// An argument: its word, or for Kind::ipc eight of them.
struct Argument {
  std::array<uint64_t, 8> words{};
  bool by_value = false;
  static Argument of(uint64_t word) { return {{word}, false}; }
};
CUresult call_words(const void* function, const std::vector<Argument>& arguments);

}  // namespace coalesce::cudart
