// Kernels as Triton 3.6.0 compiles them (*.ptx, from kernels.py and cases.py by tests/hardware/triton_compile.py),
// their arguments, and what an H100 left and counted: tests/truth/triton.txt. A line: the name, words KEY=VALUE. arg,
// one each:
//   KIND:COUNT:SEED                            memory; seed 0: results
//   KIND:COUNT:SEED:ROWSxCOLUMNS:BOX:SWIZZLE   the description of such memory
//   =NUMBER:BYTES                              a value
//   scratch:BYTES                              memory for the kernel's own use
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace coalesce::triton {

struct Argument {
  enum class Is : uint8_t { memory, described, value, scratch } is = Is::value;
  std::string kind;
  uint64_t count = 0, seed = 0, value = 0;
  std::array<uint64_t, 2> shape{};
  std::array<uint32_t, 2> box{};
  uint32_t swizzle = 0, bytes = 0;
  bool result() const { return (is == Is::memory || is == Is::described) && seed == 0; }
};

struct Case {
  std::string name, ptx, entry;
  std::array<uint32_t, 3> grid{1, 1, 1};
  uint32_t threads = 0, shared = 0, cluster = 1;
  std::vector<Argument> arguments;
  std::vector<uint64_t> digests;  // of the results, in the order of the arguments; none where PTX leaves bits open
  std::map<std::string, int64_t> counters;
};

inline uint32_t width_of(const std::string& kind) {
  if (kind == "f32" || kind == "i32") return 4;
  return kind == "f16" || kind == "bf16" ? 2 : 1;
}

// splitmix64 of 2^32 seed + i, without the lowest 40 bits.
inline uint64_t word(uint64_t seed, uint64_t i) {
  uint64_t z = ((seed << 32) + i) * 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return (z ^ z >> 31) >> 40;
}

// Numbers: of halves n / 2^10 with n from -2^11 on, of bf16 n / 2^7 from -2^8, of f32 n / 2^22 from -2^23; else any
// byte that is finite.
inline uint64_t number(const std::string& kind, uint64_t w) {
  const auto real = [](int64_t n, float unit) { return std::bit_cast<uint32_t>(static_cast<float>(n) * unit); };
  if (kind == "f32") return real(static_cast<int64_t>(w) - (1 << 23), 0x1p-22f);
  if (kind == "bf16") return real(static_cast<int64_t>(w & 0x1ff) - 256, 0x1p-7f) >> 16;
  if (kind == "f16") {
    const int64_t n = static_cast<int64_t>(w & 0xfff) - 2048;
    if (n == 0) return 0;
    const uint32_t is = real(n, 0x1p-10f);  // normal as a half, and exact
    return (is >> 16 & 0x8000) | ((is >> 23 & 0xff) - 112) << 10 | (is >> 13 & 0x3ff);
  }
  uint64_t b = w & 0xff;
  const bool special = kind == "e4m3" ? (b & 0x7f) == 0x7f : kind == "e5m2" && (b & 0x7c) == 0x7c;
  return special ? b ^ 0x40 : b;
}

inline std::vector<uint8_t> bytes_of(const Argument& a) {
  if (a.is == Argument::Is::scratch) return std::vector<uint8_t>(a.bytes);
  const uint32_t width = width_of(a.kind);
  std::vector<uint8_t> bytes(a.count * width, 0xee);
  for (uint64_t i = 0; a.seed != 0 && i < a.count; ++i) {
    const uint64_t n = number(a.kind, word(a.seed, i));
    std::memcpy(&bytes[i * width], &n, width);
  }
  return bytes;
}

inline uint64_t digest(const std::vector<uint8_t>& bytes) {
  uint64_t h = 0xcbf29ce484222325;
  for (const uint8_t b : bytes) h = (h ^ b) * 0x100000001b3;
  return h;
}

// CUDA's number of the type.
inline uint32_t tensor_type(const std::string& kind) { return kind == "f16" ? 6 : kind == "f32" ? 7 : 9; }

inline Argument argument_of(const std::string& text) {
  Argument a;
  std::vector<std::string> parts;
  std::stringstream stream(text);
  for (std::string part; std::getline(stream, part, ':');) parts.push_back(part);
  const auto pair = [](const std::string& t, auto& to) {
    unsigned long long x = 0, y = 0;
    std::sscanf(t.c_str(), "%llux%llu", &x, &y);
    to = {static_cast<typename std::remove_reference_t<decltype(to)>::value_type>(x),
          static_cast<typename std::remove_reference_t<decltype(to)>::value_type>(y)};
  };
  if (text[0] == '=') {
    a.value = std::stoull(parts[0].substr(1));
    a.bytes = static_cast<uint32_t>(std::stoul(parts[1]));
  } else if (parts[0] == "scratch") {
    a.is = Argument::Is::scratch;
    a.bytes = static_cast<uint32_t>(std::stoul(parts[1]));
  } else {
    a.is = parts.size() > 3 ? Argument::Is::described : Argument::Is::memory;
    a.kind = parts[0], a.count = std::stoull(parts[1]), a.seed = std::stoull(parts[2]);
    if (parts.size() > 3)
      pair(parts[3], a.shape), pair(parts[4], a.box), a.swizzle = static_cast<uint32_t>(std::stoul(parts[5]));
  }
  return a;
}

inline std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline std::vector<Case> cases(const std::string& source) {
  std::vector<Case> all;
  std::ifstream file(source + "/tests/truth/triton.txt");
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    Case c;
    words >> c.name;
    c.ptx = text_of(source + "/tests/triton/" + c.name + ".ptx");
    const std::string entry = ".visible .entry ";
    const std::size_t at = c.ptx.find(entry) + entry.size();
    c.entry = c.ptx.substr(at, c.ptx.find('(', at) - at);
    for (std::string w; words >> w && w != "#";) {
      const std::string key = w.substr(0, w.find('=')), value = w.substr(w.find('=') + 1);
      if (key == "grid")
        std::sscanf(value.c_str(), "%u,%u,%u", &c.grid[0], &c.grid[1], &c.grid[2]);
      else if (key == "threads" || key == "shared" || key == "cluster")
        (key == "threads"  ? c.threads
         : key == "shared" ? c.shared
                           : c.cluster) = static_cast<uint32_t>(std::stoul(value));
      else if (key == "arg")
        c.arguments.push_back(argument_of(value));
      else if (key == "digest")
        c.digests.push_back(std::stoull(value, nullptr, 16));
      else
        c.counters[key] = std::stoll(value);
    }
    all.push_back(c);
  }
  return all;
}

}  // namespace coalesce::triton
