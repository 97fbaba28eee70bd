// `check`'s memory of memory: which bytes have been written at all, and who accessed each word last.
//
// A cell stands for a line as long as warps access it whole, an element of 1 to 16 bytes a lane; else for a word of 4
// bytes, or for one byte in pages with narrower accesses. Cells are made page by page at the first access. Cost: 24
// bytes a cell, a fifth of the memory that a launch accesses line by line as words, six times what it accesses
// otherwise.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <unordered_map>
#include <utility>
#include <vector>

namespace coalesce::machine {

using AccessId = uint32_t;  // index into the launch's accesses (check.h); ids only grow

// The threads that accessed a cell: lanes of the warp that `id` names.
struct Accessed {
  AccessId id = 0;
  uint32_t lanes = 0;
};

struct Cell {
  Accessed writer;      // the last
  Accessed readers[2];  // since that write; of different warps, where there were several
};

// The earlier accesses of a cell whose last writer is strong: others may meet that one without an order, so these
// count.
struct Past {
  using Observers = std::array<Accessed, 4>;
  Accessed weak;       // the last weak writer
  Accessed others[2];  // strong writers that do not come before the last one
  // Polling loads that have read what the last one wrote: it comes before what comes after them. Few cells have any.
  std::unique_ptr<Observers> observers;
};

// One bit a byte: whether it has been written.
class Written {
 public:
  explicit Written(uint64_t bytes) : words_((bytes + 63) / 64) {}
  void set(uint64_t at, uint64_t bytes) {
    dirty_ = true;
    if (at % 64 + bytes <= 64)
      words_[at / 64] |= ones(bytes) << at % 64;
    else
      set_long(at, bytes);
  }
  void reset(uint64_t at, uint64_t bytes);
  // Sets and resets `bytes` at `at` as those of `other` are at `from`.
  void copy(uint64_t at, const Written& other, uint64_t from, uint64_t bytes);
  void clear();
  bool any(uint64_t at, uint64_t bytes) const;
  bool all(uint64_t at, uint64_t bytes) const {
    return at % 64 + bytes <= 64 ? (~words_[at / 64] >> at % 64 & ones(bytes)) == 0 : all_long(at, bytes);
  }
  bool get(uint64_t at) const { return words_[at / 64] >> (at % 64) & 1; }

  // The widest element that may lie there, in bytes: narrower ones may be padding in front of it or behind it.
  uint8_t widest = 0;

 private:
  static uint64_t ones(uint64_t count) { return count == 0 ? 0 : ~uint64_t{0} >> (64 - count); }
  void set_long(uint64_t at, uint64_t bytes);
  bool all_long(uint64_t at, uint64_t bytes) const;

  std::vector<uint64_t> words_;
  bool dirty_ = false;
};

// Memory for cells, zeroed: taken in pieces, given back as a whole.
class CellStore {
 public:
  CellStore() = default;
  CellStore(CellStore&& other) noexcept { *this = std::move(other); }
  CellStore& operator=(CellStore&& other) noexcept;
  ~CellStore() { clear(); }
  Cell* take(std::size_t cells);  // throws std::bad_alloc

 private:
  void clear();
  std::vector<std::pair<std::byte*, std::size_t>> chunks_;
  std::size_t used_ = 0;  // bytes of the last chunk
};

// Cells are of lines, words or bytes, page by page, as coarse as the accesses have been in an epoch: accesses of
// earlier epochs (launches; of shared memory, blocks) are forgotten.
class Cells {
 public:
  static constexpr uint64_t kPage = 1024;  // bytes of memory
  // Where a warp's access of `element` bytes a lane is a line: lane k's element is the k-th.
  static constexpr uint64_t line_bytes(uint32_t element) { return uint64_t{32} * element; }
  static constexpr bool makes_lines(uint32_t element) { return element <= 16 && (element & (element - 1)) == 0; }
  explicit Cells(uint64_t bytes) : pages_((bytes + kPage - 1) / kPage) {}

  // visit(Cell&, its place) for what `bytes` at `at` cover; aligned as accesses are. `made` counts bytes of cells made.
  template <class Visit>
  void visit(uint64_t at, uint32_t bytes, uint32_t epoch, uint64_t& made, Visit visit) {
    Page& page = pages_[at / kPage];  // an aligned access of up to 32 bytes lies within one
    enter(page, epoch);
    const uint16_t step = bytes % 4 != 0 || at % 4 != 0 ? 1 : 4;
    if (page.step == 0 || page.step > step)
      prepare(page, page.step == line_bytes(1) || page.step == line_bytes(2) ? 1 : step, made);
    const uint64_t in = at % kPage;
    for (uint64_t b = in; b < in + bytes; b += page.step) visit(page.cells[b >> page.shift], at - in + b);
  }
  // The cell of the line at `at`, whose element k only lane k of any warp has accessed so far; null: there is none.
  Cell* line(uint64_t at, uint32_t element, uint32_t epoch, uint64_t& made) {
    Page& page = pages_[at / kPage];
    enter(page, epoch);
    const auto step = static_cast<uint16_t>(line_bytes(element));
    if (page.step == 0) prepare(page, step, made);
    return page.step == step ? &page.cells[at % kPage >> page.shift] : nullptr;
  }
  // The past of cells, by their place.
  using Pasts = std::pmr::unordered_map<uint64_t, Past>;
  Pasts& past() { return past_; }
  std::size_t room() const { return room_; }  // cells there
  // visit(Accessed&) for each of this epoch, and for what is there of others, unless `only`.
  template <class Visit>
  void visit_all(uint32_t epoch, bool only, Visit visit) {
    for (Page& page : pages_) {
      std::size_t count = page.room;
      if (only) count = page.epoch == epoch && page.step != 0 ? kPage >> page.shift : 0;
      for (Cell* c = page.cells; c != page.cells + count; ++c)
        for (Accessed* a : {&c->writer, &c->readers[0], &c->readers[1]}) visit(*a);
    }
    for (auto& [at, p] : past_) {
      visit(p.weak);
      for (Accessed& a : p.others) visit(a);
      if (p.observers)
        for (Accessed& a : *p.observers) visit(a);
    }
  }

 private:
  struct Page {
    Cell* cells = nullptr;
    uint32_t epoch = 0;
    uint16_t step = 0;                      // bytes of a cell; 0: what is there is of another epoch
    uint16_t room : 12 = 0, shift : 4 = 0;  // cells there; log2(step)
  };
  static void enter(Page& page, uint32_t epoch) {
    if (page.epoch != epoch) page.step = 0;
    page.epoch = epoch;
  }
  void prepare(Page& page, uint16_t step, uint64_t& made);
  CellStore store_;
  std::size_t room_ = 0;
  std::vector<Page> pages_;
  std::pmr::unsynchronized_pool_resource pool_;  // a cell's past costs no call of the system's allocator
  Pasts past_{&pool_};
};

// The shadow of an allocation of global memory, as long as it lives.
struct Shadow {
  Shadow(uint64_t bytes, bool starts_written)
      : written(starts_written ? 0 : bytes), all_written(starts_written), cells(bytes) {}
  Written written;
  bool all_written;  // memory that begins with a content: variables, what the host can write
  Cells cells;

  // From now on some of it may be unwritten.
  void follow(uint64_t bytes) {
    if (!all_written) return;
    written = Written(bytes);
    written.set(0, bytes);
    all_written = false;
  }
};

struct Allocation;
Shadow& shadow_of(const Allocation& a);  // made when first asked for

}  // namespace coalesce::machine
