#include "machine/check/footprint.h"

#include <algorithm>
#include <bit>

#include "machine/program/program.h"

namespace coalesce::machine {

namespace {

uint64_t bits_of(uint64_t first, uint64_t count) {
  return (count == 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1) << first;
}

}  // namespace

void ByteSet::use_bytes() {
  if (bytes_) return;
  auto all = std::make_unique<Bytes>();
  for (std::size_t k = 0; k < all->size(); ++k) (*all)[k] = bits(k);
  bytes_ = std::move(all);
}

void ByteSet::add_bytes(uint64_t at, uint64_t bytes) {
  use_bytes();
  set(bytes_->data(), at, bytes);
}

void ByteSet::remove(const ByteSet& other) {
  if (!bytes_ && !other.bytes_) {
    for (std::size_t k = 0; k < words_.size(); ++k) words_[k] &= ~other.words_[k];
    return;
  }
  use_bytes();
  for (std::size_t k = 0; k < bytes_->size(); ++k) (*bytes_)[k] &= ~other.bits(k);
}

void ByteSet::unite(const ByteSet& other) {
  if (!bytes_ && !other.bytes_) {
    for (std::size_t k = 0; k < words_.size(); ++k) words_[k] |= other.words_[k];
    return;
  }
  use_bytes();
  for (std::size_t k = 0; k < bytes_->size(); ++k) (*bytes_)[k] |= other.bits(k);
}

bool ByteSet::empty() const {
  const auto zero = [](uint64_t w) { return w == 0; };
  return bytes_ ? std::ranges::all_of(*bytes_, zero) : std::ranges::all_of(words_, zero);
}

uint64_t ByteSet::meets(const ByteSet& other) const {
  if (!bytes_ && !other.bytes_) {
    for (std::size_t k = 0; k < words_.size(); ++k)
      if (const uint64_t both = words_[k] & other.words_[k])
        return (k * 64 + static_cast<uint64_t>(std::countr_zero(both))) * kWord;
    return kPage;
  }
  for (std::size_t k = 0; k < kPage / 64; ++k)
    if (const uint64_t both = bits(k) & other.bits(k)) return k * 64 + static_cast<uint64_t>(std::countr_zero(both));
  return kPage;
}

uint64_t ByteSet::first_missing(uint64_t from, uint64_t to) const {
  while (from < to) {
    const uint64_t first = from % 64, count = std::min(64 - first, to - from);
    if (const uint64_t missing = ~bits(from / 64) & bits_of(first, count))
      return from / 64 * 64 + static_cast<uint64_t>(std::countr_zero(missing));
    from += count;
  }
  return to;
}

ByteSet* AccessSite::page(uint64_t number) {
  std::shared_ptr<ByteSet>& entry = pages[number];
  if (!entry) entry = std::make_shared<ByteSet>();
  return entry.get();
}

void AccessSite::add(uint64_t address, uint64_t bytes) {
  for (const uint64_t end = address + bytes; address < end;) {
    const uint64_t at = address % ByteSet::kPage, here = std::min(ByteSet::kPage - at, end - address);
    page(address / ByteSet::kPage)->add(at, here);
    address += here;
  }
}

namespace {

AccessSite site_of(const Decoded& p, const Instruction& i, const char* what) {
  AccessSite s;
  s.what = what;
  s.place = p.places[i.place].source;
  s.inlined_at = p.places[i.place].inlined_at;
  s.ptx_line = i.ptx_line;
  return s;
}

}  // namespace

void Footprint::add(uint32_t instruction, uint64_t address, uint64_t bytes, const char* what) {
  const auto [at, fresh] = copies_.try_emplace({instruction, what}, static_cast<uint32_t>(sites_.size()));
  if (fresh) {
    sites_.push_back(site_of(program_, program_.code[instruction], what));
    sites_.back().writes = std::string_view(what) != "read";
  }
  sites_[at->second].add(address, bytes);
}

Footprint::Footprint(const Decoded& p) : index_(p.code.size()), program_(p) {
  for (std::size_t k = 0; k < p.code.size(); ++k) {
    const Instruction& i = p.code[k];
    if (i.memory == kNone) continue;
    const MemoryOp& m = p.memory[i.memory];
    index_[k] = static_cast<uint32_t>(sites_.size());
    const bool atomic = i.kind == Kind::atomic, writes = atomic || i.kind == Kind::store;
    AccessSite& s = sites_.emplace_back(site_of(p, i, atomic ? "atomic" : writes ? "write" : "read"));
    s.atomic = atomic;
    s.writes = writes;
    s.strong = m.order != Order::weak && m.order != Order::relaxed;
  }
  direct_.resize(sites_.size());
}

}  // namespace coalesce::machine
