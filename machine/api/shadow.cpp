#include "machine/api/shadow.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <deque>

namespace coalesce::machine::plain {

namespace {

constexpr std::size_t kSteps = 16, kMostNotes = 40;  // of a lane, before its store; of a warning

std::string hex(uint64_t v) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%" PRIx64, v);
  return text;
}

std::string place_of(const Launch& launch, const ptx::Function* f, const ptx::Instruction& in) {
  std::string text = "PTX line " + std::to_string(in.line) + ", " + in.mnemonic;
  if (in.location < 0) return text;
  const ptx::Location& l = f->locations[static_cast<std::size_t>(in.location)];
  for (const auto& [index, path] : launch.module->files)
    if (index == l.file && l.line) text += ", " + path + ":" + std::to_string(l.line);
  return text;
}

std::string joined(const std::map<uint64_t, std::string>& output) {
  std::string all;
  for (const auto& [block, text] : output) all += text;
  return all;
}

std::string counters_differ(const Counters& plain, const Counters& other) {
  std::string text;
  for (const CounterRow& row : kCounterRows)
    if (plain.*row.field != other.*row.field)
      text += (text.empty() ? "" : "; ") + std::string(row.name) + ": " + std::to_string(plain.*row.field) +
              " by the plain executor, " + std::to_string(other.*row.field) + " by this one";
  return text;
}

}  // namespace

Snapshot::Snapshot(const Memory& memory, const std::function<bool(const Allocation&)>& wanted) {
  for (const auto& a : memory.all()) {
    if (!a->live || (wanted && !wanted(*a))) continue;
    const auto* from = reinterpret_cast<const uint8_t*>(a->base);
    parts_.push_back({a->base, std::vector<uint8_t>(from, from + a->size)});
  }
}

void Snapshot::put_back() const {
  for (const Part& p : parts_) std::memcpy(reinterpret_cast<void*>(p.base), p.bytes.data(), p.bytes.size());
}

uint64_t Snapshot::first_difference() const {
  for (const Part& p : parts_) {
    const auto* now = reinterpret_cast<const uint8_t*>(p.base);
    const auto at = std::mismatch(p.bytes.begin(), p.bytes.end(), now).first;
    if (at != p.bytes.end()) return p.base + static_cast<uint64_t>(at - p.bytes.begin());
  }
  return 0;
}

uint8_t Snapshot::byte_at(uint64_t address) const {
  for (const Part& p : parts_)
    if (address >= p.base && address - p.base < p.bytes.size()) return p.bytes[address - p.base];
  return 0;
}

Shadow::Shadow(const Launch& launch) : launch_(launch), heap_(*launch.heap), before_(*launch.memory) {
  result_ = run(nullptr);
  after_.emplace(*launch_.memory);
  before_.put_back();
}

Result Shadow::run(const Observer* observer) {
  DeviceHeap heap = heap_;
  Launch launch = launch_;
  launch.heap = &heap;
  return plain::run(launch, observer);
}

std::optional<Diagnostic> Shadow::compare(const LaunchReport& other, const std::string& output, const Rerun& rerun) {
  Diagnostic d;
  d.severity = Severity::warning;
  d.kernel = launch_.kernel->name;
  const auto say = [&](const std::string& text) {
    if (d.message.empty())
      d.message = "the plain executor differs: " + text;
    else if (d.notes.size() < kMostNotes)
      d.notes.push_back(text);
  };
  if (result_.fault != other.fault) {
    const auto message = [](const std::vector<Diagnostic>& list) {
      return list.empty() ? "no fault" : list[0].message + " (PTX line " + std::to_string(list[0].ptx_line) + ")";
    };
    say("it ends with: " + message(result_.diagnostics) + "; this one: " + message(other.diagnostics));
    return d;
  }
  if (result_.fault != Fault::none) return std::nullopt;  // how far the others had come is nobody's promise
  const Snapshot* const after = after_ ? &*after_ : nullptr;
  if (const uint64_t at = after ? after->first_difference() : 0) {
    const Allocation* a = launch_.memory->find(at);
    const uint64_t first = at / 8 * 8 < a->base ? at : at / 8 * 8,
                   bytes = std::min<uint64_t>(8, a->base + a->size - first);
    uint64_t mine = 0, now = 0;
    for (uint64_t k = bytes; k-- > 0;) mine = mine << 8 | after->byte_at(first + k);
    std::memcpy(&now, reinterpret_cast<const void*>(first), bytes);
    say("byte " + std::to_string(at - a->base) + " of allocation #" + std::to_string(a->serial) + " (" + a->label +
        "); the " + std::to_string(bytes) + " bytes at " + hex(first) + " are " + hex(mine) +
        " by the plain executor, " + hex(now) + " by this one");
    explain(at, d, rerun);
  }
  if (joined(result_.output) != output) say("what it prints");
  if (result_.spins) return d.message.empty() ? std::nullopt : std::optional(d);  // who polls how often is no promise
  if (const std::string text = counters_differ(result_.counters, other.counters); !text.empty()) say(text);
  for (const LineCounters& l : other.lines) {
    const auto mine = std::find_if(result_.lines.begin(), result_.lines.end(), [&](const LineCounters& o) {
      return o.place.file == l.place.file && o.place.line == l.place.line && o.ptx_line == l.ptx_line;
    });
    const std::string where =
        l.place.line ? l.place.file + ":" + std::to_string(l.place.line) : "PTX line " + std::to_string(l.ptx_line);
    if (mine == result_.lines.end())
      say(where + " is not executed by the plain executor");
    else if (const std::string text = counters_differ(mine->counters, l.counters); !text.empty())
      say(where + ": " + text);
  }
  if (d.message.empty()) return std::nullopt;
  return d;
}

