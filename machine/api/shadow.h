// Holds an executor to the plain one, launch by launch: both begin with the same memory, and what they leave is
// compared (Options::shadow).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "machine/api/machine.h"
#include "machine/execute/calls.h"
#include "machine/plain/plain.h"
#include "machine/plain/probe.h"

namespace coalesce::machine::plain {

// The contents of all live allocations, or of those that `wanted` names.
class Snapshot {
 public:
  explicit Snapshot(const Memory& memory, const std::function<bool(const Allocation&)>& wanted = nullptr);
  void put_back() const;
  // The first byte that is not what it was; 0: there is none.
  uint64_t first_difference() const;
  uint8_t byte_at(uint64_t address) const;

 private:
  struct Part {
    uint64_t base = 0;
    std::vector<uint8_t> bytes;
  };
  std::vector<Part> parts_;
};

// Runs the launch again with other PTX, the same at every call, by the plain executor or by the one that is compared
// with it, and prints nothing. False: it could not.
using Rerun = std::function<bool(const std::string& text, bool plain)>;

class Shadow {
 public:
  // Runs the launch by the plain executor and puts the memory back. Its heap is a copy.
  explicit Shadow(const Launch& launch);
  // To be called when the other executor has run: what differs, as a warning that names the first place. Runs the
  // launch again to find who has written there, and by `rerun` (may be empty) which register differed first.
  std::optional<Diagnostic> compare(const LaunchReport& other, const std::string& output, const Rerun& rerun);

 private:
  // The last store to that address, and what its lane had computed before.
  void explain(uint64_t address, Diagnostic& d, const Rerun& rerun);
  // Which register of the kernel, as its last write leaves it in that lane, differs first; `probes` in the order of
  // those writes.
  std::string first_register(const std::vector<Probe>& probes, const Stored& lane, const Rerun& rerun);
  Result run(const Observer* observer);

  Launch launch_;
  DeviceHeap heap_;
  Snapshot before_;
  Result result_;
  std::optional<Snapshot> after_;
};

}  // namespace coalesce::machine::plain
