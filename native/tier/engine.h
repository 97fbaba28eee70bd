// Decides when a kernel is worth native code, gets it (from the cache folder, or compiled in the background) and hands
// it to the machine at the next thread block.
//
// automatic: a launch begins interpreted. Once it is clear that the kernel will execute enough (kLookUp), the cache is
// looked at; what is worth compiling (kCompile) is compiled at leisure, in time that nobody else wants, so that no
// launch comes later for it; what pays even where all cores are busy (kPays, kRepeated) at once. native: the first
// block waits for the code.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "machine/engine.h"
#include "machine/execute/launch.h"
#include "machine/execute/native.h"
#include "native/tier/library.h"

namespace coalesce::native {

struct Settings {
  machine::Engine engine = machine::Engine::automatic;
  std::filesystem::path library;  // libcoalesce_native.so
  std::filesystem::path folder;   // the cache's; empty: nothing is kept
  std::string cpu;                // an LLVM name; empty: the CPU at hand
  unsigned level = 1;             // CompileOptions::level
  // How long `--engine native` waits for a kernel's code, which takes 0.03 to 0.2 s as a rule; and how much time of a
  // core `automatic` gives to one kernel.
  std::chrono::milliseconds patience{60'000};
  CompileFunction compile = nullptr;  // instead of the library's
  // Told once per kernel that cannot be compiled, once in all where the library cannot be loaded; may be empty.
  std::function<void(const std::string&)> warn;
};

// From the environment: COALESCE_NATIVE_CPU, the cache folder; the library beside us. Null where there is no library or
// `engine` is the interpreter.
std::shared_ptr<machine::NativeProvider> make_provider(machine::Engine engine,
                                                       std::function<void(const std::string&)> warn);

struct Statistics {
  uint64_t compiled = 0, found = 0, failed = 0;  // kernels; found: in the cache
  uint64_t hurried = 0;                          // that were to be compiled at once
  double seconds = 0;                            // spent compiling, by the background thread's clock
};

class Engine final : public machine::NativeProvider {
 public:
  explicit Engine(Settings settings);
  ~Engine() override;  // waits for a compilation under way, but no longer than `patience`

  std::shared_ptr<const machine::NativeKernel> find(const machine::Launch& launch) override;
  void ended(const machine::Launch& launch) override;

  Statistics statistics() const;
  // Has all that is to be compiled compiled at once, and returns when nothing is left.
  void wait();

 private:
  enum class State : uint8_t { cold, looking, compiling, settled };
  enum class Haste : uint8_t { none, leisure, at_once };
  struct Entry {
    std::weak_ptr<const machine::Code> code;
    State state = State::cold;
    Haste haste = Haste::none;                            // with which it is being compiled
    bool looked = false;                                  // in the cache
    bool wanted_before = false;                           // by an earlier process, which has left no code
    bool came_back = false;                               // a compiler, which now writes the cache's file
    uint64_t executed = 0;                                // warp instructions of launches that have ended
    std::string name;                                     // of its object in the cache
    std::shared_ptr<const machine::NativeKernel> kernel;  // settled; null: there is none
  };
  using Lock = std::unique_lock<std::mutex>;

  std::shared_ptr<Entry> entry(const machine::Code& code);
  const std::string& identity();
  // Where a thread is that compiles. LLVM may not come back, and nothing stops it: then the thread is left behind, and
  // must touch nothing of the engine should it come back after all. Shared by both, for either may be gone first.
  struct Visit {
    std::mutex mutex;
    bool inside = false, left_behind = false;
    int thread_id = 0;  // Linux's
  };
  // One for each haste. A kernel may be with both: the first to be through settles it, the other does nothing.
  struct Compiler {
    std::deque<std::shared_ptr<Entry>> queue;
    std::thread thread;  // begun with the first kernel
    std::shared_ptr<Visit> visit;
    std::shared_ptr<Entry> now;                     // what it compiles
    std::chrono::steady_clock::time_point began{};  // with that
    std::chrono::nanoseconds spent_before{};        // by the thread, when it began with that
  };
  static double left_to_execute(const machine::Launch& launch);
  bool worth_looking(const Entry& e, const machine::Launch& launch) const;
  Haste wanted(const Entry& e, const machine::Launch& launch) const;
  Compiler& compiler(Haste haste) { return compilers_[haste == Haste::at_once]; }
  void look_up(Lock& lock, const std::shared_ptr<Entry>& e, const machine::Code& code);
  void queue(const std::shared_ptr<Entry>& e, Haste haste);
  void start(Haste haste);
  void loop(Haste haste, const std::shared_ptr<Visit>& visit);
  bool compile(const std::shared_ptr<Entry>& e, CompileFunction function, Visit& visit);
  bool overdue(Compiler& c);
  void leave_behind(Haste haste, bool for_ever);
  void leave_behind_overdue();
  void ask_for(Lock& lock, const std::shared_ptr<Entry>& e, const machine::Launch& launch);
  void give_up(Entry& e);
  void settle(Entry& e, std::shared_ptr<const machine::NativeKernel> kernel);
  void keep(const std::string& name, const Object* object) const;

  const Settings settings_;
  std::once_flag identified_;
  std::string identity_;  // of compiler and CPU; made when first needed: tiny programs never ask
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::map<const machine::Code*, std::shared_ptr<Entry>> entries_;
  Compiler compilers_[2];
  bool stop_ = false, told_ = false;
  Statistics statistics_;
  std::atomic<uint64_t> settled_{0};  // how often an entry has been settled
};

}  // namespace coalesce::native
