// Objects in the cache folder: probing for one, keeping one, and noting that one is wanted.
#pragma once

#include <filesystem>
#include <mutex>
#include <optional>
#include <string>

#include "machine/program/program.h"
#include "native/compile.h"

namespace coalesce::native {

class ObjectStore {
 public:
  // `folder` empty: nothing is kept. `library`, `cpu` and `level` are part of an object's name. Cost: none; the library
  // is read at the first name.
  ObjectStore(std::filesystem::path folder, std::filesystem::path library, std::string cpu, unsigned level);

  std::string name_of(const machine::Decoded& program);
  // An object without code: the kernel has no native form. Nothing: there is no object.
  std::optional<Object> find(const std::string& name) const;
  // True if an earlier process asked for the object and left none.
  bool was_wanted(const std::string& name) const;
  void note_wanted(const std::string& name) const;
  // Keeps the object for later processes; null: there is none, and none will be asked for. Does nothing once the
  // process ends.
  void keep(const std::string& name, const Object* object) const;

 private:
  std::filesystem::path wanted_file(const std::string& name) const { return folder_ / (name + ".wanted"); }

  const std::filesystem::path folder_, library_;
  const std::string cpu_;
  const unsigned level_;
  std::once_flag identified_;
  std::string identity_;  // of compiler and CPU
};

// Held while a file is written. A process that ends waits for it, but lets no other begin.
class Writing {
 public:
  Writing() : lock_(mutex()) {}
  bool allowed() const;

 private:
  static std::timed_mutex& mutex();
  std::lock_guard<std::timed_mutex> lock_;
};

}  // namespace coalesce::native