void Shadow::explain(uint64_t address, Diagnostic& d, const Rerun& rerun) {
  const Snapshot others(*launch_.memory);
  std::optional<Stored> last;
  uint64_t stores = 0;
  Observer who;
  who.stored = [&](const Stored& s) {
    if (address - s.address < s.bytes) last = s, ++stores;
  };
  before_.put_back();
  run(&who);
  if (!last) {
    d.notes.push_back("no thread stores there in the plain executor's run");
    return others.put_back();
  }
  d.block = last->block;
  d.warp = last->warp;
  d.lanes = 1u << last->lane;
  d.ptx_line = last->instruction->line;
  d.notes.push_back("stored by lane " + std::to_string(last->lane) + ": " +
                    place_of(launch_, last->function, *last->instruction));
  // Again: what that lane computes up to that store.
  std::deque<std::string> steps;
  std::vector<Probe> probes;  // of the kernel's own registers, each at its last write
  Observer how;
  how.stored = [&](const Stored& s) {
    if (stores && address - s.address < s.bytes) --stores;
  };
  how.written = [&](const Written& w) {
    if (w.block != last->block || w.warp != last->warp || !(w.lanes >> last->lane & 1)) return;
    if (w.function == launch_.kernel) {
      std::erase_if(probes, [&](const Probe& p) { return p.instruction == w.instruction && p.reg == w.reg; });
      probes.push_back({w.instruction, w.reg});
    }
    if (!stores) return;
    steps.push_back("  " + place_of(launch_, w.function, *w.instruction) + ": " + w.function->registers[w.reg].name +
                    " = " + hex(w.values[last->lane]));
    if (steps.size() > kSteps) steps.pop_front();
  };
  before_.put_back();
  run(&how);
  if (rerun) d.notes.push_back(first_register(probes, *last, rerun));
  d.notes.push_back("what this lane had computed before its store, by the plain executor:");
  d.notes.insert(d.notes.end(), steps.begin(), steps.end());
  others.put_back();
}

std::string Shadow::first_register(const std::vector<Probe>& probes, const Stored& lane, const Rerun& rerun) {
  const uint64_t bytes = kProbeBytes * std::max<std::size_t>(probes.size(), 1);
  const Allocation* buffer = launch_.memory->allocate(bytes, Origin::device, "probes");
  if (buffer == nullptr) return "which register differs first is not known: no memory";
  const uint32_t thread = lane.warp * 32 + lane.lane;
  const std::string text = with_probes(launch_.module->text, *launch_.kernel, probes, lane.block,
                                       {thread % launch_.block[0], thread / launch_.block[0] % launch_.block[1],
                                        thread / launch_.block[0] / launch_.block[1]},
                                       buffer->base);
  std::vector<uint64_t> left[2];
  bool ran = !text.empty();
  for (const bool plain : {true, false}) {
    before_.put_back();
    std::memset(reinterpret_cast<void*>(buffer->base), 0, bytes);
    ran = ran && rerun(text, plain);
    left[plain].resize(bytes / kProbeBytes);
    std::memcpy(left[plain].data(), reinterpret_cast<const void*>(buffer->base), bytes);
  }
  launch_.memory->release(buffer->base);
  if (!ran) return "which register differs first is not known: the kernel cannot be run with stores of its registers";
  for (std::size_t k = 0; k < probes.size(); ++k)
    if (left[0][k] != left[1][k])
      return "the first register that differs in lane " + std::to_string(lane.lane) + ": " +
             launch_.kernel->registers[probes[k].reg].name + ", " + hex(left[1][k]) + " by the plain executor, " +
             hex(left[0][k]) + " by this one, as this instruction leaves it the last time: " +
             place_of(launch_, launch_.kernel, *probes[k].instruction);
  return "no register of this lane differs when all are stored: the store itself does, or what the stores keep from "
         "being optimised";
}

}  // namespace coalesce::machine::plain
