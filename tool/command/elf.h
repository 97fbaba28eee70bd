// Facts of an executable before it is started: does it use the CUDA runtime, can the machine replace it, does it carry
// PTX? Reads ELF headers, the dynamic section and the fat binary; runs nothing, trusts no offset.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace coalesce::tool {

struct Executable {
  enum class Kind { elf, script, other };
  Kind kind = Kind::other;
  std::string problem;   // kind `other`: what it is instead ("not an executable", "a 32-bit executable", ...)
  bool dynamic = false;  // has a dynamic section: LD_LIBRARY_PATH can take effect
  std::vector<std::string> needed;    // DT_NEEDED
  std::string rpath;                  // DT_RPATH that beats LD_LIBRARY_PATH; empty: none, or DT_RUNPATH which does not
  bool device_code = false;           // has a fat binary
  bool imports_registration = false;  // asks the dynamic linker for __cudaRegisterFatBinary: the runtime is shared
  unsigned ptx_images = 0;            // in the fat binary
  unsigned other_images = 0;          // machine code, or intermediate code that only NVIDIA's linker reads
  std::set<uint32_t> architectures;   // of the machine code, 90: sm_90
  unsigned own_records = 0;           // fat binaries that a compiler made
  bool separate = false;              // was compiled separately: the linked one has the kernels

  bool needs(std::string_view library) const;
  std::string cudart() const;  // the needed libcudart's name; empty: none
  // All that it has is the image that nvcc links into each program, without kernels as a rule.
  bool no_kernels() const { return own_records == 0 && !separate; }
  // Has device code and registers it with a runtime of its own: NVIDIA's, linked in statically.
  bool static_runtime() const { return device_code && cudart().empty() && !imports_registration; }
};

// `bytes`: the whole file.
Executable inspect(std::string_view bytes);
// Throws Error (failed) when the file cannot be read.
Executable inspect_file(const std::string& path);

// Throws Error with a hint when the machine cannot run it. Executables that may load the runtime later (they have no
// device code of their own and are linked dynamically), and scripts, pass. A GPU can run machine code, too.
void require_runnable(const Executable& executable, const std::string& path, bool on_gpu = false);

}  // namespace coalesce::tool
