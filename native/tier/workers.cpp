#include "native/tier/workers.h"

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <new>
#include <utility>

#include "native/run/kernel.h"
#include "native/tier/library.h"

namespace coalesce::native {

namespace {

// Niceness. Where every core is busy with thread blocks, the foreground gets a quarter of one, so that a kernel takes
// four times its own time; the background gets a hundredth.
constexpr int kForegroundNice = 5, kBackgroundNice = 19;

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

Workers::Workers(const Settings& settings, const ObjectStore& store, Board& board)
    : settings_(settings), store_(store), board_(board) {}

Workers::~Workers() {
  Board::Lock lock(board_.mutex);
  board_.changed.notify_all();
  const auto until = std::chrono::steady_clock::now() + settings_.timeout;
  for (const Priority priority : {Priority::background, Priority::foreground}) {
    Worker& w = worker(priority);
    board_.changed.wait_until(lock, until, [&] { return !w.now; });
    if (w.now) abandon(priority, false);
    if (!w.thread.joinable()) continue;
    lock.unlock();
    w.thread.join();
    lock.lock();
  }
}

void Workers::tell_once(const std::string& what) {
  if (!std::exchange(board_.told, true) && settings_.warn) settings_.warn(what);
}

void Workers::queue(const std::shared_ptr<Entry>& e, Priority priority) {
  const State state = priority == Priority::foreground ? State::foreground : State::background;
  if (board_.stop || priority == Priority::none || state <= e->state) return;
  e->state = state;
  board_.statistics.foreground += priority == Priority::foreground;
  if (priority == Priority::background) store_.note_wanted(e->name);
  Worker& w = worker(priority);
  w.queue.push_back(e);
  if (!w.thread.joinable()) start(priority);
  board_.changed.notify_all();
}

// Judges by the thread's own CPU time: a busy computer may need long for little work.
bool Workers::is_overdue(Worker& w) const {
  return w.now && w.thread.joinable() && spent_by(w.thread) - w.spent_before >= settings_.timeout;
}

void Workers::abandon_overdue() {
  for (const Priority priority : {Priority::background, Priority::foreground})
    if (is_overdue(worker(priority))) abandon(priority, true);
}

void Workers::abandon_late() {
  Worker& w = worker(Priority::foreground);
  if (w.now && std::chrono::steady_clock::now() - w.began >= settings_.timeout)
    abandon(Priority::foreground, is_overdue(w));
}

// `for_ever`: later processes are not to try, either.
void Workers::abandon(Priority priority, bool for_ever) {
  Worker& w = worker(priority);
  if (!w.now) return;
  {
    const std::lock_guard lock(w.seat->mutex);
    if (!w.seat->inside) return;  // it has just returned, and waits for the lock
    w.seat->abandoned = true;
    setpriority(PRIO_PROCESS, static_cast<id_t>(w.seat->thread_id), kBackgroundNice);
  }
  w.thread.detach();
  w.thread = std::thread();
  const std::shared_ptr<Entry> stuck = std::exchange(w.now, nullptr);
  if (stuck->state != State::ready) {
    board_.give_up(*stuck);
    const std::shared_ptr<const machine::Code> code = stuck->code.lock();
    if (settings_.warn && code && !board_.stop)
      settings_.warn(std::to_string(std::chrono::floor<std::chrono::seconds>(settings_.timeout).count()) +
                     " s were not enough to compile kernel " + code->program->kernel + "; it is interpreted");
    const Object none;
    if (for_ever) store_.keep(stuck->name, &none);
  }
  if (!board_.stop && !w.queue.empty()) start(priority);
}

// Under the lock.
void Workers::start(Priority priority) {
  Worker& w = worker(priority);
  w.seat = std::make_shared<Seat>();
  // Signals are for the program's threads.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::string why_not;
  try {
    w.thread = std::thread([this, priority, seat = w.seat] { loop(priority, seat); });
  } catch (const std::exception& e) {  // such as in a container that limits them
    why_not = e.what();
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (w.thread.joinable()) return;
  tell_once("kernels are interpreted, no thread to compile them can be started: " + why_not);
  for (const auto& e : std::exchange(w.queue, {})) board_.give_up(*e);
}

void Workers::loop(Priority priority, const std::shared_ptr<Seat>& seat) {
  // The library is loaded at the usual priority: all threads share the dynamic linker's lock.
  std::string why_not;
  const CompileFunction function = settings_.compile ? settings_.compile : load_library(settings_.library, why_not);
  seat->thread_id = static_cast<int>(syscall(SYS_gettid));
  if (settings_.engine == machine::Engine::automatic)
    setpriority(PRIO_PROCESS, static_cast<id_t>(seat->thread_id),  // on Linux: of this thread
                priority == Priority::background ? kBackgroundNice : kForegroundNice);
  Worker& w = worker(priority);
  Board::Lock lock(board_.mutex);
  if (!function) tell_once("kernels are interpreted, there is no native code: " + why_not);
  for (;;) {
    board_.changed.wait(lock, [&] { return board_.stop || !w.queue.empty(); });
    if (board_.stop) return;
    const std::shared_ptr<Entry> e = w.queue.front();
    w.queue.pop_front();
    if (e->state == State::ready) continue;  // the other thread was quicker
    w.now = e;
    w.began = std::chrono::steady_clock::now();
    w.spent_before = spent_by_this_thread();
    lock.unlock();
    bool memory = true;
    try {
      if (!compile(e, function, *seat)) return;  // another thread has this one's place
    } catch (const std::bad_alloc&) {  // LLVM keeps what it had when it gave up: there may be none for a message
      const std::lock_guard still(seat->mutex);
      if (seat->abandoned) return;
      seat->inside = memory = false;
    }
    lock.lock();
    if (!memory) board_.give_up(*e);
    w.now = nullptr;
    board_.changed.notify_all();
  }
}

// False: the thread was abandoned, the engine may be gone.
bool Workers::compile(const std::shared_ptr<Entry>& e, CompileFunction function, Seat& seat) {
  const std::shared_ptr<const machine::Code> code = e->code.lock();
  const auto start = std::chrono::steady_clock::now();
  std::shared_ptr<const machine::NativeKernel> kernel;
  Request request;
  if (code) {
    request.code = code.get();
    request.target.cpu = settings_.cpu;
    request.options.level = settings_.level;
    if (function) {
      {
        const std::lock_guard lock(seat.mutex);
        seat.inside = true;
      }
      function(&request);
      const std::lock_guard lock(seat.mutex);
      if (seat.abandoned) return false;
      seat.inside = false;
    } else {
      request.error = "no compiler";
    }
    if (request.error.empty() && !request.object.code.empty()) {
      kernel = load(*code, request.object);
      if (!kernel) request.error = "what was compiled cannot be loaded";
    }
  }
  {
    const std::lock_guard lock(board_.mutex);
    if (e->state >= State::storing) return true;  // the other thread was quicker
    e->state = State::storing;
  }
  if (function && code) {
    const Writing writing;
    if (writing.allowed()) store_.keep(e->name, request.error.empty() ? &request.object : nullptr);
  }
  if (!request.error.empty() && function && settings_.warn)
    settings_.warn("no native code for kernel " + code->program->kernel + ": " + request.error);
  const std::lock_guard lock(board_.mutex);
  if (!code) {  // gone before its turn came
    board_.finish(*e, nullptr);
    return true;
  }
  ++(request.error.empty() ? board_.statistics.compiled : board_.statistics.failed);
  board_.statistics.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  board_.finish(*e, std::move(kernel));
  return true;
}

}  // namespace coalesce::native
