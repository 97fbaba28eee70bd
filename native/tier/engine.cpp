#include "native/tier/engine.h"

#include <algorithm>
#include <cstdlib>
#include <new>
#include <utility>

#include "cache/folder.h"
#include "native/run/kernel.h"
#include "native/tier/library.h"
#include "native/tier/policy.h"

namespace coalesce::native {

using namespace machine;

namespace {

// find() is asked before each thread block; every so many times is enough.
constexpr uint32_t kAskEvery = 16;

}  // namespace

std::shared_ptr<NativeProvider> make_provider(machine::Engine engine, std::function<void(const std::string&)> warn) {
  if (engine == machine::Engine::interpreter || engine == machine::Engine::plain) return nullptr;
  Settings settings;
  settings.engine = engine;
  settings.library = find_library();
  if (settings.library.empty()) {
    if (engine == machine::Engine::native && warn) warn("this build has no native engine; kernels are interpreted");
    return nullptr;
  }
  settings.folder = cache::default_folder();
  if (const char* cpu = std::getenv("COALESCE_NATIVE_CPU")) settings.cpu = cpu;
  settings.warn = std::move(warn);
  return std::make_shared<Engine>(std::move(settings));
}

Engine::Engine(Settings settings)
    : settings_(std::move(settings)),
      store_(settings_.folder, settings_.library, settings_.cpu, settings_.level),
      workers_(settings_, store_, board_) {}

Engine::~Engine() {
  const std::lock_guard lock(board_.mutex);
  board_.stop = true;
}

Statistics Engine::statistics() const {
  const std::lock_guard lock(board_.mutex);
  return board_.statistics;
}

void Engine::wait() {
  Board::Lock lock(board_.mutex);
  for (const auto& [code, e] : entries_)
    if (e->is_compiling()) workers_.queue(e, Priority::foreground);
  const auto nothing_left = [&] {
    return std::none_of(entries_.begin(), entries_.end(), [](const auto& item) { return item.second->is_compiling(); });
  };
  while (!board_.changed.wait_for(lock, settings_.timeout, nothing_left)) workers_.abandon_overdue();
}

// Under the lock. What belongs to kernels that are gone goes too.
std::shared_ptr<Entry> Engine::entry(const Code& code) {
  std::shared_ptr<Entry>& e = entries_[&code];
  if (e && !e->code.expired()) return e;
  std::erase_if(entries_,
                [&](const auto& item) { return item.first != &code && item.second && item.second->code.expired(); });
  std::shared_ptr<Entry>& fresh = entries_[&code];
  fresh = std::make_shared<Entry>();
  fresh->code = code.weak_from_this();
  return fresh;
}

std::shared_ptr<const NativeKernel> Engine::find(const Launch& launch) {
  // Most answers are "not yet": they are given without the lock. (Where a kernel has come to lie where an earlier one
  // was, it is asked about a few blocks later.)
  thread_local const Code* asked_for = nullptr;
  thread_local uint64_t asked_at = 0;
  thread_local uint32_t calls_left = 0;
  const uint64_t now = board_.finished.load(std::memory_order_acquire);
  if (settings_.engine == machine::Engine::automatic && asked_for == launch.code && asked_at == now && calls_left > 0) {
    --calls_left;
    return nullptr;
  }
  Board::Lock lock(board_.mutex);
  const std::shared_ptr<Entry> e = entry(*launch.code);
  try {
    ask_for(lock, e, launch);
  } catch (const std::bad_alloc&) {
    if (!lock.owns_lock()) lock.lock();
    board_.give_up(*e);
  }
  if (e->state == State::ready) {
    // Without code for this kernel there is nothing more to ask.
    asked_for = nullptr;
    return e->kernel;
  }
  asked_for = launch.code;
  asked_at = now;
  calls_left = kAskEvery;
  return nullptr;
}

void Engine::ask_for(Board::Lock& lock, const std::shared_ptr<Entry>& e, const Launch& launch) {
  if (settings_.engine == machine::Engine::native) {
    if (e->state == State::cold) probe(lock, e, *launch.code);
    if (e->state == State::missing || e->state == State::wanted) workers_.queue(e, Priority::foreground);
    // Each kernel has the time-out from when its compilation began, those ahead of this one too.
    while (
        !board_.changed.wait_for(lock, settings_.timeout / 16, [&] { return e->state == State::ready || board_.stop; }))
      workers_.abandon_late();
    return;
  }
  const Progress progress = progress_of(launch, e->executed);
  if (e->state == State::cold && is_worth_a_probe(progress)) probe(lock, e, *launch.code);
  workers_.abandon_overdue();
  if (e->state == State::missing || e->state == State::wanted || e->state == State::background)
    workers_.queue(e, priority_of(progress, e->state == State::wanted));
}

void Engine::ended(const Launch& launch) {
  const std::lock_guard lock(board_.mutex);
  entry(*launch.code)->executed += launch.instructions.load(std::memory_order_relaxed);
}

// Unlocks meanwhile; other threads go on interpreting.
void Engine::probe(Board::Lock& lock, const std::shared_ptr<Entry>& e, const Code& code) {
  e->state = State::probing;
  lock.unlock();
  const std::string name = store_.name_of(*code.program);
  std::shared_ptr<const NativeKernel> kernel;
  bool found = false;
  if (const auto object = store_.find(name)) {
    kernel = object->code.empty() ? nullptr : load(code, *object);
    found = kernel || object->code.empty();
  }
  const bool wanted = !found && store_.was_wanted(name);
  lock.lock();
  e->name = name;
  e->state = wanted ? State::wanted : State::missing;
  if (!found) return;
  ++board_.statistics.found;
  board_.finish(*e, std::move(kernel));
}

}  // namespace coalesce::native
