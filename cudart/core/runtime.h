// The state behind the API: one machine, one lock, the errors, the record. Every exported function enters through one
// of call(), query() and note() below, which give CUDA's rules for errors in one place.
//
// All work is done when the call that asks for it returns, but for a kernel that waits for the host (beside.h), which
// is done when the next call begins; streams therefore need no queues. Threads of the program may
// call at any time: the lock serialises them.
#pragma once

#include <sys/types.h>

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

#include "cudart/check/host.h"
#include "cudart/core/abi.h"
#include "cudart/core/objects.h"
#include "machine/api/machine.h"
#include "record/writer.h"

namespace coalesce::cudart {

class Beside;
class Registry;

class Runtime {
 public:
  Runtime();

  std::mutex mutex;

  // Devices are alike, and share one machine, whose memory knows which device each allocation is of. Calls work on the
  // thread's device; it is in use while the lock is held.
  unsigned devices() const { return static_cast<unsigned>(states_.size()); }
  bool is_device(int number) const { return number >= 0 && static_cast<unsigned>(number) < devices(); }
  unsigned number() const { return number_; }  // of the device in use
  void use(unsigned number);
  // Devices whose memory kernels of the device in use may reach by cudaDeviceEnablePeerAccess: bit d.
  uint64_t& peers() { return states_[number_].peers; }

  // Null: COALESCE_DEVICE names none.
  const machine::Device* device() const { return device_; }
  // The machine, made on first use. Only where context() succeeded.
  machine::Machine& machine() { return *machine_; }
  machine::Memory& memory() { return machine_->memory(); }
  Registry& registry() { return *registry_; }
  Objects& objects() { return objects_; }
  Objects& process() { return process_; }  // what outlives a reset
  record::Writer& record() { return record_; }
  // `coalesce check`; null: it is not asked for, or there is no machine yet.
  HostCheck* check() { return check_.get(); }

  // The first step of a call that needs a working context: cudaSuccess, or the fault that ended the context. Makes the
  // machine.
  cudaError_t context();
  bool has_machine() const { return machine_ != nullptr; }
  // Whether the runtime's API has been asked for anything: the driver is initialised.
  bool is_used() const { return device_told_ || has_machine(); }
  // cudaSetDevice, cudaInitDevice: the device's primary context exists from now on, without a machine.
  void begin(unsigned device) { states_[device].begun = true; }
  bool has_begun(unsigned device) const { return states_[device].begun; }
  // Like context(), for calls that work after a fault (cudaGetDeviceProperties...).
  cudaError_t device_only();

  // The program brings code that needs at least this capability (121: 12.1). The device becomes one that has it, unless
  // it was chosen or the program knows it already. Says so on stderr.
  void need(uint32_t architecture);

  // A kernel ended in `error`: from now on every call that needs the context returns it, as with the driver. Launches
  // are asynchronous, so cudaGetLastError shows it only once such a call has.
  // A launch that goes on although its call has returned. All other work comes after it: calls wait for its end first,
  // unless what they ask for can be kept until a call that waits.
  void leave_beside(std::shared_ptr<Beside> launch);
  void keep(std::function<cudaError_t(Runtime&)> work) { kept_.push_back(std::move(work)); }
  std::shared_ptr<Beside> beside();
  void finish_beside();
  void end_beside();  // at the process's end: nobody is left to write what a kernel waits for
  bool goes_on();     // it has not ended; without the lock
  void fail(cudaError_t error) { states_[number_].sticky = error; }
  // cudaDeviceReset: a new machine on next use; every object, device pointer and loaded module is gone. Of several
  // devices: memory, modules and peer access of the one in use are gone; its streams and events have ended before.
  void reset();

 private:
  void write_header();
  void reset_one();

  const machine::Device* device_ = nullptr;
  // Outlives machines: resetting the device does not wait for a kernel that is being compiled.
  std::shared_ptr<machine::NativeProvider> native_;
  std::unique_ptr<machine::Machine> machine_;
  std::unique_ptr<HostCheck> check_;
  std::unique_ptr<Registry> registry_;
  record::Writer record_;
  Objects objects_, process_;
  std::mutex beside_mutex_;
  std::shared_ptr<Beside> beside_;
  std::deque<std::function<cudaError_t(Runtime&)>> kept_;
  struct DeviceState {
    cudaError_t sticky = cudaSuccess;
    bool begun = false;
    uint64_t peers = 0;
  };
  std::vector<DeviceState> states_;
  unsigned number_ = 0;
  bool device_told_ = false;  // the program knows it
  pid_t owner_ = 0;           // who made the machine; its threads do not survive fork()
};

// The calling thread's device, 0 at first.
unsigned thread_device();
void set_thread_device(unsigned number);

// Another device is in use while this lives. Under the lock.
class Using {
 public:
  Using(Runtime& r, unsigned number) : runtime_(r), before_(r.number()) { r.use(number); }
  ~Using() { runtime_.use(before_); }
  Using(const Using&) = delete;
  Using& operator=(const Using&) = delete;

 private:
  Runtime& runtime_;
  unsigned before_;
};

// Made on first use, never destroyed: programs call us from destructors that run after ours would.
Runtime& runtime();

// The objects that the API's files keep in the context; see objects.h.
template <typename T>
T& held() {
  return runtime().objects().get<T>();
}

// Remembers an error for cudaGetLastError of this thread; returns it.
cudaError_t note(cudaError_t error);
// Returns the error that note() remembers; `error` replaces it.
cudaError_t exchange_last_error(cudaError_t error);
// Prints a diagnostic on stderr. / The same, and records it (a launch's are recorded with the launch).
void show(const machine::Diagnostic& d);
void print(const machine::Diagnostic& d);

// A call holds the lock; `check` hears when it returns.
class Entered {
 public:
  explicit Entered(Runtime& r) : runtime_(r), lock_(r.mutex) {
    r.finish_beside();
    r.use(thread_device());
  }
  ~Entered() {
    if (runtime_.check() != nullptr) runtime_.check()->leave();
  }
  Entered(const Entered&) = delete;
  Entered& operator=(const Entered&) = delete;

 private:
  Runtime& runtime_;
  Inside inside_;
  std::lock_guard<std::mutex> lock_;
};

// A function of the program's runs as a piece of work.
class Callback {
 public:
  Callback() { tell(true); }
  ~Callback() { tell(false); }
  Callback(const Callback&) = delete;
  Callback& operator=(const Callback&) = delete;

 private:
  static void tell(bool runs) {
    const Entered entered(runtime());
    if (runtime().check() != nullptr) runtime().check()->callback(runs);
  }
};

// Runs `body(runtime)` under the lock when the context works. What is thrown becomes an error code.
template <typename Body>
cudaError_t guarded(Runtime& r, Body&& body) {
  try {
    return body(r);
  } catch (const std::bad_alloc&) {
    return cudaErrorMemoryAllocation;
  } catch (const machine::Error& e) {
    print(e.diagnostic);
    return cudaErrorUnknown;
  }
}

template <typename Body>
cudaError_t call(Body&& body) {
  Runtime& r = runtime();
  const Entered entered(r);
  if (const cudaError_t error = r.context(); error != cudaSuccess) return note(error);
  return note(guarded(r, body));
}

// The same for calls that need only to know the device and that a fault does not stop.
template <typename Body>
cudaError_t query(Body&& body) {
  Runtime& r = runtime();
  const Entered entered(r);
  if (const cudaError_t error = r.device_only(); error != cudaSuccess) return note(error);
  return note(guarded(r, body));
}

}  // namespace coalesce::cudart
