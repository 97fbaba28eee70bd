// `check`'s memory of memory: which bytes have been written at all, and who accessed each word last.
//
// A cell stands for a word of 4 bytes, or for one byte in pages with narrower accesses. Cells are made page by page at
// the first access. Cost: 24 bytes a cell, six times the memory that a launch accesses in words.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace coalesce::machine {

using AccessId = uint32_t;  // index into the launch's accesses (check.h); ids only grow

// The threads that accessed a cell: lanes of the warp that `id` names.
struct Accessed {
  AccessId id = 0;
  uint32_t lanes = 0;
};

struct Cell {
  Accessed writer;
  Accessed readers[2];  // since that write; of different warps, where there were several
};

// One bit a byte: whether it has been written.
class Written {
 public:
  explicit Written(uint64_t bytes) : words_((bytes + 63) / 64) {}
  void set(uint64_t at, uint64_t bytes);
  void clear();
  bool any(uint64_t at, uint64_t bytes) const;
  bool get(uint64_t at) const { return words_[at / 64] >> (at % 64) & 1; }

 private:
  std::vector<uint64_t> words_;
  bool dirty_ = false;
};

class Cells {
 public:
  explicit Cells(uint64_t bytes) : pages_((bytes + kPage - 1) / kPage) {}

  // visit(Cell&) for what `bytes` at `at` cover; aligned as accesses are. `made` counts bytes of cells made.
  template <class Visit>
  void visit(uint64_t at, uint32_t bytes, uint64_t& made, Visit visit) {
    Page& page = pages_[at / kPage];  // an aligned access of up to 32 bytes lies within one
    const bool narrow = bytes % 4 != 0 || at % 4 != 0;
    if (page.cells.empty() || (narrow && !page.by_byte)) prepare(page, narrow, made);
    const uint64_t in = at % kPage, step = page.by_byte ? 1 : 4;
    for (uint64_t b = in; b < in + bytes; b += step) visit(page.cells[b / step]);
  }

 private:
  static constexpr uint64_t kPage = 1024;  // bytes of memory
  struct Page {
    std::vector<Cell> cells;
    bool by_byte = false;
  };
  static void prepare(Page& page, bool by_byte, uint64_t& made);
  std::vector<Page> pages_;
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
