#include "native/tier/engine.h"

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <new>
#include <utility>

#include "cache/folder.h"
#include "cache/hash.h"
#include "native/run/kernel.h"
#include "native/tier/cpu.h"
#include "native/tier/fingerprint.h"
#include "native/tier/object_file.h"

namespace coalesce::native {

using namespace machine;

namespace {

// Warp instructions. The interpreter executes some 200 million a second with one thread; looking an object up takes
// about 1 ms, compiling one 0.3 to 4 ms for each instruction of the kernel (docs/results/speed.md).
constexpr uint64_t kLookUp = 1'000'000;
constexpr uint64_t kCompile = 16'000'000;   // still to execute in this launch, per thread
constexpr uint64_t kPays = 3'000'000;       // the same, for each instruction of the kernel
constexpr uint64_t kRepeated = 20'000'000;  // executed by launches that have ended: there will be more of them
// Niceness. Where every core is busy with thread blocks, who compiles at once gets a quarter of one: a kernel is
// through after four times its own time, and kPays is the interpreter's work for 15 ms an instruction. At leisure it
// gets a hundredth.
constexpr int kAtOnceNice = 5, kLeisureNice = 19;
// find() is asked before each thread block; every so many times is enough.
constexpr uint32_t kPatience = 16;

std::string object_name(const std::string& identity, unsigned level, const Decoded& program) {
  return cache::Sha256().field(identity).field(std::to_string(level)).field(fingerprint(program)).hex() + ".object";
}

// Says, in the cache folder, that a process wanted the kernel's code and may have ended before it was there.
std::filesystem::path wanted_file(const std::filesystem::path& folder, const std::string& name) {
  return folder / (name + ".wanted");
}

// A process may end while a kernel is being compiled: it does not wait, and nothing that the compiler
// uses is destroyed (emit/keep_llvm.cpp). But it lets a file that is being written be finished, and none be begun
// after that: also what destructors launch is compiled, and not kept.
class Writing {
 public:
  Writing() : lock_(mutex()) {}
  bool allowed() const { return !ending; }

 private:
  static std::timed_mutex& mutex() {
    static std::timed_mutex* the = [] {
      std::atexit([] {
        if (getpid() != owner) return;  // a child by fork() has no compiling thread
        const std::unique_lock finished(mutex(), std::chrono::seconds(1));
        ending = true;
      });
      return new std::timed_mutex;
    }();
    return *the;
  }
  static inline const pid_t owner = getpid();
  static inline std::atomic<bool> ending = false;
  std::lock_guard<std::timed_mutex> lock_;
};

// Time of a core that a thread has had.
std::chrono::nanoseconds spent(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec);
}
std::chrono::nanoseconds spent_by_this_thread() { return spent(CLOCK_THREAD_CPUTIME_ID); }
std::chrono::nanoseconds spent_by(std::thread& thread) {
  clockid_t clock{};
  return pthread_getcpuclockid(thread.native_handle(), &clock) == 0 ? spent(clock) : std::chrono::nanoseconds(0);
}

}  // namespace

