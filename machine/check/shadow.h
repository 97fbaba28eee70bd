// `check`'s memory of memory: which bytes have been written at all, and who accessed each word last.
//
// A cell stands for a line of 128 bytes as long as warps access it whole, a word a lane; else for a word of 4 bytes, or
// for one byte in pages with narrower accesses. Cells are made page by page at the first access. Cost: 24 bytes a cell,
// a fifth of the memory that a launch accesses line by line, six times what it accesses otherwise.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
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
  Accessed weak;          // the last weak writer
  Accessed others[2];     // strong writers that do not come before the last one
  Accessed observers[4];  // polling loads that have read what the last one wrote: it comes before what comes after them
};

// One bit a byte: whether it has been written.
class Written {
 public:
  explicit Written(uint64_t bytes) : words_((bytes + 63) / 64) {}
  void set(uint64_t at, uint64_t bytes);
  void reset(uint64_t at, uint64_t bytes);
  void clear();
  bool any(uint64_t at, uint64_t bytes) const;
  bool all(uint64_t at, uint64_t bytes) const;
  bool get(uint64_t at) const { return words_[at / 64] >> (at % 64) & 1; }

 private:
  std::vector<uint64_t> words_;
  bool dirty_ = false;
};

// Cells are of lines, words or bytes, page by page, as coarse as the accesses have been.
class Cells {
 public:
  static constexpr uint64_t kLine = 128;  // bytes
  explicit Cells(uint64_t bytes) : pages_((bytes + kPage - 1) / kPage) {}

  // visit(Cell&, its place) for what `bytes` at `at` cover; aligned as accesses are. `made` counts bytes of cells made.
  template <class Visit>
  void visit(uint64_t at, uint32_t bytes, uint64_t& made, Visit visit) {
    Page& page = pages_[at / kPage];  // an aligned access of up to 32 bytes lies within one
    const uint8_t step = bytes % 4 != 0 || at % 4 != 0 ? 1 : 4;
    if (page.cells.empty() || page.step > step) prepare(page, step, made);
    const uint64_t in = at % kPage;
    for (uint64_t b = in; b < in + bytes; b += page.step) visit(page.cells[b / page.step], at - in + b);
  }
  // The cell of the line at `at`, whose word k only lane k of any warp has accessed so far; null: there is none.
  Cell* line(uint64_t at, uint64_t& made) {
    Page& page = pages_[at / kPage];
    if (page.cells.empty()) prepare(page, kLine, made);
    return page.step == kLine ? &page.cells[at % kPage / kLine] : nullptr;
  }
  // The past of cells, by their place.
  std::unordered_map<uint64_t, Past>& past() { return past_; }
  template <class Visit>
  void visit_all(Visit visit) {  // each Accessed
    for (Page& page : pages_)
      for (Cell& c : page.cells)
        for (Accessed* a : {&c.writer, &c.readers[0], &c.readers[1]}) visit(*a);
    for (auto& [at, p] : past_) {
      visit(p.weak);
      for (Accessed& a : p.others) visit(a);
      for (Accessed& a : p.observers) visit(a);
    }
  }

 private:
  static constexpr uint64_t kPage = 1024;  // bytes of memory
  struct Page {
    std::vector<Cell> cells;
    uint8_t step = 0;  // bytes of a cell
  };
  static void prepare(Page& page, uint8_t step, uint64_t& made);
  std::vector<Page> pages_;
  std::unordered_map<uint64_t, Past> past_;
};

// The shadow of an allocation of global memory, as long as it lives.
struct Shadow {
  Shadow(uint64_t bytes, bool starts_written)
      : written(starts_written ? 0 : bytes), all_written(starts_written), cells(bytes) {}
  Written written;
  bool all_written;  // memory that begins with a content: variables, what the host can write
  Cells cells;
};

struct Allocation;
Shadow& shadow_of(const Allocation& a);  // made when first asked for

}  // namespace coalesce::machine
