#include "cudart/check/host.h"

#include <algorithm>
#include <cstdlib>

namespace coalesce::cudart {
namespace {

using machine::Allocation;
using machine::Diagnostic;
using machine::Hazard;
using machine::Origin;

constexpr uint64_t kSmall = 64 * 1024;  // allocations of which pages may be closed that are used in part

bool host_reaches(const Allocation& a) { return a.origin == Origin::host || a.origin == Origin::managed; }

// Made by the runtime for the program: no other data lies on its pages (Memory::keep_apart).
bool has_own_pages(const Allocation& a) {
  return host_reaches(a) && a.base % ByteSet::kPage == 0 &&
         (a.label.starts_with("cudaMalloc") || a.label.starts_with("cudaHostAlloc") ||
          a.label.starts_with("cuMemAlloc"));
}

const char* memory_name(const Allocation& a) {
  switch (a.origin) {
    case Origin::host:
      return "pinned";
    case Origin::managed:
      return "managed";
    case Origin::constant:
      return "constant";
    default:
      return "device";
  }
}

}  // namespace

HostCheck::HostCheck(machine::Machine& machine, std::mutex& lock, Sink sink)
    : machine_(machine),
      sink_(std::move(sink)),
      guard_(lock, [this](uint64_t address, bool writes) { return host_access(address, writes); }) {}

void HostCheck::report(Diagnostic d, const Frames& frames) {
  d.traces.insert(d.traces.begin(), trace_of("call", frames));
  annotate(d);
  sink_(d);
}

// --- Work

void HostCheck::act_in(StreamKey stream, bool blocking, Acts as) {
  where_ = "in " + order_.name(stream);
  overlaps_ = as == Acts::overlaps;
  if (overlaps_) early_moment_ = order_.begin_early(stream, blocking, early_before_);
  moment_ = order_.begin(stream, blocking, before_, as != Acts::other);
  in_graph_ = false;
}

void HostCheck::act_as_node(const void* node, const std::vector<const void*>& needs) {
  where_ = "in a graph";
  overlaps_ = false;
  moment_ = order_.node(node, needs, before_);
  in_graph_ = true;
}

void HostCheck::begin_work(const std::string& call, bool kernel) {
  guard_.open();
  changed_ = true;
  Work work{moment_, kernel ? where_ : call + " " + where_, kernel ? call : "", frames_here(), false};
  overlaps_ = overlaps_ && kernel;
  if (overlaps_) {
    Work early = work;
    early.moment = early_moment_;
    early_work_ = uses_.begin(std::move(early));
  }
  work_ = uses_.begin(std::move(work));
}

void HostCheck::used(const std::vector<Range>& ranges) {
  for (const bool writes : {false, true}) {
    AccessSite site;
    site.what = writes ? "write" : "read";
    site.writes = writes;
    for (const Range& r : ranges)
      if (r.writes == writes && machine_.memory().find(r.address) != nullptr) site.add(r.address, r.bytes);
    if (!site.pages.empty()) uses_.add(work_, std::move(site), before_, [this](const Conflict& c) { race(c); });
  }
}

void HostCheck::launched(machine::LaunchReport& report) {
  const Frames frames = uses_[work_].frames;
  for (Diagnostic& d : report.diagnostics) {
    d.traces.push_back(trace_of("launch", frames));
    annotate(d);
  }
  if (report.accesses == nullptr) return;
  ByteSet all_bytes;
  all_bytes.add_all();
  const auto lies_in = [&](const AccessSite& s, auto accepts) -> const Allocation* {
    for (const auto& [page, bytes] : s.pages) {
      const uint64_t first = page * ByteSet::kPage + bytes->meets(all_bytes);
      if (const Allocation* a = machine_.memory().find(first); a != nullptr && accepts(*a)) return a;
    }
    return nullptr;
  };
  for (AccessSite& site : *report.accesses) {
    if (site.pages.empty()) continue;
    const bool early = overlaps_ && site.early;
    const uint32_t work = early ? early_work_ : work_;
    if (site.strong && site.writes && lies_in(site, host_reaches) != nullptr) uses_.tells_host(work);
    const Allocation* constant =
        site.writes ? lies_in(site, [](const Allocation& a) { return a.origin == Origin::constant; }) : nullptr;
    if (constant != nullptr && said_.insert("constant " + uses_[work_].kernel + std::to_string(site.ptx_line)).second) {
      Diagnostic d;
      d.hazard = Hazard::constant_write;
      d.message = "a kernel writes __constant__ memory, which it may only read";
      d.kernel = uses_[work_].kernel;
      d.what = site.what;
      d.place = site.place;
      d.inlined_at = site.inlined_at;
      d.ptx_line = site.ptx_line;
      d.ptx_text = site.ptx_text;
      d.address = constant->label;
      d.traces = {trace_of("launch", frames)};
      d.notes = {"let the host write it between launches (cudaMemcpyToSymbol), or make it a __device__ variable"};
      sink_(d);
    }
    uses_.add(work, std::move(site), early ? early_before_ : before_, [&](const Conflict& c) { race(c, early); });
  }
  static const char* blocking = std::getenv("CUDA_LAUNCH_BLOCKING");
  if (blocking != nullptr && *blocking == '1') host_waits_for_work();
}

void HostCheck::host_waits_for_work() {
  if (in_graph_) return;
  order_.host_waits_for(moment_, before_);
  settle();
}

void HostCheck::settle() {
  changed_ = true;
  if (!order_.settle()) return;
  uses_.clear();
  told_ = functions_ = {};
}

// `early`: the access by a kernel that may have begun while the one before it runs.
void HostCheck::race(const Conflict& c, bool early) {
  const AccessSite &now = *c.now_site, &before = *c.before_site;
  const auto place = [](const Work& w, const AccessSite& s) {
    return w.kernel.empty() ? w.who : w.kernel + ":" + std::to_string(s.ptx_line);
  };
  if (!said_.insert("streams " + place(*c.now, now) + " " + place(*c.before, before)).second) return;
  const auto is = [](const Work& w, const char* call) { return w.kernel.empty() && w.who.starts_with(call); };
  Diagnostic d;
  d.hazard = Hazard::race_streams;
  d.what = now.what;
  d.place = now.place;
  d.inlined_at = now.inlined_at;
  d.ptx_line = now.ptx_line;
  d.ptx_text = now.ptx_text;
  d.kernel = c.now->kernel;
  d.who = c.now->who;
  d.address = machine_.memory().describe(c.address, 1);
  const auto named = [](const Work& w, const AccessSite& s) {
    return w.kernel.empty() ? w.who.substr(0, w.who.find(' ')) : std::string("a kernel's ") + s.what;
  };
  if (is(*c.now, "cudaFree"))
    d.message = "memory is freed while work of another stream may use it";
  else if (is(*c.before, "cudaMalloc"))
    d.message = "memory is used that another stream may not have allocated yet";
  else
    d.message =
        "race between streams: " + named(*c.now, now) + " and " + named(*c.before, before) + " before it have no order";
  early = early && !c.before->kernel.empty() && c.before->who == c.now->who;
  if (early)
    d.message = std::string("race between launches that overlap: this ") + now.what + " and the " + before.what +
                " of the kernel before have no order";
  d.other = machine::Party{before.what, before.place, before.ptx_line, {}, {}, before.inlined_at, c.before->who};
  if (!c.before->kernel.empty()) d.other->who = c.before->kernel + " " + c.before->who;
  d.traces = {trace_of("other", c.before->frames)};
  d.notes = {early ? "cudaGridDependencySynchronize() (griddepcontrol.wait) has to come before the access"
                   : "cudaEventRecord after the first and cudaStreamWaitEvent before the second put them in order"};
  report(std::move(d), c.now->frames);
}

// --- The host's own accesses

Guard::Want HostCheck::wanted(uint64_t page) const {
  const uint64_t start = page * ByteSet::kPage;
  const Allocation* a = machine_.memory().find(start);
  if (a == nullptr || !host_reaches(*a)) return Guard::Want::open;
  const uint64_t end = std::min(a->base + a->size - start, ByteSet::kPage);
  if (end < ByteSet::kPage && !has_own_pages(*a)) return Guard::Want::open;
  ByteSet written, any;
  bool writes = false, uses = false;
  for (const Use* use : uses_.pending(page, ended())) {
    if (use->site->strong || may_be_told(uses_[use->work])) continue;
    any.unite(*use->bytes);
    uses = true;
    if (use->site->writes) written.unite(*use->bytes), writes = true;
  }
  const bool small = has_own_pages(*a) && a->size <= kSmall;
  if (writes && (small || written.first_missing(0, end) == end)) return Guard::Want::closed;
  if (uses && (small || any.first_missing(0, end) == end)) return Guard::Want::read_only;
  return Guard::Want::open;
}

void HostCheck::leave() {
  if (!changed_ || callbacks_ > 0) return;
  changed_ = false;
  protect();
}

void HostCheck::protect() {
  const auto& all = machine_.memory().all();
  if (std::none_of(all.begin(), all.end(), [](const auto& a) { return a->live && host_reaches(*a); })) return;
  std::map<uint64_t, Guard::Want> pages;
  uses_.each_page([&](uint64_t page) {
    if (const Guard::Want want = wanted(page); want != Guard::Want::open) pages[page] = want;
  });
  guard_.protect(std::move(pages));
}

bool HostCheck::host_access(uint64_t address, bool writes) {
  bool race = false;
  for (const Use* use : uses_.pending(address / ByteSet::kPage, ended())) {
    const Work& work = uses_[use->work];
    if (!use->bytes->contains(address % ByteSet::kPage) || !(writes || use->site->writes)) continue;
    if (use->site->strong || may_be_told(work)) continue;
    race = true;
    const Frames frames = frames_here();
    const AccessSite& theirs = *use->site;
    const std::string at = frames.empty() ? "" : std::to_string(frames[0]);
    if (!said_.insert("host " + at + " " + work.kernel + work.who + std::to_string(theirs.ptx_line)).second) continue;
    const Allocation* a = machine_.memory().find(address);
    Diagnostic d;
    d.hazard = Hazard::race_host;
    d.what = writes ? "write" : "read";
    d.who = callbacks_ > 0 ? "a function of the host's" : "the host";
    d.address = machine_.memory().describe(address, 1);
    d.message =
        std::string("race with the host: its ") + d.what + " of " + (a != nullptr ? memory_name(*a) : "") +
        " memory and " +
        (work.kernel.empty() ? work.who.substr(0, work.who.find(' ')) : std::string("a kernel's ") + theirs.what) +
        (callbacks_ > 0 ? ", which nothing orders before it" : ", for which it has not waited");
    d.other = machine::Party{theirs.what, theirs.place, theirs.ptx_line, {}, {}, theirs.inlined_at, work.who};
    if (!work.kernel.empty()) d.other->who = work.kernel + " " + work.who;
    d.traces = {trace_of("other", work.frames)};
    if (callbacks_ == 0)
      d.notes = {
          "cudaDeviceSynchronize, or a wait for its stream or an event behind it, has to come before the access"};
    else
      d.notes = {
          "the function has to come behind that work: in its stream, behind an event, or by an edge of the graph"};
    report(std::move(d), frames);
  }
  return race;
}

}  // namespace coalesce::cudart
