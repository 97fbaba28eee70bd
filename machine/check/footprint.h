// The bytes of global memory that a launch reads and writes, and the instructions that do it: what `check` compares
// with the work of other streams and of the host.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "machine/diagnostic.h"

namespace coalesce::machine {

struct Decoded;

// Which bytes of a page: a bit for each word of 4, as long as only whole words are added, else for each byte.
class ByteSet {
 public:
  static constexpr uint64_t kPage = 4096;
  // Within the page. A fifth of `check`'s time: compilers would call it, as several functions do.
  [[gnu::always_inline]] void add(uint64_t at, uint64_t bytes) {
    if (!bytes_ && (at | bytes) % kWord == 0)
      set(words_.data(), at / kWord, bytes / kWord);
    else
      add_bytes(at, bytes);
  }
  void add_all() { add(0, kPage); }
  void remove(const ByteSet& other);
  bool empty() const;
  bool contains(uint64_t at) const { return bits(at / 64) >> (at % 64) & 1; }
  // The first byte that both have; kPage: none.
  uint64_t meets(const ByteSet& other) const;
  // The first byte of [from, to) that is missing; `to`: none.
  uint64_t first_missing(uint64_t from, uint64_t to) const;
  void unite(const ByteSet& other);

 private:
  static constexpr uint64_t kWord = 4;
  using Bytes = std::array<uint64_t, kPage / 64>;
  static void set(uint64_t* of, uint64_t at, uint64_t count) {
    for (const uint64_t end = at + count; at < end;) {
      const uint64_t bit = at % 64, here = end - at < 64 - bit ? end - at : 64 - bit;
      of[at / 64] |= ~uint64_t{0} >> (64 - here) << bit;
      at += here;
    }
  }
  void add_bytes(uint64_t at, uint64_t bytes);
  void use_bytes();
  uint64_t bits(uint64_t k) const {  // of the bytes from 64 * k on
    return bytes_ ? (*bytes_)[k] : widen(words_[k / kWord] >> k % kWord * (64 / kWord) & 0xffff);
  }
  // 16 bits, each four times.
  static uint64_t widen(uint64_t x) {
    x = (x | x << 24) & 0x000000ff000000ff;
    x = (x | x << 12) & 0x000f000f000f000f;
    x = (x | x << 6) & 0x0303030303030303;
    x = (x | x << 3) & 0x1111111111111111;
    return x * 15;
  }

  std::array<uint64_t, kPage / kWord / 64> words_{};
  std::unique_ptr<Bytes> bytes_;  // instead
};

// One instruction of a kernel, and what it has accessed. Copies and fills of the host have sites, too.
struct AccessSite {
  const char* what = "read";  // "read", "write", "atomic"
  bool writes = false, atomic = false;
  bool strong = false;  // volatile, acquire, release: made to meet what others do
  bool early = false;   // no griddepcontrol.wait comes before it
  SourcePlace place;    // of a kernel's instruction
  std::vector<SourcePlace> inlined_at;
  uint32_t ptx_line = 0;
  std::string ptx_text;
  std::unordered_map<uint64_t, std::shared_ptr<ByteSet>> pages;  // by address / kPage

  void add(uint64_t address, uint64_t bytes);  // any length
  ByteSet* page(uint64_t number);              // made when first asked for
};

// Cost: 136 bytes for each instruction and page of 4096 that it accesses by words, 512 more by bytes.
class Footprint {
 public:
  explicit Footprint(const Decoded& p);
  // Accesses of lanes, one behind the other. `begin`, `size`: of the allocation, if it is known.
  void add(uint32_t instruction, uint64_t address, uint32_t bytes, uint64_t begin = 0, uint64_t size = 0) {
    const uint32_t site = index_[instruction];
    Direct& d = direct_[site];
    if (d.sets.empty() && size != 0) {
      d.first = begin / ByteSet::kPage;
      d.sets.resize((begin + size - 1) / ByteSet::kPage - d.first + 1);
    }
    const uint64_t page = address / ByteSet::kPage, at = address % ByteSet::kPage;
    if (page - d.first >= d.sets.size() || at + bytes > ByteSet::kPage) return sites_[site].add(address, bytes);
    ByteSet*& set = d.sets[page - d.first];
    if (!set) set = sites_[site].page(page);
    set->add(at, bytes);
  }
  // The same of a bulk copy's instruction, which may do any.
  void add(uint32_t instruction, uint64_t address, uint64_t bytes, const char* what);
  std::vector<AccessSite> take() { return std::move(sites_); }

 private:
  struct Direct {  // the entries of a site's pages in the allocation that it has accessed first
    uint64_t first = 0;
    std::vector<ByteSet*> sets;
  };
  std::vector<Direct> direct_;   // by site
  std::vector<uint32_t> index_;  // of an instruction's site
  std::vector<AccessSite> sites_;
  const Decoded& program_;
  std::map<std::pair<uint32_t, std::string>, uint32_t> copies_;  // sites of bulk copies
};

}  // namespace coalesce::machine
