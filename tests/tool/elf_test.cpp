// Executables made by hand, and everything a damaged one can say.
#include "tool/command/elf.h"

#include <elf.h>
#include <gmock/gmock.h>

#include <cstring>
#include <random>

#include "tool/figures/error.h"

namespace coalesce::tool {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

template <typename T>
void put(std::string& bytes, std::size_t offset, const T& value) {
  if (bytes.size() < offset + sizeof(T)) bytes.resize(offset + sizeof(T));
  std::memcpy(bytes.data() + offset, &value, sizeof(T));
}

struct Image {
  std::vector<std::string> needed;
  std::vector<std::string> symbols = {};
  std::string fatbin = {};  // content of .nv_fatbin; empty: no such section
  bool dynamic = true;
  std::string rpath = {};
  int64_t rpath_tag = DT_RPATH;
  std::vector<uint32_t> records = {};  // versions, in .nvFatBinSegment
  bool separate = false;               // the section of fat binaries is __nv_relfatbin
};

std::string build(const Image& image) {
  std::string strings(1, '\0');
  std::vector<Elf64_Dyn> entries;
  const auto intern = [&](const std::string& text) {
    const uint64_t offset = strings.size();
    strings += text + '\0';
    return offset;
  };
  const auto entry = [&](int64_t tag, uint64_t value) {
    Elf64_Dyn e{};
    e.d_tag = tag;
    e.d_un.d_val = value;
    entries.push_back(e);
  };
  for (const auto& name : image.needed) entry(DT_NEEDED, intern(name));
  for (const auto& name : image.symbols) intern(name);
  if (!image.rpath.empty()) entry(image.rpath_tag, intern(image.rpath));

  constexpr uint64_t kBase = 0x400000, kStrings = 0x1000, kDynamic = 0x2000, kFat = 0x3000, kNames = 0x4000,
                     kSections = 0x4100, kRecords = 0x5000;
  entry(DT_STRTAB, kBase + kStrings);
  entry(DT_STRSZ, strings.size());
  entry(DT_NULL, 0);
  std::string bytes;
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_type = ET_DYN;
  header.e_machine = EM_X86_64;
  header.e_phoff = sizeof(Elf64_Ehdr);
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = image.dynamic ? 2 : 1;
  header.e_shoff = kSections;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = image.fatbin.empty() ? 2 : image.records.empty() ? 3 : 4;
  header.e_shstrndx = 1;
  put(bytes, 0, header);
  Elf64_Phdr load{};
  load.p_type = PT_LOAD;
  load.p_vaddr = kBase;
  load.p_filesz = 0x8000;
  put(bytes, header.e_phoff, load);
  Elf64_Phdr dynamic{};
  dynamic.p_type = PT_DYNAMIC;
  dynamic.p_offset = kDynamic;
  dynamic.p_filesz = entries.size() * sizeof(Elf64_Dyn);
  if (image.dynamic) put(bytes, header.e_phoff + sizeof load, dynamic);
  bytes.resize(kStrings);
  bytes += strings;
  for (std::size_t i = 0; i < entries.size(); ++i) put(bytes, kDynamic + i * sizeof(Elf64_Dyn), entries[i]);
  bytes.resize(kFat);
  bytes += image.fatbin;
  bytes.resize(kNames);
  const std::string names("\0.shstrtab\0.nv_fatbin\0.nvFatBinSegment\0__nv_relfatbin\0", 54);
  bytes += names;
  Elf64_Shdr section{};
  put(bytes, kSections, section);
  section.sh_type = SHT_STRTAB;
  section.sh_name = 1;
  section.sh_offset = kNames;
  section.sh_size = names.size();
  put(bytes, kSections + sizeof section, section);
  if (!image.fatbin.empty()) {
    section.sh_type = SHT_PROGBITS;
    section.sh_name = image.separate ? 39 : 11;
    section.sh_offset = kFat;
    section.sh_size = image.fatbin.size();
    put(bytes, kSections + 2 * sizeof section, section);
  }
  if (!image.records.empty()) {
    for (std::size_t i = 0; i < image.records.size(); ++i) {
      put(bytes, kRecords + 24 * i, uint32_t{0x466243b1});
      put(bytes, kRecords + 24 * i + 4, image.records[i]);
      put(bytes, kRecords + 24 * i + 16, uint64_t{0});
    }
    section.sh_name = 22;
    section.sh_offset = kRecords;
    section.sh_size = 24 * image.records.size();
    put(bytes, kSections + 3 * sizeof section, section);
  }
  return bytes;
}

// A fat binary with entries of these kinds (1 PTX, 2 machine code).
std::string fat(const std::vector<uint16_t>& kinds, uint32_t flags = 0) {
  std::string entries;
  for (const uint16_t kind : kinds) {
    std::string entry;
    put(entry, 0, kind);
    put(entry, 4, uint32_t{64});
    put(entry, 8, uint64_t{24});
    entry.resize(64 + 24, 'x');
    put(entry, 28, uint32_t{80});
    put(entry, 40, flags);
    entries += entry;
  }
  std::string bytes;
  put(bytes, 0, uint32_t{0xba55ed50});
  put(bytes, 4, uint16_t{1});
  put(bytes, 6, uint16_t{16});
  put(bytes, 8, uint64_t{entries.size()});
  return bytes + entries;
}

std::string verdict(const std::string& bytes, bool on_gpu = false) {
  try {
    require_runnable(inspect(bytes), "app", on_gpu);
    return "";
  } catch (const Error& error) {
    return std::string(error.what()) + " / " + error.hint;
  }
}

TEST(Elf, ASharedRuntimeWithPtxRuns) {
  const std::string bytes = build(
      {.needed = {"libcudart.so.13", "libc.so.6"}, .symbols = {"__cudaRegisterFatBinary"}, .fatbin = fat({2, 1})});
  const Executable executable = inspect(bytes);
  EXPECT_EQ(executable.kind, Executable::Kind::elf);
  EXPECT_THAT(executable.needed, ElementsAre("libcudart.so.13", "libc.so.6"));
  EXPECT_EQ(executable.cudart(), "libcudart.so.13");
  EXPECT_TRUE(executable.imports_registration);
  EXPECT_EQ(executable.ptx_images, 1u);
  EXPECT_EQ(executable.other_images, 1u);
  EXPECT_EQ(verdict(bytes), "");
}

TEST(Elf, SeveralContainersWithPadding) {
  const std::string bytes =
      build({.needed = {"libcudart.so.13"}, .fatbin = fat({2}) + std::string(24, '\0') + fat({2, 1})});
  EXPECT_EQ(inspect(bytes).other_images, 2u);
  EXPECT_EQ(inspect(bytes).ptx_images, 1u);
}

TEST(Elf, MachineCodeOnlySaysHowToRebuild) {
  const std::string machine_code = build({.needed = {"libcudart.so.13"}, .fatbin = fat({2, 2}), .records = {1}});
  EXPECT_THAT(verdict(machine_code), HasSubstr("machine code of sm_80 only, no PTX"));
  EXPECT_EQ(verdict(machine_code, true), "");
  EXPECT_EQ(verdict(build({.needed = {"libcudart.so.13"}, .fatbin = fat({2}, 0x8013), .records = {1}})), "")
      << "-G keeps the PTX";
  EXPECT_EQ(verdict(build({.needed = {"libcuda.so.1"}, .fatbin = fat({2}), .records = {1}})), "")
      << "its kernels may come later";
}

// nvcc links an image without kernels into each program; what a library brings comes later.
TEST(Elf, TheImageOfTheLinkerHasNoKernels) {
  const auto verdict_of = [](const std::vector<uint32_t>& records, bool separate) {
    return verdict(
        build({.needed = {"libcublas.so.13"}, .fatbin = fat({2}), .records = records, .separate = separate}));
  };
  EXPECT_EQ(verdict_of({2}, false), "");
  EXPECT_EQ(verdict_of({}, false), "") << "nvcc app.cpp";
  EXPECT_THAT(verdict_of({2}, true), HasSubstr("machine code of sm_80 only")) << "nvcc -rdc=true";
  EXPECT_THAT(verdict_of({1, 2}, false), HasSubstr("machine code of sm_80 only"));
  EXPECT_THAT(verdict_of({1}, false), HasSubstr("machine code of sm_80 only"));
}

TEST(Elf, ADamagedFatBinaryIsNotCalledMachineCode) {
  std::string damaged = fat({2});
  put(damaged, 8, uint64_t{1} << 40);
  EXPECT_EQ(verdict(build({.needed = {"libcudart.so.13"}, .fatbin = damaged, .records = {1}})), "")
      << "the runtime says what is wrong";
}

TEST(Elf, PtxTextCountsAsPtx) {
  EXPECT_EQ(
      verdict(build({.needed = {"libcudart.so.13"}, .fatbin = "//\n.version 8.0\n.target sm_90\n", .records = {1}})),
      "");
}

TEST(Elf, AStaticRuntimeIsKnown) {
  const std::string bytes = build({.needed = {"libc.so.6"}, .fatbin = fat({1})});
  EXPECT_TRUE(inspect(bytes).static_runtime());
  EXPECT_EQ(verdict(bytes), "");
  EXPECT_FALSE(inspect(build({.needed = {"libcudart.so.13"}, .fatbin = fat({1})})).static_runtime());
  EXPECT_FALSE(inspect(build({.needed = {"libc.so.6"}})).static_runtime());
}

TEST(Elf, AStaticallyLinkedProgramSaysHowToRebuild) {
  EXPECT_THAT(verdict(build({.needed = {}, .dynamic = false})), HasSubstr("statically"));
}

TEST(Elf, ProgramsThatMayLoadTheRuntimeLaterPass) {
  EXPECT_EQ(verdict(build({.needed = {"libpython.so", "libc.so.6"}})), "");
  EXPECT_EQ(verdict("#!/bin/sh\n"), "");
}

TEST(Elf, RpathBeatsTheSearchPathRunpathDoesNot) {
  EXPECT_EQ(inspect(build({.needed = {"libcudart.so.13"}, .rpath = "/opt/cuda"})).rpath, "/opt/cuda");
  EXPECT_EQ(inspect(build({.needed = {"libcudart.so.13"}, .rpath = "/opt/cuda", .rpath_tag = DT_RUNPATH})).rpath, "");
}

TEST(Elf, WhatIsNoExecutableIsSaid) {
  EXPECT_THAT(verdict("hello"), HasSubstr("not an executable"));
  EXPECT_THAT(verdict(""), HasSubstr("not an executable"));
  EXPECT_THAT(verdict("\177ELF"), HasSubstr("damaged"));
  std::string object = build({.needed = {}});
  put(object, offsetof(Elf64_Ehdr, e_type), uint16_t{ET_REL});
  EXPECT_THAT(verdict(object), HasSubstr("not linked"));
  std::string arm = build({.needed = {}});
  put(arm, offsetof(Elf64_Ehdr, e_machine), uint16_t{EM_AARCH64});
  EXPECT_THAT(verdict(arm), HasSubstr("processor"));
}

// Names come from the file, and a file that is no executable has a reason. AddressSanitizer sees offsets that lead
// outside the file.
void expect_sound(std::string_view bytes) {
  const Executable e = inspect(bytes);
  for (const std::string& name : e.needed) EXPECT_NE(bytes.find(name), bytes.npos) << name;
  EXPECT_NE(bytes.find(e.rpath), bytes.npos) << e.rpath;
  EXPECT_EQ(e.kind == Executable::Kind::other, !e.problem.empty()) << e.problem;
}

TEST(Elf, DamageNeverCrashes) {
  const std::string whole = build(
      {.needed = {"libcudart.so.13"}, .symbols = {"__cudaRegisterFatBinary"}, .fatbin = fat({1, 2}), .rpath = "/x"});
  for (std::size_t size = 0; size < whole.size(); size += 7) expect_sound(std::string_view(whole).substr(0, size));
  std::mt19937 random(1);
  // Only bytes that mean something: the headers, the tables and the fat binary.
  const std::pair<std::size_t, std::size_t> regions[] = {
      {4, 0xb0}, {0x2000, 0x2070}, {0x3000, 0x30c0}, {0x4100, 0x41c0}};
  for (int i = 0; i < 20000; ++i) {
    std::string bytes = whole;
    for (int flips = 1 + static_cast<int>(random() % 4); flips > 0; --flips) {
      const auto [from, to] = regions[random() % 4];
      bytes[from + random() % (to - from)] = static_cast<char>(random() % 3 == 0 ? 0xff : random());
    }
    expect_sound(bytes);
  }
}

}  // namespace
}  // namespace coalesce::tool
