// Requests of the program that cannot be right: frees, copies, launches; and the memory that it leaves behind.
#include <algorithm>
#include <cstdlib>

#include "cudart/check/host.h"

namespace coalesce::cudart {

using machine::Diagnostic;
using machine::Hazard;
using machine::Origin;

namespace {

constexpr std::size_t kRememberedFrees = 16384;  // as in the machine's memory

// The serial numbers of "allocation #3" in a text.
void find_serials(const std::string& text, std::set<uint32_t>& out) {
  constexpr std::string_view kMark = "allocation #";
  for (std::size_t at = text.find(kMark); at != std::string::npos; at = text.find(kMark, at + 1))
    out.insert(static_cast<uint32_t>(std::strtoul(text.c_str() + at + kMark.size(), nullptr, 10)));
}

}  // namespace

void HostCheck::allocated(uint64_t address) {
  if (const auto* a = machine_.memory().find(address)) made_[a->serial] = frames_here();
}

// The allocations that were freed first are forgotten first.
void HostCheck::releasing(uint64_t address) {
  guard_.open();
  changed_ = true;
  const auto* a = machine_.memory().find(address);
  if (a == nullptr) return;
  freed_[a->serial] = frames_here();
  old_.push_back(a->serial);
  if (old_.size() <= kRememberedFrees) return;
  made_.erase(old_.front());
  freed_.erase(old_.front());
  old_.pop_front();
}

void HostCheck::annotate(Diagnostic& d) const {
  std::set<uint32_t> serials;
  find_serials(d.message, serials);
  find_serials(d.address, serials);
  for (const std::string& note : d.notes) find_serials(note, serials);
  for (const uint32_t serial : serials) {
    const std::string name = "allocation #" + std::to_string(serial);
    if (const auto made = made_.find(serial); made != made_.end()) d.traces.push_back(trace_of(name, made->second));
    if (const auto freed = freed_.find(serial); freed != freed_.end())
      d.traces.push_back(trace_of(name + " freed", freed->second));
  }
}

void HostCheck::bad_free(const std::string& call, uint64_t address) {
  Diagnostic d;
  d.hazard = Hazard::bad_free;
  const auto* a = machine_.memory().find(address);
  const std::string now = machine_.memory().describe(address, 1);
  d.message = call + " of " +
              (a != nullptr && a->base != address     ? "a pointer into an allocation"
               : a != nullptr                         ? "memory that another call has allocated"
               : now.find("which was freed") + 1 != 0 ? "memory that was freed before"
                                                      : "a pointer that no allocation has returned");
  d.address = machine_.memory().describe(address, 1);
  d.notes = {"free each allocation once, by the pointer that its allocation returned"};
  report(std::move(d), frames_here());
}

void HostCheck::bad_copy(const std::string& call, uint64_t address, uint64_t bytes, const std::string& why) {
  Diagnostic d;
  d.hazard = Hazard::bad_copy;
  d.message = call + " " + why;
  d.address = machine_.memory().describe(address, bytes);
  d.notes = {
      "the call does nothing and returns an error; its size is in bytes, and its kind says which side is the device"};
  report(std::move(d), frames_here());
}

void HostCheck::unwritten(const std::string& call, uint64_t first, uint64_t count, uint64_t bytes) {
  const auto* a = machine_.memory().find(first);
  if (a == nullptr || !said_.insert("unwritten " + std::to_string(a->serial)).second) return;
  Diagnostic d;
  d.severity = machine::Severity::warning;
  d.hazard = Hazard::uninitialised_copy;
  d.message = call + " brings the host " + std::to_string(count) + " of " + std::to_string(bytes) +
              " bytes that nothing has written";
  d.address = machine_.memory().describe(first, 1);
  d.notes = {"write them first (a kernel, cudaMemset), or copy only what is written"};
  report(std::move(d), frames_here());
}

void HostCheck::launch_refused(const std::string& kernel, const std::string& why) {
  Diagnostic d;
  d.hazard = Hazard::failed_launch;
  d.message = "this launch was refused, and the program went on: " + why;
  d.kernel = kernel;
  d.notes = {"ask cudaGetLastError() after each launch"};
  refused_.push_back({std::this_thread::get_id(), std::move(d), frames_here()});
}

void HostCheck::error_seen() {
  std::erase_if(refused_, [](const Refused& r) { return r.thread == std::this_thread::get_id(); });
}

void HostCheck::not_checked(const std::string& what) {
  Diagnostic d;
  d.severity = machine::Severity::warning;
  d.hazard = Hazard::not_checked;
  d.message = what;
  report(std::move(d), frames_here());
}

void HostCheck::report_refused() {
  guard_.open();
  for (Refused& r : refused_) report(std::move(r.diagnostic), r.frames);
  refused_.clear();
}

void HostCheck::report_leaks() {
  for (const Diagnostic& d : machine_.heap_leaks()) sink_(d);
  constexpr std::size_t kShown = 8;
  Diagnostic d;
  uint64_t bytes = 0;
  std::size_t count = 0;
  for (const auto& a : machine_.memory().all()) {
    const bool on_device = a->origin == Origin::device || a->origin == Origin::managed;
    if (!a->live || !on_device || !a->label.starts_with("cu")) continue;  // not variables
    bytes += a->size;
    if (++count > kShown) continue;
    const std::string name = "allocation #" + std::to_string(a->serial);
    d.notes.push_back(a->label + " of " + std::to_string(a->size) + " bytes, " + name);
  }
  if (count == 0) return;
  if (count > kShown) d.notes.push_back("and " + std::to_string(count - kShown) + " more");
  d.severity = machine::Severity::warning;
  d.hazard = Hazard::leak;
  d.message = std::to_string(bytes) + " bytes of device memory were not freed";
  annotate(d);
  sink_(d);
}

}  // namespace coalesce::cudart
