// The bytes that pending work reads and writes, by page: the last write of each byte, and the reads since. Whatever is
// ordered after those is ordered after all before them, so the memory for this is bounded by the memory in use.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "cudart/check/order.h"
#include "cudart/check/trace.h"
#include "machine/check/footprint.h"

namespace coalesce::cudart {

using machine::AccessSite;
using machine::ByteSet;

// One kernel, copy, fill, allocation or free.
struct Work {
  Moment moment;
  std::string who;          // "cudaMemcpyAsync in stream 2"
  std::string kernel;       // mangled; empty: no kernel
  Frames frames;            // of the call
  bool tells_host = false;  // writes a volatile or releases where the host can look: it may tell it that it is done
};

// The bytes of a page that one site of a piece of work accesses.
struct Use {
  uint32_t work = 0;                       // index
  std::shared_ptr<const AccessSite> site;  // what kind of access, and where
  std::shared_ptr<ByteSet> bytes;
};

// An access that nothing orders with an earlier one.
struct Conflict {
  const Work* before;
  const AccessSite* before_site;
  const Work* now;
  const AccessSite* now_site;
  uint64_t address;  // the first byte
};

class Uses {
 public:
  // Adds what `site` of the work accesses, after `before`; `found` is called once for each use that it conflicts with.
  // Takes the site's pages.
  void add(uint32_t work, AccessSite site, const WorkClock& before, const std::function<void(const Conflict&)>& found);
  uint32_t begin(Work work);
  const Work& operator[](uint32_t work) const { return works_[work]; }
  void tells_host(uint32_t work) { works_[work].tells_host = true; }
  void clear();
  bool empty() const { return pages_.empty(); }

  // The uses of a page that the clock does not cover; null: none.
  std::vector<const Use*> pending(uint64_t page, const WorkClock& clock) const;
  // Calls visit(page) for all pages in use.
  template <class Visit>
  void each_page(Visit visit) const {
    for (const auto& [page, uses] : pages_)
      if (!uses.empty()) visit(page);
  }

 private:
  std::unordered_map<uint64_t, std::vector<Use>> pages_;
  std::vector<Work> works_;
};

}  // namespace coalesce::cudart
