// Fat binaries made byte by byte, as nvcc lays them out without compression: what a link at run time is given.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace link_inputs {

template <typename T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

struct Entry {
  int kind;  // 1: PTX, 2: machine code
  int architecture;
  std::string payload;
};

inline std::string fat_binary(const std::vector<Entry>& entries) {
  std::string body;
  for (Entry e : entries) {
    e.payload.resize((e.payload.size() + 8) / 8 * 8);  // with a zero at least
    put<std::uint16_t>(body, static_cast<std::uint16_t>(e.kind));
    put<std::uint16_t>(body, 0x0101);
    put<std::uint32_t>(body, 64);
    put<std::uint64_t>(body, e.payload.size());
    for (int i = 0; i < 2; ++i) put<std::uint32_t>(body, 0);
    put<std::uint16_t>(body, 0);
    put<std::uint16_t>(body, 9);
    put<std::uint32_t>(body, static_cast<std::uint32_t>(e.architecture));
    for (int i = 0; i < 2; ++i) put<std::uint32_t>(body, 0);
    put<std::uint64_t>(body, 0x11);  // 64 bits, Linux
    for (int i = 0; i < 2; ++i) put<std::uint64_t>(body, 0);
    body += e.payload;
  }
  std::string out;
  put<std::uint32_t>(out, 0xba55ed50);
  put<std::uint16_t>(out, 1);
  put<std::uint16_t>(out, 16);
  put<std::uint64_t>(out, body.size());
  return out + body;
}

inline Entry text(int architecture, const std::string& kernel) {
  return {1, architecture,
          std::string(".version ") + (architecture > 90 ? "8.7" : "7.8") + "\n.target sm_" +
              std::to_string(architecture) + "\n.address_size 64\n.visible .entry " + kernel +
              "(.param .u64 p)\n{\n.reg .b64 %rd<2>;\nld.param.u64 %rd1, [p];\nst.global.u32 [%rd1], 7;\nret;\n}\n"};
}

// The head of a cubin: enough to be passed over, for another architecture.
inline Entry code(int architecture) {
  std::string elf(
      "\x7f"
      "ELF\x02\x01\x41\0\x08",
      9);
  elf.resize(64);
  elf[48] = 4, elf[49] = static_cast<char>(architecture);
  return {2, architecture, elf};
}

// Name -> fat binary without anything that an H100 can run. Their kernel is k.
inline std::map<std::string, std::string> inputs() {
  return {{"ptx120", fat_binary({text(120, "k")})},
          {"code80", fat_binary({code(80)})},
          {"code80+ptx120", fat_binary({code(80), text(120, "k")})}};
}

// Another text, for the links that have two inputs. Its kernel is other.
inline std::string other_text() { return text(80, "other").payload; }

}  // namespace link_inputs
