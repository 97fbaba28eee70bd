// Decides when a kernel is worth native code, gets it (from the cache folder, or compiled in the background) and hands
// it to the machine at the next thread block.
//
// automatic: a launch begins interpreted. Once the kernel will execute enough, the cache is probed; what is worth
// compiling is compiled in the background, what pays even where all cores are busy in the foreground (policy.h).
// native: the first block waits for the code.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "machine/execute/launch.h"
#include "machine/execute/native.h"
#include "native/tier/board.h"
#include "native/tier/settings.h"
#include "native/tier/store.h"
#include "native/tier/workers.h"

namespace coalesce::native {

// Makes a provider from the environment: COALESCE_NATIVE_CPU, the cache folder, the library beside us. Null without a
// library, or if `engine` is the interpreter.
std::shared_ptr<machine::NativeProvider> make_provider(machine::Engine engine,
                                                       std::function<void(const std::string&)> warn);

class Engine final : public machine::NativeProvider {
 public:
  explicit Engine(Settings settings);
  ~Engine() override;  // waits for a compilation under way, but no longer than the time-out

  std::shared_ptr<const machine::NativeKernel> find(const machine::Launch& launch) override;
  void ended(const machine::Launch& launch) override;

  Statistics statistics() const;
  // Has all that is to be compiled compiled in the foreground, and returns when nothing is left.
  void wait();

 private:
  std::shared_ptr<Entry> entry(const machine::Code& code);
  void ask_for(Board::Lock& lock, const std::shared_ptr<Entry>& e, const machine::Launch& launch);
  void probe(Board::Lock& lock, const std::shared_ptr<Entry>& e, const machine::Code& code);

  const Settings settings_;
  ObjectStore store_;
  Board board_;
  std::map<const machine::Code*, std::shared_ptr<Entry>> entries_;
  Workers workers_;
};

}  // namespace coalesce::native
