// An auditing library of the dynamic linker (rtld-audit(7), LD_AUDIT). Programs and libraries that have NVIDIA's static
// CUDA runtime in them call a shared one in its place: the linker is told that they need it, and before any of their
// code runs each function of the static runtime becomes a jump to the shared one's.
//
// COALESCE_REDIRECT_TO        the folder of the shared runtimes, libcudart.so.13, .12 and .11.0
// COALESCE_REDIRECT_FRONT     a library that stands in front of the runtime: what it exports is called first; may be
//                             unset
// COALESCE_REDIRECT_ARCHIVES  paths of libcudart_static.a, separated by colons
//
// With a front, what programs look up in the driver is the front's, too, where that has it. Static runtimes of
// libraries are left alone then, as those that cannot be redirected: they call the driver, and so the front. A process
// with PyTorch's shared runtime must not get a second one through cuBLAS.
//
// On the machine, NVRTC answers with PTX where it is asked for machine code, and cuBLAS has wrappers
// (redirect/cublas.h).
//
// Such a library lives in a namespace with a C library of its own; nothing here is seen by the program.
#include <errno.h>
#include <link.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "redirect/cublas.h"
#include "redirect/dependency.h"
#include "redirect/mapped_file.h"
#include "redirect/names.h"
#include "redirect/patch.h"
#include "redirect/static_runtime.h"

#define AUDIT_API extern "C" __attribute__((visibility("default")))

