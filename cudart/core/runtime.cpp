#include "cudart/core/runtime.h"

#include <unistd.h>

#include <cstdio>
#include <string>

#include "cudart/core/beside.h"
#include "cudart/core/config.h"
#include "cudart/core/progress.h"
#include "cudart/core/registry.h"
#include "machine/execute/native.h"
#include "native/tier/engine.h"
#include "record/process.h"

namespace coalesce::cudart {
namespace {

std::string known_devices() {
  std::string keys;
  for (const auto& d : machine::devices()) {
    if (!keys.empty()) keys += ", ";
    keys += d.key;
  }
  return keys;
}

}  // namespace

Runtime::Runtime() : registry_(std::make_unique<Registry>()), states_(config().devices) {
  device_ = machine::find_device(config().device);
  if (device_ == nullptr) {
    std::fprintf(stderr, "coalesce: error: there is no device '%s'\ncoalesce: hint: COALESCE_DEVICE is one of %s\n",
                 config().device.c_str(), known_devices().c_str());
  }
  if (device_ == nullptr) return;
  record_.open(config().record);
  write_header();
}

void Runtime::write_header() {
  record_.header(
      {.key = device_->key,
       .name = device_->name,
       .major = device_->major,
       .minor = device_->minor,
       .devices = devices(),
       .model = config().model == machine::Model::ptx ? "" : machine::name_of(machine::kModels, config().model)});
}

cudaError_t Runtime::device_only() {
  device_told_ = true;
  return device_ != nullptr ? cudaSuccess : cudaErrorNoDevice;
}

void Runtime::need(uint32_t architecture) {
  const auto capability = [](const machine::Device& d) { return 10 * d.major + d.minor; };
  if (config().device_chosen || device_told_ || machine_ != nullptr || device_ == nullptr ||
      capability(*device_) >= architecture)
    return;
  const machine::Device* least = nullptr;
  for (const machine::Device& d : machine::devices())
    if (capability(d) >= architecture && (least == nullptr || capability(d) < capability(*least))) least = &d;
  if (least == nullptr) return;
  device_ = least;
  std::fprintf(stderr,
               "coalesce: note: the device is an %.*s, because code of the program is for compute_%u and later only\n",
               static_cast<int>(least->name.size()), least->name.data(), architecture);
  write_header();
}

cudaError_t Runtime::context() {
  if (device_ == nullptr) return cudaErrorNoDevice;
  if (machine_ == nullptr) {
    machine::Options options;
    options.threads = config().threads;
    if (config().max_instructions != 0) options.max_instructions = config().max_instructions;
    options.model = config().model;
    options.check = config().check;
    options.time = config().time && !config().check;
    options.schedules = config().schedules;
    options.shadow = config().shadow && !config().check;
    options.plain = config().engine == machine::Engine::plain && !config().check;
    if (config().progress) options.progress = note_progress;
    options.notice = [](const machine::Diagnostic& d) {
      show(d);
      if (const auto launch = runtime().beside()) launch->stuck();
    };
    options.waits = [] {
      if (const auto launch = runtime().beside()) launch->wait();
    };
    if (!native_) {
      native_ = native::make_provider(config().engine, [](const std::string& text) {
        std::fprintf(stderr, "coalesce: warning: %s\n", text.c_str());
      });
    }
    options.native = native_;
    try {
      machine_ = std::make_unique<machine::Machine>(*device_, std::move(options));
    } catch (const std::exception& e) {
      std::fprintf(stderr, "coalesce: error: cannot start the machine: %s\n", e.what());
      return cudaErrorInitializationError;
    }
    owner_ = record::this_process();
    machine_->memory().use(number_);
    if (config().check)
      check_ = std::make_unique<HostCheck>(*machine_, mutex, [](const machine::Diagnostic& d) {
        if (config().record.empty()) show(d);
        runtime().record().diagnostic(d);
      });
  } else if (record::this_process() != owner_) {
    return cudaErrorInitializationError;  // as CUDA does in a child forked after first use
  }
  return states_[number_].sticky;
}

void Runtime::use(unsigned number) {
  if (number == number_) return;
  number_ = number;
  registry_->use(number);
  if (machine_) machine_->memory().use(number);
}

// Memory and modules of one of several devices end, and all access between it and its peers.
void Runtime::reset_one() {
  if (machine_ && record::this_process() != owner_) return;
  registry_->unload();
  std::vector<uint64_t> gone;
  if (machine_) {
    for (const auto& a : machine_->memory().all())
      if (a->live && a->device == number_ && a->origin == machine::Origin::device) gone.push_back(a->base);
    for (const uint64_t base : gone) machine_->memory().release(base);
  }
  states_[number_] = {};
  for (DeviceState& other : states_) other.peers &= ~(uint64_t{1} << number_);
}

void Runtime::reset() {
  if (devices() > 1) return reset_one();
  objects_.clear();  // graphs give their memory back to the machine that is still there
  if (machine_ && record::this_process() != owner_) return;  // a forked child: there are no threads to end here
  if (check_) check_->report_refused();
  check_.reset();
  registry_->unload();
  machine_.reset();
  states_[number_] = {};
}

size_t Objects::next_slot() {
  static size_t next = 0;
  return next++;
}

namespace {
thread_local unsigned device_of_thread = 0;
}
void Runtime::leave_beside(std::shared_ptr<Beside> launch) {
  const std::lock_guard lock(beside_mutex_);
  beside_ = std::move(launch);
}

std::shared_ptr<Beside> Runtime::beside() {
  const std::lock_guard lock(beside_mutex_);
  return beside_;
}

bool Runtime::goes_on() {
  const std::shared_ptr<Beside> launch = beside();
  return launch && !launch->ended();
}

void Runtime::end_beside() {
  const std::shared_ptr<Beside> launch = beside();
  if (launch && record::this_process() == owner_ && !launch->ends()) {
    std::fprintf(stderr, "coalesce: warning: the program has ended and a kernel still waits: it is stopped\n");
    machine_->interrupt();
  }
  finish_beside();
}

// A kernel that was kept may go on, too; then it is waited for.
void Runtime::finish_beside() {
  while (const std::shared_ptr<Beside> launch = beside()) {
    if (record::this_process() != owner_) {  // a forked child: the thread is not here
      kept_.clear();
      return leave_beside(nullptr);
    }
    if (const cudaError_t error = launch->finish(); error != cudaSuccess) fail(error);
    leave_beside(nullptr);
    while (!kept_.empty() && beside() == nullptr) {
      const auto work = std::move(kept_.front());
      kept_.pop_front();
      if (states_[number_].sticky != cudaSuccess) continue;
      if (const cudaError_t error = work(*this); error != cudaSuccess) fail(error);
    }
  }
}

unsigned thread_device() { return device_of_thread; }
void set_thread_device(unsigned number) { device_of_thread = number; }

Runtime& runtime() {
  static Runtime* the = new Runtime;
  return *the;
}

void show(const machine::Diagnostic& d) {
  const std::string text = machine::render(d, config().colour);
  std::fwrite(text.data(), 1, text.size(), stderr);
}

void print(const machine::Diagnostic& d) {
  show(d);
  runtime().record().diagnostic(d);
}

namespace {

// Runs after the program's own atexit functions and destructors, so the record closes when nothing more can come.
__attribute__((destructor)) void at_exit() {
  Runtime& r = runtime();
  if (r.mutex.try_lock()) {  // a thread still in a call at exit keeps its half-done line out of the file
    const Inside inside;
    r.end_beside();
    if (HostCheck* check = r.check()) {
      check->report_refused();
      check->report_leaks();
    }
    r.record().end();
    r.mutex.unlock();
  }
}

}  // namespace
}  // namespace coalesce::cudart
