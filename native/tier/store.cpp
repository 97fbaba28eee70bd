#include "native/tier/store.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>

#include "cache/folder.h"
#include "cache/hash.h"
#include "native/tier/cpu.h"
#include "native/tier/fingerprint.h"
#include "native/tier/library.h"
#include "native/tier/object_file.h"

namespace coalesce::native {

namespace fs = std::filesystem;

ObjectStore::ObjectStore(fs::path folder, fs::path library, std::string cpu, unsigned level)
    : folder_(std::move(folder)), library_(std::move(library)), cpu_(std::move(cpu)), level_(level) {}

std::string ObjectStore::name_of(const machine::Decoded& program) {
  std::call_once(identified_, [&] {
    identity_ = cache::Sha256()
                    .field(std::to_string(kObjectVersion))
                    .field(library_identity(library_))
                    .field(cpu_.empty() ? cpu_identity() : cpu_)
                    .hex();
  });
  return cache::Sha256().field(identity_).field(std::to_string(level_)).field(fingerprint(program)).hex() + ".object";
}

std::optional<Object> ObjectStore::find(const std::string& name) const {
  if (folder_.empty()) return std::nullopt;
  const auto bytes = cache::find(folder_, name);
  return bytes ? from_bytes(*bytes) : std::nullopt;
}

bool ObjectStore::was_wanted(const std::string& name) const {
  std::error_code error;
  return !folder_.empty() && fs::exists(wanted_file(name), error);
}

void ObjectStore::note_wanted(const std::string& name) const {
  if (folder_.empty()) return;
  std::error_code error;
  fs::create_directories(folder_, error);
  std::ofstream{wanted_file(name)};
}

void ObjectStore::keep(const std::string& name, const Object* object) const {
  if (folder_.empty()) return;
  if (object) cache::keep(folder_, name, to_bytes(*object));
  std::error_code error;
  fs::remove(wanted_file(name), error);
}

namespace {

const pid_t owner = getpid();
std::atomic<bool> ending = false;

}  // namespace

// Nothing that the compiler uses is destroyed at the process's end (emit/keep_llvm.cpp), so destructors may still
// launch kernels: those are compiled and not kept.
std::timed_mutex& Writing::mutex() {
  static std::timed_mutex* the = [] {
    std::atexit([] {
      if (getpid() != owner) return;  // a child by fork() has no compiling thread
      const std::unique_lock finished(mutex(), std::chrono::seconds(1));
      ending = true;
    });
    return new std::timed_mutex;
  }();
  return *the;
}

bool Writing::allowed() const { return !ending; }

}  // namespace coalesce::native