namespace coalesce::redirect {
namespace {

// An object that waits for its jumps.
struct Pending {
  const link_map* object;
  std::string path;
  StaticRuntime runtime;
};

struct State {
  std::string folder, front, compiler;
  std::vector<std::string> archives;
  std::string runtime;  // the shared one's path; empty: none has been needed
  int version = 0;
  const link_map* loaded_runtime = nullptr;
  const link_map* loaded_front = nullptr;
  std::vector<Pending> pending;
  std::map<std::string, uint64_t, std::less<>> front_driver;  // addresses of the front's functions of the driver
  std::vector<uint64_t> runtime_functions;                    // by index in kNames, once the shared runtime is loaded
};

// The role of an object when one binds to another.
enum Role : uintptr_t { kProgram, kDriver, kVendor, kCublas };

// Never destroyed: the linker calls until the process ends.
State& state() {
  static State* the = new State;
  return *the;
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

void complain(const std::string& path, const std::string& what, const char* hint) {
  if (!state().front.empty()) return;  // on a GPU it runs as it is
  const std::string shown = path == "/proc/self/exe" ? program_invocation_name : path;
  std::fprintf(stderr, "coalesce: error: '%s' has the CUDA runtime linked in statically: %s\ncoalesce: hint: %s\n",
               shown.c_str(), what.c_str(), hint);
}

constexpr char kRebuild[] = "rebuild it with nvcc -cudart shared";

// The folder's copy of a runtime. Packages have one for each level of CPUs (cmake/Levels.cmake); the dynamic linker
// chooses among them where it searches for a name, but a path that we give it is not searched for.
std::string copy_of(const std::string& folder, const std::string& file) {
  __builtin_cpu_init();
  const bool v2 = __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt");
  const bool v3 = v2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
                  __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma");
  const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512vl");
  for (const auto& [runs, level] :
       {std::pair(v4, "x86-64-v4"), std::pair(v3, "x86-64-v3"), std::pair(v2, "x86-64-v2")}) {
    const std::string path = folder + "/glibc-hwcaps/" + level + "/" + file;
    if (runs && access(path.c_str(), R_OK) == 0) return path;
  }
  return folder + "/" + file;
}

std::string runtime_of(int version) {
  return copy_of(state().folder, "libcudart.so." + (version == 11 ? "11.0" : std::to_string(version)));
}

void look_at(const link_map* object, const std::string& path) {
  State& s = state();
  const MappedFile mapped(path.c_str());
  const elf::File file = program_of(mapped.bytes());
  StaticRuntime found = find_static_runtime(file, s.archives);
  if (!found.problem.empty()) return complain(path, found.problem, kRebuild);
  if (found.version == 0) return;
  if (s.version == 0) {
    if (access(runtime_of(found.version).c_str(), R_OK) != 0)
      return complain(path, "there is no '" + runtime_of(found.version) + "' to take its place", kRebuild);
    s.version = found.version;
    s.runtime = runtime_of(found.version);
  } else if (s.version != found.version) {
    return complain(path,
                    "it is the runtime of CUDA " + std::to_string(found.version) + ", and this process uses that of " +
                        std::to_string(s.version),
                    "build all of it with one CUDA toolkit");
  }
  if (!add_dependency(*object, mapped.bytes(), s.runtime.c_str()))
    return complain(path, "its dynamic section has no room for another library", kRebuild);
  s.pending.push_back({object, path, std::move(found)});
}

// Address by index in kNames of what the loaded object exports.
void add_exports(const link_map* object, const std::string& path, std::vector<uint64_t>& addresses) {
  if (object == nullptr) return;
  const MappedFile mapped(path.c_str());
  const elf::File file = program_of(mapped.bytes());
  const Elf64_Shdr* table = file.find(".dynsym");
  if (table == nullptr) return;
  file.symbols(*table, [&](const elf::Symbol& symbol) {
    const size_t name = index_of(symbol.name);
    if (name != kNoName && symbol.entry.st_shndx != SHN_UNDEF) addresses[name] = object->l_addr + symbol.entry.st_value;
  });
}

void add_front_driver(const link_map* object) {
  const MappedFile mapped(object->l_name);
  const elf::File file = program_of(mapped.bytes());
  const Elf64_Shdr* table = file.find(".dynsym");
  if (table == nullptr) return;
  file.symbols(*table, [&](const elf::Symbol& symbol) {
    if (symbol.name.starts_with("cu") && !symbol.name.starts_with("cuda") && symbol.entry.st_shndx != SHN_UNDEF)
      state().front_driver[std::string(symbol.name)] = object->l_addr + symbol.entry.st_value;
  });
}

void redirect_pending() {
  State& s = state();
  std::vector<uint64_t> addresses(kNames.size());
  add_exports(s.loaded_runtime, s.runtime, addresses);
  add_exports(s.loaded_front, s.front, addresses);
  s.runtime_functions = addresses;
  for (const Pending& p : s.pending) {
    std::vector<Jump> jumps;
    const std::string_view* missing = nullptr;
    for (const Entry& e : p.runtime.entries) {
      if (addresses[e.name] == 0) missing = &kNames[e.name];
      jumps.push_back({p.object->l_addr + e.address, addresses[e.name]});
    }
    const MappedFile mapped(p.path.c_str());
    if (missing != nullptr) {
      complain(p.path, "'" + s.runtime + "' has no " + std::string(*missing), kRebuild);
    } else if (!write_jumps(jumps, mapped.bytes(), p.object->l_addr)) {
      complain(p.path, std::string("its code may not be changed: ") + std::strerror(errno), kRebuild);
    }
  }
  s.pending.clear();
}

// NVRTC's functions that give machine code, and those of the same form that give PTX: the machine reads PTX only.
constexpr std::string_view kCompiler[][2] = {{"nvrtcGetCUBIN", "nvrtcGetPTX"},
                                             {"nvrtcGetCUBINSize", "nvrtcGetPTXSize"}};

void answer_with_ptx(const link_map* object, const std::string& path) {
  const MappedFile mapped(path.c_str());
  const elf::File file = program_of(mapped.bytes());
  const Elf64_Shdr* table = file.find(".dynsym");
  if (table == nullptr) return;
  uint64_t addresses[std::size(kCompiler)][2] = {};
  file.symbols(*table, [&](const elf::Symbol& symbol) {
    for (size_t k = 0; k < std::size(kCompiler); ++k)
      for (size_t side = 0; side < 2; ++side)
        if (symbol.name == kCompiler[k][side] && has_room(file, symbol)) addresses[k][side] = symbol.entry.st_value;
  });
  std::vector<Jump> jumps;
  for (const auto& [from, to] : addresses)
    if (from != 0 && to != 0) jumps.push_back({object->l_addr + from, object->l_addr + to});
  if (!jumps.empty()) write_jumps(jumps, mapped.bytes(), object->l_addr);
}

std::string_view base_of(std::string_view name) { return name.substr(name.rfind('/') + 1); }

bool is_compiler(std::string_view name) { return base_of(name).starts_with("libnvrtc.so"); }

// Our NVRTC's path where the linker has looked for NVIDIA's in vain: it names a file that is not there, and this is the
// last kind of place where it looks. Null: not our business.
char* compiler_instead(const char* name, unsigned flag) {
  const State& s = state();
  const bool last = flag == LA_SER_DEFAULT || (flag == LA_SER_ORIG && std::strchr(name, '/') != nullptr);
  if (s.compiler.empty() || !last || !is_compiler(name) || access(name, R_OK) == 0) return nullptr;
  const std::string ours = s.compiler + "/" + std::string(base_of(name));
  return access(ours.c_str(), R_OK) == 0 ? strdup(ours.c_str()) : nullptr;
}

// NVIDIA's libraries whose calls of the driver are no program's.
Role role_of(const std::string& path) {
  const std::string_view base = base_of(path);
  if (base.starts_with("libcuda.so")) return kDriver;
  for (const std::string_view name : {"libcudart.so", "libcupti.so", "libnvperf", "libnvidia-", "libcudadebugger"})
    if (base.starts_with(name)) return kVendor;
  return kProgram;
}

bool is_runtime_name(std::string_view name) {
  return name.starts_with("libcudart.so.") || name == "libcuda.so.1" || name == "libcuda.so";
}

}  // namespace

uint64_t runtime_function(std::string_view name) {
  const size_t index = index_of(name);
  const auto& known = state().runtime_functions;
  return index < known.size() ? known[index] : 0;
}

}  // namespace coalesce::redirect

using namespace coalesce::redirect;

AUDIT_API unsigned la_version(unsigned version) {
  State& s = state();
  s.folder = variable("COALESCE_REDIRECT_TO");
  s.front = variable("COALESCE_REDIRECT_FRONT");
  s.compiler = variable("COALESCE_REDIRECT_COMPILER");
  const std::string archives = variable("COALESCE_REDIRECT_ARCHIVES");
  for (size_t begin = 0; begin < archives.size();) {
    const size_t end = std::min(archives.find(':', begin), archives.size());
    s.archives.push_back(archives.substr(begin, end - begin));
    begin = end + 1;
  }
  if (s.folder.empty() && s.front.empty()) return 0;  // the linker goes on without us
  return std::min<unsigned>(version, LAV_CURRENT);
}

// A program may bring NVIDIA's libraries, and name them by their paths (DT_RPATH).
AUDIT_API char* la_objsearch(const char* name, uintptr_t*, unsigned flag) {
  const State& s = state();
  if (char* ours = compiler_instead(name, flag)) return ours;
  const std::string_view base = base_of(name);
  if (flag == LA_SER_ORIG && s.front.empty() && is_runtime_name(base)) {
    const std::string ours = copy_of(s.folder, std::string(base));
    if (ours != name && access(ours.c_str(), R_OK) == 0) return strdup(ours.c_str());
  }
  return const_cast<char*>(name);
}

AUDIT_API unsigned la_objopen(link_map* object, Lmid_t space, uintptr_t* cookie) {
  State& s = state();
  if (space != LM_ID_BASE) return 0;
  const std::string name = object->l_name;
  if (!s.front.empty() && name == s.front) {
    s.loaded_front = object;
    add_front_driver(object);
    *cookie = kVendor;
    return 0;
  }
  if (!s.runtime.empty() && name == s.runtime) {
    s.loaded_runtime = object;
  } else if (is_compiler(name)) {
    const bool ours = !s.compiler.empty() && name.starts_with(s.compiler + "/");
    if (s.front.empty() && !ours) answer_with_ptx(object, name);
  } else if (s.front.empty() || name.empty()) {
    look_at(object, name.empty() ? "/proc/self/exe" : name);
  }
  if (s.front.empty()) {
    *cookie = is_cublas(name) ? kCublas : kProgram;
    if (*cookie == kProgram) return LA_FLG_BINDFROM;
    const MappedFile mapped(object->l_name);
    know_cublas(*object, program_of(mapped.bytes()));
    return LA_FLG_BINDTO;
  }
  *cookie = role_of(name);
  return *cookie == kDriver ? LA_FLG_BINDTO : *cookie == kProgram ? LA_FLG_BINDFROM : 0;
}

// A program binds to the driver or to cuBLAS, by its imports or by dlsym.
AUDIT_API uintptr_t la_symbind64(Elf64_Sym* symbol, unsigned, uintptr_t* from, uintptr_t* to, unsigned*,
                                 const char* name) {
  if (*from == kProgram && *to == kCublas) {
    const uint64_t wrapper = cublas_instead(name);
    return wrapper != 0 ? wrapper : symbol->st_value;
  }
  if (*from != kProgram || *to != kDriver) return symbol->st_value;
  const auto found = state().front_driver.find(std::string_view(name));
  return found == state().front_driver.end() ? symbol->st_value : found->second;
}

AUDIT_API void la_activity(uintptr_t*, unsigned flag) {
  if (flag == LA_ACT_CONSISTENT && !state().pending.empty()) redirect_pending();
}
