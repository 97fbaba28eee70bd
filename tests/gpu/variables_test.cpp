#include "gpu/variables.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lz4.h>
#include <zstd.h>

#include <cstring>

namespace coalesce::gpu {
namespace {

using testing::ElementsAre;

const std::string kText =
    ".version 9.0\n.target sm_90\n.address_size 64\n.global .align 4 .u32 plain = 5;\n"
    "\t.visible .global .attribute(.managed) .align 8 .v2 .b32 pair[16];\n.extern .global .b8 $odd_1[];\n"
    ".const .b32 fixed;\n.visible .entry k(.param .u64 to)\n{\n.reg .b32 %r<2>;\nld.global.u32 %r1, [plain];\n"
    "cvta.to.global.u64 %rd1, %rd1;\nret;\n}\n";

template <typename T>
void put(std::string& out, const T& value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// Symbols of an object each, behind one of a function.
std::string machine_code(const std::vector<std::string>& objects) {
  std::string names(1, '\0'), symbols;
  const auto symbol = [&](const std::string& name, unsigned char type) {
    Elf64_Sym s{};
    s.st_name = static_cast<uint32_t>(names.size());
    s.st_info = ELF64_ST_INFO(STB_GLOBAL, type);
    names += name + '\0';
    put(symbols, s);
  };
  symbol("kernel", STT_FUNC);
  for (const std::string& name : objects) symbol(name, STT_OBJECT);
  Elf64_Shdr none{}, of_names{}, of_symbols{};
  of_names.sh_type = SHT_STRTAB, of_names.sh_offset = sizeof(Elf64_Ehdr), of_names.sh_size = names.size();
  of_symbols.sh_type = SHT_SYMTAB, of_symbols.sh_link = 1, of_symbols.sh_offset = sizeof(Elf64_Ehdr) + names.size();
  of_symbols.sh_size = symbols.size();
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64, header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_shoff = of_symbols.sh_offset + symbols.size(), header.e_shentsize = sizeof(Elf64_Shdr), header.e_shnum = 3;
  std::string out;
  put(out, header);
  out += names + symbols;
  for (const Elf64_Shdr& section : {none, of_names, of_symbols}) put(out, section);
  return out;
}

// `unpacked`: how many bytes the payload stands for, if it is compressed.
std::string entry(uint16_t kind, std::string payload, uint64_t flags = 0, uint64_t unpacked = 0) {
  const auto packed = static_cast<uint32_t>(unpacked != 0 ? payload.size() : 0);
  payload.resize((payload.size() + 7) / 8 * 8);
  std::string out;
  put(out, kind), put(out, uint16_t{0x0101}), put(out, uint32_t{64}), put(out, uint64_t{payload.size()});
  put(out, packed);
  out.resize(40);
  put(out, flags);
  out.resize(56);
  put(out, unpacked);
  return out + payload;
}

// As nvcc 13 does by default with PTX, and `-compress-mode=size` with machine code.
std::string zstd(uint16_t kind, const std::string& content) {
  std::string packed(ZSTD_compressBound(content.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), content.data(), content.size(), 3));
  return entry(kind, packed, 0x8000, content.size());
}

// As nvcc 11 and 12 do.
std::string lz4(uint16_t kind, const std::string& content) {
  const auto size = static_cast<int>(content.size());
  std::string packed(static_cast<size_t>(LZ4_compressBound(size)), '\0');
  packed.resize(
      static_cast<size_t>(LZ4_compress_default(content.data(), packed.data(), size, static_cast<int>(packed.size()))));
  return entry(kind, packed, 0x2000, content.size());
}

std::string container(const std::string& entries) {
  std::string out;
  put(out, uint32_t{0xba55ed50}), put(out, uint16_t{1}), put(out, uint16_t{16}), put(out, uint64_t{entries.size()});
  return out + entries;
}

TEST(ModuleVariables, OfATextAreDeclaredGlobal) {
  EXPECT_THAT(variables_of_image(kText.c_str()).names, ElementsAre("plain", "pair", "$odd_1"));
  EXPECT_TRUE(variables_of_image("").names.empty());
  EXPECT_TRUE(variables_of_image(nullptr).names.empty());
}

TEST(ModuleVariables, OfMachineCodeAreItsObjects) {
  EXPECT_THAT(variables_of_image(machine_code({"one", "two"}).c_str()).names, ElementsAre("one", "two"));
}

TEST(ModuleVariables, OfAFatBinaryAreThoseOfItsParts) {
  const std::string fat = container(entry(2, machine_code({"one"})) + entry(1, kText));
  EXPECT_THAT(variables_of_image(fat.c_str()).names, ElementsAre("one", "plain", "pair", "$odd_1"));
  EXPECT_TRUE(variables_of_image(fat.c_str()).all);
  std::string wrapper;
  put(wrapper, uint32_t{0x466243b1}), put(wrapper, uint32_t{1}), put(wrapper, fat.c_str());
  EXPECT_THAT(variables_of_image(wrapper.c_str()).names, ElementsAre("one", "plain", "pair", "$odd_1"));
}

TEST(ModuleVariables, OfCompressedPartsAreRead) {
  const std::string packed = container(zstd(2, machine_code({"one"})) + lz4(2, machine_code({"two"})) + zstd(1, kText));
  EXPECT_THAT(variables_of_image(packed.c_str()).names, ElementsAre("one", "two", "plain", "pair", "$odd_1"));
  EXPECT_TRUE(variables_of_image(packed.c_str()).all);
  const std::string damaged = container(entry(1, "?", 0x8000, 9) + entry(2, machine_code({"one"})));
  EXPECT_THAT(variables_of_image(damaged.c_str()).names, ElementsAre("one"));
  EXPECT_FALSE(variables_of_image(damaged.c_str()).all);
}

// Names come from the image, or from what its compressed parts become. AddressSanitizer sees sizes that lead elsewhere.
TEST(ModuleVariables, DamageIsRead) {
  const std::string code = machine_code({"one", "two"}),
                    fat = container(entry(2, code) + lz4(2, code) + zstd(1, kText));
  const auto read = [&](const std::string& image, bool compressed) {
    for (const std::string& name : variables_of(image).names) {
      EXPECT_FALSE(name.empty());
      if (!compressed) EXPECT_NE(image.find(name), image.npos) << name;
    }
  };
  for (const std::string& whole : {code, fat, kText})
    for (size_t size = 0; size < whole.size(); ++size) {
      read(whole.substr(0, size), whole == fat);
      std::string changed = whole;
      changed[size] = static_cast<char>(changed[size] ^ 0xff);
      read(changed, whole == fat);
    }
}

}  // namespace
}  // namespace coalesce::gpu
