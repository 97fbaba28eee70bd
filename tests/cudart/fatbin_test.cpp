// Fat binaries made here byte by byte, as nvcc lays them out.
#include "cudart/core/fatbin.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <lz4.h>
#include <zstd.h>

#include <cstring>
#include <map>
#include <string>
#include <tuple>

#include "api.h"
#include "cudart/core/cubin.h"
#include "cudart/core/image.h"

namespace coalesce::cudart {
namespace {

constexpr uint64_t k64Bit = 0x1, kLinux = 0x10, kLz4 = 0x2000, kZstd = 0x8000, kOnly = 0x10'0000, kFamily = 0x20'0000;

struct Part {
  uint16_t kind = 1;
  uint32_t architecture = 90;
  uint64_t flags = k64Bit | kLinux;
  std::string payload;
  uint64_t unpacked = 0;
  std::string name;
};

template <typename T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

std::string entry(const Part& p) {
  std::string name = p.name;
  name.resize((name.size() + 7) / 8 * 8);
  std::string payload = p.payload;
  payload.resize((payload.size() + 7) / 8 * 8);
  const bool packed = (p.flags & (kLz4 | kZstd)) != 0;
  std::string out;
  put<uint16_t>(out, p.kind);
  put<uint16_t>(out, 0x0101);
  put<uint32_t>(out, static_cast<uint32_t>(64 + name.size()));
  put<uint64_t>(out, payload.size());
  put<uint32_t>(out, packed ? static_cast<uint32_t>(p.payload.size()) : 0);
  put<uint32_t>(out, 0);
  put<uint16_t>(out, 0);
  put<uint16_t>(out, 9);
  put<uint32_t>(out, p.architecture);
  put<uint32_t>(out, p.name.empty() ? 0 : 64);
  put<uint32_t>(out, static_cast<uint32_t>(p.name.size()));
  put<uint64_t>(out, p.flags);
  put<uint64_t>(out, 0);
  put<uint64_t>(out, p.unpacked);
  return out + name + payload;
}

std::string container(const std::vector<Part>& parts) {
  std::string body;
  for (const Part& p : parts) body += entry(p);
  std::string out;
  put<uint32_t>(out, kFatbinMagic);
  put<uint16_t>(out, 1);
  put<uint16_t>(out, 16);
  put<uint64_t>(out, body.size());
  return out + body;
}

std::span<const uint8_t> bytes_of(const std::string& s) {
  return {reinterpret_cast<const uint8_t*>(s.data()), s.size()};
}

std::string text(uint32_t architecture) {
  std::string t = ".version 9.0\n.target sm_" + std::to_string(architecture) + "\n.address_size 64\n";
  for (int i = 0; i < 50; ++i) t += ".visible .entry kernel" + std::to_string(i) + "()\n{\nret;\n}\n";
  return t;
}

Part plain(uint32_t architecture, uint64_t flags = 0) {
  return {1, architecture, k64Bit | kLinux | flags, text(architecture), 0, ""};
}

Part lz4(uint32_t architecture) {
  const std::string t = text(architecture);
  std::string packed(static_cast<size_t>(LZ4_compressBound(static_cast<int>(t.size()))), '\0');
  packed.resize(static_cast<size_t>(
      LZ4_compress_default(t.data(), packed.data(), static_cast<int>(t.size()), static_cast<int>(packed.size()))));
  return {1, architecture, k64Bit | kLinux | kLz4, packed, t.size(), "a.cu"};
}

Part zstd(uint32_t architecture) {
  const std::string t = text(architecture);
  std::string packed(ZSTD_compressBound(t.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), t.data(), t.size(), 3));
  return {1, architecture, k64Bit | kLinux | kZstd, packed, t.size(), "longer_name.cu"};
}

TEST(Fatbin, EveryPackingGivesTheText) {
  const std::string c = container({plain(70), lz4(80), zstd(90)});
  const auto entries = read_fatbin(bytes_of(c));
  ASSERT_EQ(entries.size(), 3u);
  EXPECT_EQ(unpack(entries[0]), text(70));
  EXPECT_EQ(unpack(entries[1]), text(80));
  EXPECT_EQ(unpack(entries[2]), text(90));
  EXPECT_EQ(entries[0].name, "");
  EXPECT_EQ(entries[1].name, "a.cu");
  EXPECT_EQ(entries[2].name, "longer_name.cu");
  EXPECT_EQ(entries[1].packing, FatbinEntry::Packing::lz4);
  EXPECT_EQ(entries[2].packing, FatbinEntry::Packing::zstd);
}

TEST(Fatbin, WhatFollowsTheContainerIsNotRead) {
  std::string c = container({plain(90)});
  const size_t size = c.size();
  c += "anything";
  EXPECT_EQ(fatbin_extent(bytes_of(c)).size(), size);
  EXPECT_EQ(read_fatbin(bytes_of(c)).size(), 1u);
}

struct Choice {
  std::vector<Part> parts;
  uint32_t major, minor;
  int best;  // index; -1: none
};

TEST(Fatbin, BestPtxForTheDevice) {
  const Part elf{2,
                 90,
                 k64Bit | kLinux,
                 "\x7f"
                 "ELF",
                 0,
                 ""};
  const Choice choices[] = {
      {{plain(70), plain(80), plain(90)}, 9, 0, 2},
      {{plain(90), plain(70), plain(80)}, 8, 6, 2},
      {{plain(70), plain(75)}, 9, 0, 1},
      {{plain(100)}, 9, 0, -1},
      {{elf}, 9, 0, -1},
      {{elf, plain(52)}, 9, 0, 1},
      {{plain(90), plain(90, kOnly)}, 9, 0, 1},      // compute_90a on its own device is the more special
      {{plain(80), plain(90, kOnly)}, 10, 0, 0},     // and on no other
      {{plain(100, kFamily), plain(90)}, 10, 3, 0},  // compute_100f: any 10.x from 10.0 on
      {{plain(103, kFamily), plain(90)}, 10, 0, 1},
      {{plain(100, kFamily), plain(90)}, 12, 0, 1},
      {{}, 9, 0, -1},
  };
  for (const Choice& choice : choices) {
    const std::string c = container(choice.parts);
    const auto entries = read_fatbin(bytes_of(c));
    const FatbinEntry* best = best_ptx(entries, choice.major, choice.minor);
    EXPECT_EQ(best == nullptr ? -1 : best - entries.data(), choice.best) << "choice " << (&choice - choices);
  }
}

TEST(Fatbin, NeedsANewerDevice) {
  const Part elf{2, 90, k64Bit | kLinux, "x", 0, ""};
  const auto needed = [](const std::vector<Part>& parts) { return needed_architecture(container(parts).c_str(), 90); };
  EXPECT_EQ(needed({plain(121)}), 121u);
  EXPECT_EQ(needed({plain(121), plain(120), elf}), 120u);
  EXPECT_EQ(needed({plain(121), plain(75)}), 0u);  // there is something for older ones
  EXPECT_EQ(needed({elf}), 0u);                    // no device would do
  EXPECT_EQ(needed({plain(100, kOnly)}), 0u);
  EXPECT_EQ(needed_architecture(".version 8.0", 90), 0u);
}

TEST(Fatbin, EveryCutGivesAnErrorOrNothing) {
  const std::string c = container({lz4(80), zstd(90), plain(70)});
  for (size_t n = 0; n < c.size(); ++n) {
    EXPECT_THROW(read_fatbin(bytes_of(c.substr(0, n))), FatbinError) << n;
  }
}

TEST(Fatbin, EveryWrongByteIsReadSafely) {
  const std::string c = container({lz4(80), zstd(90)});
  for (size_t at = 0; at < c.size(); ++at) {
    for (const unsigned char flip : {0x01, 0x80, 0xff}) {
      std::string broken = c;
      broken[at] = static_cast<char>(static_cast<unsigned char>(broken[at]) ^ flip);
      const std::span<const uint8_t> bytes = bytes_of(broken);
      try {
        for (const auto& e : read_fatbin(bytes)) {
          // Payloads lie within the container, and unpacked texts keep to the promised size.
          ASSERT_GE(e.payload.data(), bytes.data()) << at;
          ASSERT_LE(e.payload.data() + e.payload.size(), bytes.data() + bytes.size()) << at;
          try {
            ASSERT_LE(unpack(e).size(), e.unpacked_bytes ? e.unpacked_bytes : e.payload.size()) << at;
          } catch (const FatbinError&) {}
        }
        EXPECT_GE(at, 4u) << "the magic number is another";
      } catch (const FatbinError&) {}
    }
  }
}

TEST(Fatbin, PackedEntriesThatLieAreRefused) {
  Part too_long = zstd(90);
  too_long.unpacked = uint64_t{1} << 40;
  Part too_short = lz4(90);
  too_short.unpacked += 1;
  Part too_small = zstd(90);
  too_small.unpacked -= 1;
  for (const Part& p : {too_long, too_short, too_small}) {
    const std::string c = container({p});
    const auto entries = read_fatbin(bytes_of(c));
    ASSERT_EQ(entries.size(), 1u);
    EXPECT_THROW(unpack(entries[0]), FatbinError);
  }
}

TEST(BarePtx, IsFoundAndBounded) {
  const std::string t = "//\n// Generated by a compiler, .version in a comment\n//\n" + text(90);
  EXPECT_EQ(bare_ptx(bytes_of(t)), t);
  EXPECT_EQ(bare_ptx(bytes_of(t + std::string(1, '\0') + "more")), t);
  EXPECT_EQ(bare_ptx(bytes_of(t + "\x01\x1b")), t);
  EXPECT_EQ(bare_ptx(bytes_of(text(90) + text(80))), text(90));
  EXPECT_EQ(bare_ptx(bytes_of(container({plain(90)}))), "");
  EXPECT_EQ(bare_ptx(bytes_of("\n\t.version 1.4\n\t.target sm_10\n")), "\n\t.version 1.4\n\t.target sm_10\n");
  EXPECT_EQ(bare_ptx(bytes_of("no directive")), "");
  EXPECT_EQ(bare_ptx({}), "");
}

// A cubin as far as its kernels' registers go: names, symbols, attributes.
// `ptx`: what ptxas keeps of its input, if anything. `code`: of the kernel "first".
std::string cubin(const std::vector<std::pair<std::string, uint32_t>>& kernels, const std::string& ptx = "",
                  const std::string& code = "") {
  std::string names(1, '\0'), symbols(sizeof(Elf64_Sym), '\0'), attributes;
  put<uint32_t>(attributes, 0x00010503);  // an attribute without a size
  for (const auto& [name, registers] : kernels) {
    Elf64_Sym symbol{};
    symbol.st_name = static_cast<uint32_t>(names.size());
    names += name + '\0';
    const auto number = static_cast<uint32_t>(symbols.size() / sizeof symbol);
    put(symbols, symbol);
    put<uint32_t>(attributes, 0x00081104);  // its frame
    put<uint64_t>(attributes, number);
    put<uint32_t>(attributes, 0x00082f04);
    put<uint32_t>(attributes, number);
    put<uint32_t>(attributes, registers);
  }
  const std::string titles = std::string("\0.names\0.symtab\0.nv.info\0.nv_debug_ptx_txt\0.text.first\0", 55);
  const std::string contents[] = {"", titles, names, symbols, attributes, ptx, code};
  const uint32_t title[] = {0, 1, 1, 8, 16, 25, 43},
                 type[] = {SHT_NULL, SHT_STRTAB, SHT_STRTAB, SHT_SYMTAB, SHT_PROGBITS, SHT_PROGBITS, SHT_PROGBITS};
  const int count = !code.empty() ? 7 : ptx.empty() ? 5 : 6;
  std::string body, sections;
  for (int i = 0; i < count; ++i) {
    Elf64_Shdr section{};
    section.sh_name = title[i], section.sh_type = type[i], section.sh_link = i == 3 ? 2 : 0;
    section.sh_offset = sizeof(Elf64_Ehdr) + body.size(), section.sh_size = contents[i].size();
    put(sections, section);
    body += contents[i];
  }
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_shoff = sizeof header + body.size(), header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = static_cast<uint16_t>(count), header.e_shstrndx = 1;
  std::string out;
  put(out, header);
  return out + body + sections;
}

TEST(Cubin, KeepsItsPtx) {
  const std::string kept(".version 9.0\0.target sm_90\0\0.address_size 64\0", 45);
  const std::string ptx = ".version 9.0\n.target sm_90\n\n.address_size 64\n", all = cubin({{"first", 32}}, kept);
  EXPECT_EQ(ptx_of_cubin(all), ptx);
  EXPECT_EQ(ptx_of_cubin(cubin({{"first", 32}})), "");
  for (std::size_t n = 0; n < all.size(); ++n) EXPECT_EQ(ptx_of_cubin(std::string_view(all).substr(0, n)), "");
  EXPECT_EQ(copy_of_cubin(all.data(), 0), all);
  EXPECT_EQ(copy_of_cubin(all.data(), all.size() - 1).size(), sizeof(Elf64_Ehdr)) << "the sections do not fit";
  std::string far = all;
  const uint64_t beyond = uint64_t{1} << 47;
  std::memcpy(far.data() + offsetof(Elf64_Ehdr, e_shoff), &beyond, sizeof beyond);
  EXPECT_EQ(copy_of_cubin(far.data(), 0), far.substr(0, sizeof(Elf64_Ehdr)));
  EXPECT_EQ(read_image(all.data(), 0, 9, 0).ptx, std::vector<std::string>{ptx});
  EXPECT_EQ(copy_image(all.data(), 0), all);
  EXPECT_TRUE(read_image(cubin({{"first", 32}}).data(), 0, 9, 0).ptx.empty());
  Part code;
  code.kind = 2, code.architecture = 90, code.payload = all;
  const std::string image = container({code});
  EXPECT_EQ(read_image(image.data(), image.size(), 9, 0).ptx, std::vector<std::string>{ptx});
  EXPECT_TRUE(read_image(image.data(), image.size(), 8, 0).ptx.empty()) << "older than the code";
}

TEST(Cubin, RegistersAndSizesOfKernels) {
  const std::string all = cubin({{"first", 32}, {"second", 255}});
  const machine::MachineCodes expected{{"first", {32, 0}}, {"second", {255, 0}}};
  EXPECT_EQ(machine_code_of_cubin(all), expected);
  EXPECT_EQ(machine_code_of_cubin(cubin({{"first", 32}}, "", std::string(384, 'c'))),
            (machine::MachineCodes{{"first", {32, 384}}}));
  EXPECT_TRUE(machine_code_of_cubin(cubin({{"impossible", 256}})).empty());
  for (std::size_t n = 0; n < all.size(); ++n) machine_code_of_cubin(std::string_view(all).substr(0, n));
  const auto part = [](uint16_t kind, uint32_t architecture, const std::string& payload) {
    Part p;
    p.kind = kind, p.architecture = architecture, p.payload = payload;
    return p;
  };
  // nvcc may write several of an architecture.
  const std::string image =
      container({part(2, 80, cubin({{"first", 40}})), part(2, 90, cubin({})), part(2, 90, all), part(1, 90, text(90))});
  EXPECT_EQ(machine_code_in(image.data(), image.size(), 90), expected);
  EXPECT_EQ(machine_code_in(image.data(), image.size(), 80).at("first").registers, 40u);
  EXPECT_TRUE(machine_code_in(image.data(), image.size(), 75).empty());
}

// Programs are told what the machine code beside their PTX needs: on the device's architecture it is what a GPU runs.
TEST(Cubin, AttributesAreOfTheMachineCodeBeside) {
  Part code;
  code.kind = 2, code.architecture = 90, code.payload = cubin({{"kernel1", 122}});
  const std::string image = container({code, plain(90)});
  cudaLibrary_t library{};
  ASSERT_EQ(cudaLibraryLoadData(&library, image.data(), nullptr, nullptr, 0, nullptr, nullptr, 0), cudaSuccess);
  for (const auto& [name, registers, threads] :
       {std::tuple("kernel0", 16, 1024), std::tuple("kernel1", 122, 512), std::tuple("kernel2", 16, 1024)}) {
    cudaKernel_t kernel{};
    ASSERT_EQ(cudaLibraryGetKernel(&kernel, library, name), cudaSuccess);
    cudaFuncAttributes attributes{};
    ASSERT_EQ(cudaFuncGetAttributes(&attributes, kernel), cudaSuccess);
    EXPECT_EQ(attributes.numRegs, registers) << name;
    EXPECT_EQ(attributes.maxThreadsPerBlock, threads) << name;
  }
  EXPECT_EQ(cudaLibraryUnload(library), cudaSuccess);
}

}  // namespace
}  // namespace coalesce::cudart
