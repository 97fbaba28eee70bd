// The hazards that lanes have met, as diagnostics: one for each pair of instructions.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "machine/check/access_records.h"
#include "machine/check/address_facts.h"
#include "machine/check/checked_kernel.h"
#include "machine/check/seen.h"
#include "machine/diagnostic.h"

namespace coalesce::machine {

struct Launch;

// The lane that has changed a word last by an atomic or a strong store.
struct Changer {
  uint64_t block = 0;
  uint32_t warp = 0, lane = 0, instruction = kNone;
};

class Findings {
 public:
  Findings(const Launch& launch, const CheckedKernel& kernel, const AddressFacts& addresses,
           const AccessRecords& records)
      : launch_(launch), kernel_(kernel), addresses_(addresses), records_(records) {}

  void add(const Seen& s);
  // Counts one more of a finding that is shown as it is. False: it is for add().
  bool counts_again(const Seen& s);
  // Notes the first unwritten value that an instruction has read: it is named where it is used.
  void read_undefined(const Seen& s) { origins_.emplace(s.instruction, s); }
  std::vector<Diagnostic> take();  // in the order of the source

  std::string name_address(const Seen& s) const;
  std::string name_place(uint32_t instruction) const;
  std::string name_changer(const Changer& c) const;

 private:
  struct Finding {
    Diagnostic diagnostic;
    uint32_t apart;  // as Seen::apart
  };
  using Key = std::tuple<Hazard, uint32_t, uint32_t>;  // its two instructions
  Key key_of(const Seen& s) const;
  Diagnostic describe(const Seen& s) const;
  void explain(const Seen& s, Diagnostic& d) const;
  std::string name_bounds(const Seen& s) const;
  std::array<uint32_t, 3> thread(uint32_t warp, uint32_t lane) const;
  std::array<uint32_t, 3> block(uint64_t index) const;

  const Launch& launch_;
  const CheckedKernel& kernel_;
  const AddressFacts& addresses_;
  const AccessRecords& records_;
  std::map<Key, Finding> all_;
  std::pair<const Key, Finding>* last_ = nullptr;
  std::map<uint32_t, Seen> origins_;
  uint64_t left_out_ = 0;  // lanes' hazards at places beyond the most that are kept
};

}  // namespace coalesce::machine
