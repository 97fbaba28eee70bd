// Device memory and events for other processes of this computer. Memory that a handle is asked for moves to a file
// without a name (Memory::share); the handle says where the process that owns it keeps that file open, so the memory
// goes with that process.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "cudart/api/graph.h"
#include "cudart/core/runtime.h"
#include "machine/memory/memory.h"

namespace coalesce::cudart {

extern "C" {
cudaError_t cudaEventCreateWithFlags(cudaEvent_t*, unsigned);
}

namespace {

constexpr char kMagic[8] = {'c', 'o', 'a', 'l', 'e', 's', 'c', 'e'};
enum Kind : int { of_memory = 1, of_event = 2 };
constexpr unsigned kLazyPeerAccess = 1;  // cudaIpcMemLazyEnablePeerAccess, which has to be given

// The 64 bytes of a cudaIpcMemHandle_t or cudaIpcEventHandle_t.
struct Handle {
  char magic[8];
  Kind kind;
  int process;
  unsigned long long began;      // of the process: its number may be another's later
  int file;                      // of memory, in that process
  int device;                    // whose memory it is
  unsigned long long inode;      // of that file
  unsigned long long at, bytes;  // the allocation's place in the file
  unsigned long long reserved;
  friend bool operator<(const Handle& a, const Handle& b) { return std::memcmp(&a, &b, sizeof a) < 0; }
};
static_assert(sizeof(Handle) == 64 && sizeof(cudaIpcHandle) == 64);

// When a process began, in ticks since the computer started; 0: there is no such process.
unsigned long long start_of(int process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  const std::string line(std::istreambuf_iterator<char>(file), {});
  size_t at = line.rfind(')');  // behind the program's name, which may hold anything
  for (int field = 2; at != std::string::npos && field < 22; ++field) at = line.find(' ', at + 1);
  return at == std::string::npos ? 0 : std::stoull(line.substr(at + 1));
}

Handle handle_of(Kind kind) {
  Handle h{};
  std::memcpy(h.magic, kMagic, sizeof kMagic);
  h.kind = kind;
  h.process = getpid();
  h.began = start_of(h.process);
  return h;
}

// Whether it is a handle of this kind, and its process another one that lives.
cudaError_t check(const Handle& h, Kind kind) {
  if (std::memcmp(h.magic, kMagic, sizeof kMagic) != 0 || h.kind != kind) return cudaErrorInvalidValue;
  if (h.began == 0 || start_of(h.process) != h.began) return cudaErrorInvalidResourceHandle;
  return h.process == getpid() ? cudaErrorDeviceUninitialized : cudaSuccess;  // CUDA: invalid device context
}

// Memory of other processes that is mapped here.
struct Opened {
  void* mapped = nullptr;
  size_t mapped_bytes = 0;
  uint64_t address = 0;  // of the allocation
  unsigned users = 0;
};
struct Imports {
  std::map<Handle, Opened> all;
  ~Imports() {
    for (const auto& [handle, o] : all) munmap(o.mapped, o.mapped_bytes);
  }
};

cudaError_t map(Runtime& r, const Handle& h, Opened& o) {
  const uint64_t page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const std::string path = "/proc/" + std::to_string(h.process) + "/fd/" + std::to_string(h.file);
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return cudaErrorMapBufferObjectFailed;
  struct stat status{};
  const uint64_t before = h.at % page;
  o.mapped_bytes = before + h.bytes;
  const bool same = fstat(file, &status) == 0 && status.st_ino == h.inode && h.bytes != 0 &&
                    h.at <= static_cast<uint64_t>(status.st_size) &&
                    h.bytes <= static_cast<uint64_t>(status.st_size) - h.at;
  o.mapped = !same ? MAP_FAILED
                   : mmap(nullptr, o.mapped_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file,
                          static_cast<off_t>(h.at - before));
  close(file);
  if (o.mapped == MAP_FAILED) return cudaErrorMapBufferObjectFailed;
  o.address = reinterpret_cast<uint64_t>(o.mapped) + before;
  const Using owner(r, static_cast<unsigned>(h.device));
  if (r.memory().adopt(reinterpret_cast<void*>(o.address), h.bytes, machine::Origin::device, "cudaIpcOpenMemHandle"))
    return cudaSuccess;
  munmap(o.mapped, o.mapped_bytes);
  return cudaErrorMapBufferObjectFailed;
}

}  // namespace

COALESCE_API cudaError_t cudaIpcGetMemHandle(cudaIpcHandle* out, void* pointer) {
  if (out == nullptr) return note(cudaErrorInvalidValue);
  return call([&](Runtime& r) {
    const machine::Allocation* a = r.memory().find(reinterpret_cast<uint64_t>(pointer));
    machine::SharedPlace place;
    if (a == nullptr || a->origin != machine::Origin::device || !r.memory().share(a->base, place))
      return cudaErrorInvalidValue;
    struct stat status{};
    if (fstat(place.file, &status) != 0) return cudaErrorOperatingSystem;
    Handle h = handle_of(of_memory);
    h.file = place.file;
    h.device = a->device;
    h.inode = status.st_ino;
    h.at = place.offset;
    h.bytes = a->size;
    std::memcpy(out, &h, sizeof h);
    return cudaSuccess;
  });
}

// `handle` is passed by value. What is open already is given again, and has one more user.
COALESCE_API cudaError_t cudaIpcOpenMemHandle(void** pointer, cudaIpcHandle handle, unsigned flags) {
  if (pointer == nullptr || flags != kLazyPeerAccess) return note(cudaErrorInvalidValue);
  return call([&](Runtime& r) {
    Handle h;
    std::memcpy(&h, &handle, sizeof h);
    if (const cudaError_t error = check(h, of_memory); error != cudaSuccess) return error;
    if (!r.is_device(h.device)) return cudaErrorInvalidDevice;
    auto& all = held<Imports>().all;
    auto at = all.find(h);
    if (at == all.end()) {
      Opened o;
      if (const cudaError_t error = map(r, h, o); error != cudaSuccess) return error;
      at = all.emplace(h, o).first;
    }
    ++at->second.users;
    *pointer = reinterpret_cast<void*>(at->second.address);
    return cudaSuccess;
  });
}

COALESCE_API cudaError_t cudaIpcCloseMemHandle(void* pointer) {
  return call([&](Runtime& r) {
    auto& all = held<Imports>().all;
    for (auto at = all.begin(); at != all.end(); ++at) {
      Opened& o = at->second;
      if (o.address != reinterpret_cast<uint64_t>(pointer)) continue;
      if (--o.users != 0) return cudaSuccess;
      r.memory().release(o.address);
      munmap(o.mapped, o.mapped_bytes);
      all.erase(at);
      return cudaSuccess;
    }
    return cudaErrorInvalidValue;
  });
}

// Work is done when the call that asks for it returns, so an event of another process has always happened: an event of
// one's own says the same.
COALESCE_API cudaError_t cudaIpcGetEventHandle(cudaIpcHandle* out, cudaEvent_t event) {
  if (out == nullptr) return note(cudaErrorInvalidValue);
  return call([&](Runtime&) {
    const unsigned* flags = event_flags(event);
    if (flags == nullptr) return cudaErrorInvalidResourceHandle;
    if ((*flags & cudaEventInterprocess) == 0) return cudaErrorInvalidResourceHandle;
    const Handle h = handle_of(of_event);
    std::memcpy(out, &h, sizeof h);
    return cudaSuccess;
  });
}

COALESCE_API cudaError_t cudaIpcOpenEventHandle(cudaEvent_t* event, cudaIpcHandle handle) {
  if (event == nullptr) return note(cudaErrorInvalidValue);
  const cudaError_t error = call([&](Runtime&) {
    Handle h;
    std::memcpy(&h, &handle, sizeof h);
    return check(h, of_event);
  });
  return error != cudaSuccess ? error : cudaEventCreateWithFlags(event, cudaEventInterprocess | cudaEventDisableTiming);
}

}  // namespace coalesce::cudart