std::shared_ptr<NativeProvider> make_provider(machine::Engine engine, std::function<void(const std::string&)> warn) {
  if (engine == machine::Engine::interpreter) return nullptr;
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

Engine::Engine(Settings settings) : settings_(std::move(settings)) {}

const std::string& Engine::identity() {
  std::call_once(identified_, [&] {
    identity_ = cache::Sha256()
                    .field(std::to_string(kObjectVersion))
                    .field(library_identity(settings_.library))
                    .field(settings_.cpu.empty() ? cpu_identity() : settings_.cpu)
                    .hex();
  });
  return identity_;
}

Engine::~Engine() {
  Lock lock(mutex_);
  stop_ = true;
  changed_.notify_all();
  const auto until = std::chrono::steady_clock::now() + settings_.patience;
  for (const Haste haste : {Haste::leisure, Haste::at_once}) {
    Compiler& c = compiler(haste);
    changed_.wait_until(lock, until, [&] { return !c.now; });
    if (c.now) leave_behind(haste, false);
    if (!c.thread.joinable()) continue;
    lock.unlock();
    c.thread.join();
    lock.lock();
  }
}

Statistics Engine::statistics() const {
  const std::lock_guard lock(mutex_);
  return statistics_;
}

void Engine::wait() {
  Lock lock(mutex_);
  for (const auto& [code, e] : entries_)
    if (e->state == State::compiling) queue(e, Haste::at_once);
  const auto nothing_left = [&] {
    return std::none_of(entries_.begin(), entries_.end(),
                        [](const auto& item) { return item.second->state == State::compiling; });
  };
  while (!changed_.wait_for(lock, settings_.patience, nothing_left)) leave_behind_overdue();
}

// Under the lock. What belongs to kernels that are gone goes too.
std::shared_ptr<Engine::Entry> Engine::entry(const Code& code) {
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
  // Most answers are "not yet": give them without the lock. (Should another kernel have come to lie where an earlier
  // one was, it is asked about a few blocks later.)
  thread_local const Code* asked_for = nullptr;
  thread_local uint64_t asked_at = 0;
  thread_local uint32_t patience = 0;
  const uint64_t now = settled_.load(std::memory_order_acquire);
  if (settings_.engine == machine::Engine::automatic && asked_for == launch.code && asked_at == now && patience > 0) {
    --patience;
    return nullptr;
  }
  Lock lock(mutex_);
  const std::shared_ptr<Entry> e = entry(*launch.code);
  try {
    ask_for(lock, e, launch);
  } catch (const std::bad_alloc&) {
    if (!lock.owns_lock()) lock.lock();
    give_up(*e);
  }
  if (e->state == State::settled) {
    // Without code for this kernel there is nothing more to ask.
    asked_for = nullptr;
    return e->kernel;
  }
  asked_for = launch.code;
  asked_at = now;
  patience = kPatience;
  return nullptr;
}

void Engine::ask_for(Lock& lock, const std::shared_ptr<Entry>& e, const Launch& launch) {
  if (settings_.engine == machine::Engine::native) {
    if (e->state == State::cold) look_up(lock, e, *launch.code);
    if (e->state == State::cold) queue(e, Haste::at_once);
    // Each kernel has so long from when its compilation began, those ahead of this one too.
    Compiler& c = compiler(Haste::at_once);
    while (!changed_.wait_for(lock, settings_.patience / 16, [&] { return e->state == State::settled || stop_; }))
      if (c.now && std::chrono::steady_clock::now() - c.began >= settings_.patience)
        leave_behind(Haste::at_once, overdue(c));
  } else {
    if (e->state == State::cold && !e->looked && worth_looking(*e, launch)) look_up(lock, e, *launch.code);
    leave_behind_overdue();
    if (e->looked && (e->state == State::cold || e->state == State::compiling)) queue(e, wanted(*e, launch));
  }
}

void Engine::ended(const Launch& launch) {
  const std::lock_guard lock(mutex_);
  entry(*launch.code)->executed += launch.instructions.load(std::memory_order_relaxed);
}

// What a launch will execute is known from its first blocks; before those, take it that each warp executes every
// instruction once.
double Engine::left_to_execute(const Launch& launch) {
  const uint64_t executed = launch.instructions.load(std::memory_order_relaxed);
  const uint64_t done = launch.done.load(std::memory_order_relaxed);
  const double a_block = done > 0 && executed > 0 ? static_cast<double>(executed) / static_cast<double>(done)
                                                  : static_cast<double>(launch.warps_per_block) *
                                                        static_cast<double>(launch.program->code.size());
  return a_block * static_cast<double>(launch.blocks - std::min(done, launch.blocks));
}

bool Engine::worth_looking(const Entry& e, const Launch& launch) const {
  return left_to_execute(launch) >= kLookUp ||
         e.executed + launch.instructions.load(std::memory_order_relaxed) >= kLookUp;
}

Engine::Haste Engine::wanted(const Entry& e, const Launch& launch) const {
  const bool known = launch.done.load(std::memory_order_relaxed) > 0;
  const double each = left_to_execute(launch) / static_cast<double>(launch.positions.size());
  const auto size = static_cast<double>(launch.program->code.size());
  if (e.executed >= kRepeated || (known && each >= kPays * size)) return Haste::at_once;
  const bool enough = e.executed + launch.instructions.load(std::memory_order_relaxed) >= kRepeated;
  if (!enough && !(known && each >= kCompile)) return Haste::none;
  return e.wanted_before ? Haste::at_once : Haste::leisure;
}

// Unlocks meanwhile; other threads go on interpreting.
void Engine::look_up(Lock& lock, const std::shared_ptr<Entry>& e, const Code& code) {
  e->state = State::looking;
  lock.unlock();
  const std::string name = object_name(identity(), settings_.level, *code.program);
  std::shared_ptr<const NativeKernel> kernel;
  bool found = false;
  if (!settings_.folder.empty()) {
    if (const auto bytes = cache::find(settings_.folder, name))
      if (const auto object = from_bytes(*bytes)) {
        found = true;
        kernel = object->code.empty() ? nullptr : load(code, *object);
        found = kernel || object->code.empty();
      }
  }
  std::error_code error;
  const bool wanted_before =
      !found && !settings_.folder.empty() && std::filesystem::exists(wanted_file(settings_.folder, name), error);
  lock.lock();
  e->wanted_before = wanted_before;
  e->looked = true;
  e->name = name;
  e->state = State::cold;
  if (!found) return;
  ++statistics_.found;
  settle(*e, std::move(kernel));
}

// For later processes. Without an object, too, nobody wants it any more: what LLVM gives up on is not hurried another
// time.
void Engine::keep(const std::string& name, const Object* object) const {
  if (settings_.folder.empty()) return;
  if (object) cache::keep(settings_.folder, name, to_bytes(*object));
  std::error_code error;
  std::filesystem::remove(wanted_file(settings_.folder, name), error);
}

void Engine::settle(Entry& e, std::shared_ptr<const NativeKernel> kernel) {
  e.kernel = std::move(kernel);
  e.state = State::settled;
  settled_.fetch_add(1, std::memory_order_release);
  changed_.notify_all();
}

// Under the lock. Its code is not to be had: it is interpreted.
void Engine::give_up(Entry& e) {
  if (e.state == State::settled) return;
  ++statistics_.failed;
  settle(e, nullptr);
}

// Under the lock. Whether a core has worked at one kernel for longer than anybody has patience. By the thread's own
// time: a computer with more to do than cores may need long for what is quickly done.
bool Engine::overdue(Compiler& c) {
  return c.now && c.thread.joinable() && spent_by(c.thread) - c.spent_before >= settings_.patience;
}

void Engine::leave_behind_overdue() {
  for (const Haste haste : {Haste::leisure, Haste::at_once})
    if (overdue(compiler(haste))) leave_behind(haste, true);
}

// Under the lock. What a thread compiles is interpreted from now on (`for_ever`: by later processes, too), and what
// waits behind it goes to another thread.
void Engine::leave_behind(Haste haste, bool for_ever) {
  Compiler& c = compiler(haste);
  if (!c.now) return;
  {
    const std::lock_guard lock(c.visit->mutex);
    if (!c.visit->inside) return;  // it has just come back, and waits for us
    c.visit->left_behind = true;
    setpriority(PRIO_PROCESS, static_cast<id_t>(c.visit->thread_id), kLeisureNice);
  }
  c.thread.detach();
  c.thread = std::thread();
  const std::shared_ptr<Entry> stuck = std::exchange(c.now, nullptr);
  if (stuck->state != State::settled) {
    give_up(*stuck);
    const std::shared_ptr<const Code> code = stuck->code.lock();
    if (settings_.warn && code && !stop_)
      settings_.warn(std::to_string(std::chrono::floor<std::chrono::seconds>(settings_.patience).count()) +
                     " s were not enough to compile kernel " + code->program->kernel + "; it is interpreted");
    const Object none;
    if (for_ever) keep(stuck->name, &none);
  }
  if (!stop_ && !c.queue.empty()) start(haste);
}

// Under the lock. Nothing where it is being compiled with such haste already.
void Engine::queue(const std::shared_ptr<Entry>& e, Haste haste) {
  if (stop_ || haste <= e->haste) return;
  e->state = State::compiling;
  e->haste = haste;
  statistics_.hurried += haste == Haste::at_once;
  if (haste == Haste::leisure && !settings_.folder.empty()) {
    std::error_code error;
    std::filesystem::create_directories(settings_.folder, error);
    std::ofstream(wanted_file(settings_.folder, e->name));
  }
  Compiler& c = compiler(haste);
  c.queue.push_back(e);
  if (!c.thread.joinable()) start(haste);
  changed_.notify_all();
}

// Under the lock.
void Engine::start(Haste haste) {
  Compiler& c = compiler(haste);
  c.visit = std::make_shared<Visit>();
  // Signals are the program's threads' business.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::string why_not;
  try {
    c.thread = std::thread([this, haste, visit = c.visit] { loop(haste, visit); });
  } catch (const std::exception& e) {  // such as in a container that limits them
    why_not = e.what();
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (c.thread.joinable()) return;
  if (!std::exchange(told_, true) && settings_.warn)
    settings_.warn("kernels are interpreted, no thread to compile them can be started: " + why_not);
  for (const auto& e : std::exchange(c.queue, {})) give_up(*e);
}

void Engine::loop(Haste haste, const std::shared_ptr<Visit>& visit) {
  // First the library, with no less haste than others: the dynamic linker's lock is everybody's.
  std::string why_not;
  const CompileFunction function = settings_.compile ? settings_.compile : load_library(settings_.library, why_not);
  visit->thread_id = static_cast<int>(syscall(SYS_gettid));
  if (settings_.engine == machine::Engine::automatic)
    setpriority(PRIO_PROCESS, static_cast<id_t>(visit->thread_id),  // on Linux: of this thread
                haste == Haste::leisure ? kLeisureNice : kAtOnceNice);
  Compiler& c = compiler(haste);
  Lock lock(mutex_);
  if (!function && !std::exchange(told_, true) && settings_.warn)
    settings_.warn("kernels are interpreted, there is no native code: " + why_not);
  for (;;) {
    changed_.wait(lock, [&] { return stop_ || !c.queue.empty(); });
    if (stop_) return;
    const std::shared_ptr<Entry> e = c.queue.front();
    c.queue.pop_front();
    if (e->state == State::settled) continue;  // the other one was quicker
    c.now = e;
    c.began = std::chrono::steady_clock::now();
    c.spent_before = spent_by_this_thread();
    lock.unlock();
    bool memory = true;
    try {
      if (!compile(e, function, *visit)) return;  // what is ours is another's
    } catch (const std::bad_alloc&) {  // LLVM keeps what it had when it gave up: there may be none for a message
      const std::lock_guard still(visit->mutex);
      if (visit->left_behind) return;
      visit->inside = memory = false;
    }
    lock.lock();
    if (!memory) give_up(*e);
    c.now = nullptr;
    changed_.notify_all();
  }
}

// False: the thread was left behind, the engine may be gone.
bool Engine::compile(const std::shared_ptr<Entry>& e, CompileFunction function, Visit& visit) {
  const std::shared_ptr<const Code> code = e->code.lock();
  const auto start = std::chrono::steady_clock::now();
  std::shared_ptr<const NativeKernel> kernel;
  Request request;
  if (code) {
    request.code = code.get();
    request.target.cpu = settings_.cpu;
    request.options.level = settings_.level;
    if (function) {
      {
        const std::lock_guard lock(visit.mutex);
        visit.inside = true;
      }
      function(&request);
      const std::lock_guard lock(visit.mutex);
      if (visit.left_behind) return false;
      visit.inside = false;
    } else {
      request.error = "no compiler";
    }
    if (request.error.empty() && !request.object.code.empty()) {
      kernel = load(*code, request.object);
      if (!kernel) request.error = "what was compiled cannot be loaded";
    }
  }
  {
    const std::lock_guard lock(mutex_);
    if (e->state == State::settled || std::exchange(e->came_back, true)) return true;  // the other one was quicker
  }
  if (function && code) {
    const Writing writing;
    if (writing.allowed()) keep(e->name, request.error.empty() ? &request.object : nullptr);
  }
  if (!request.error.empty() && function && settings_.warn)
    settings_.warn("no native code for kernel " + code->program->kernel + ": " + request.error);
  const std::lock_guard lock(mutex_);
  if (!code) {  // gone before its turn came
    settle(*e, nullptr);
    return true;
  }
  ++(request.error.empty() ? statistics_.compiled : statistics_.failed);
  statistics_.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  settle(*e, std::move(kernel));
  return true;
}

}  // namespace coalesce::native
