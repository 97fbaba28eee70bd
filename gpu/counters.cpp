#include "gpu/counters.h"

#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <thread>
#include <utility>

#include "gpu/cupti.h"

namespace coalesce::gpu {
namespace {

constexpr const char* kPermission =
    "this user may not read the GPU's counters; as root, or after an administrator has put \"options nvidia "
    "NVreg_RestrictProfilingToAdminUsers=0\" into /etc/modprobe.d/ and loaded the driver anew "
    "(https://developer.nvidia.com/ERR_NVGPUCTRPERM)";

// One process at a time may have a GPU's counters. Who comes second waits so long for the first to end.
std::chrono::milliseconds busy_timeout() {
  const char* text = std::getenv("COALESCE_GPU_WAIT");
  const double seconds = text && *text ? std::atof(text) : 60;
  return std::chrono::milliseconds(seconds > 0 ? static_cast<long>(1000 * std::min(seconds, 1e6))
                                               : 0);  // "nan" is none
}

// $COALESCE_CUPTI is a file or empty: no other place is tried then.
void* open_cupti(std::string& why) {
  std::vector<std::string> names;
  if (const char* given = std::getenv("COALESCE_CUPTI")) {
    names = {given};
  } else {
    for (const char* file : {"libcupti.so.13", "libcupti.so.12", "libcupti.so"}) {
      names.push_back(file);
      for (const char* folder : {"/usr/local/cuda/lib64/", "/usr/local/cuda/extras/CUPTI/lib64/"})
        names.push_back(folder + std::string(file));
    }
  }
  for (const std::string& name : names) {
    if (name.empty()) continue;
    if (void* library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
    if (const char* error = dlerror(); names.size() == 1 && error) why = error;
  }
  if (why.empty()) why = "no libcupti (12.6 or later) on this computer";
  why += "; it comes with the CUDA toolkit, and COALESCE_CUPTI names the file where it lies elsewhere";
  return nullptr;
}

bool look_up(void* library, cupti::Functions& f, std::string& why) {
  const auto one = [&](auto& function, const char* symbol) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, symbol));
    if (!function && why.empty())
      why = std::string("libcupti has no ") + symbol + "; a CUDA toolkit of 12.6 or later has";
    return function != nullptr;
  };
  bool all = one(f.text, "cuptiGetErrorMessage");
#define COALESCE_LOOK_UP(name, symbol, block) all = one(f.name, #symbol) && all;
  COALESCE_CUPTI(COALESCE_LOOK_UP)
#undef COALESCE_LOOK_UP
  return all;
}

class Cupti : public HardwareCounters {
 public:
  bool open(void* context, int device, const Wanted& wanted, std::string& why) {
    wanted_ = wanted;
    void* library = open_cupti(why);
    if (!library || !look_up(library, f_, why)) return false;
    if (wanted_.ours) {
      for (const CounterSource& source : counter_sources()) names_.push_back(source.metric.c_str());
    }
    for (const std::string& metric : wanted_.extra) names_.push_back(metric.c_str());

    cupti::Initialize initialize;
    if (!done(f_.initialize, initialize, "cuptiProfilerInitialize", why)) return false;
    cupti::ChipName chip;
    chip.device = static_cast<size_t>(device);
    if (!done(f_.chip_name, chip, "cuptiDeviceGetChipName", why)) return false;
    cupti::CounterAvailability available;
    available.context = context;
    if (!done(f_.availability, available, "cuptiProfilerGetCounterAvailability", why)) return false;
    std::vector<uint8_t> availability(available.image_size);
    available.image = availability.data();
    if (!done(f_.availability, available, "cuptiProfilerGetCounterAvailability", why)) return false;

    cupti::HostInitialize host;
    host.chip = chip.name;
    host.availability = availability.data();
    if (!done(f_.host_initialize, host, "cuptiProfilerHostInitialize", why)) return false;
    host_ = host.host;
    cupti::AddMetrics add;
    add.host = host_, add.names = names_.data(), add.count = names_.size();
    if (!done(f_.add_metrics, add, "cuptiProfilerHostConfigAddMetrics", why)) return false;
    cupti::ConfigImageSize size;
    size.host = host_;
    if (!done(f_.config_image_size, size, "cuptiProfilerHostGetConfigImageSize", why)) return false;
    config_.resize(size.image_size);
    cupti::ConfigImage image;
    image.host = host_, image.image_size = config_.size(), image.image = config_.data();
    if (!done(f_.config_image, image, "cuptiProfilerHostGetConfigImage", why)) return false;
    cupti::NumberOfPasses passes;
    passes.image_size = config_.size(), passes.image = config_.data();
    if (!done(f_.passes, passes, "cuptiProfilerHostGetNumOfPasses", why)) return false;
    passes_ = static_cast<int>(passes.passes);

    cupti::RangeEnable enable;
    enable.context = context;
    if (!done(f_.enable, enable, "cuptiRangeProfilerEnable", why)) return false;
    object_ = enable.object;
    cupti::DataSize data;
    data.object = object_, data.names = names_.data(), data.count = names_.size();
    data.ranges = wanted_.most, data.tree_nodes = static_cast<uint32_t>(wanted_.most);
    if (!done(f_.data_size, data, "cuptiRangeProfilerGetCounterDataSize", why)) return false;
    data_.resize(data.data_size);
    return true;
  }

  // No ~Cupti that disables the profiler: this lives until the process ends, when the driver may be gone already.

  bool launch(const std::function<void()>& run, std::string& why) override {
    if (pending_ == 0 && !start(why)) return false;
    run();
    ++pending_;
    return true;
  }

  bool collect(std::vector<Reading>& readings, std::string& why) override {
    readings.clear();
    const size_t launches = std::exchange(pending_, 0);
    if (launches == 0) return true;
    cupti::RangeStop stop;
    stop.object = object_;
    if (!done(f_.stop, stop, "cuptiRangeProfilerStop", why)) return false;
    cupti::RangeDecode decode;
    decode.object = object_;
    if (!done(f_.decode, decode, "cuptiRangeProfilerDecodeData", why)) return false;
    cupti::DataInfo info;
    info.data = data_.data(), info.data_size = data_.size();
    if (!done(f_.data_info, info, "cuptiRangeProfilerGetCounterDataInfo", why)) return false;
    if (info.ranges != launches) {
      why = "CUPTI saw " + std::to_string(info.ranges) + " launches where there were " + std::to_string(launches);
      return false;
    }
    for (size_t range = 0; range < launches; ++range) {
      std::vector<double> values(names_.size());
      cupti::Evaluate evaluate;
      evaluate.host = host_, evaluate.data = data_.data(), evaluate.data_size = data_.size(), evaluate.range = range;
      evaluate.names = names_.data(), evaluate.count = names_.size(), evaluate.values = values.data();
      if (!done(f_.evaluate, evaluate, "cuptiProfilerHostEvaluateToGpuValues", why)) return false;
      take(values, readings.emplace_back());
    }
    return true;
  }

  bool full() const override { return pending_ >= wanted_.most; }
  int passes() const override { return passes_; }

 private:
  bool start(std::string& why) {
    cupti::DataInitialize fresh;
    fresh.object = object_, fresh.data_size = data_.size(), fresh.data = data_.data();
    if (!done(f_.data_initialize, fresh, "cuptiRangeProfilerCounterDataImageInitialize", why)) return false;
    cupti::RangeConfig config;
    config.object = object_, config.ranges_per_pass = wanted_.most;
    config.config_size = config_.size(), config.config = config_.data();
    config.data_size = data_.size(), config.data = data_.data();
    if (!done(f_.configure, config, "cuptiRangeProfilerSetConfig", why)) return false;
    cupti::RangeStart start;
    start.object = object_;
    return done(f_.start, start, "cuptiRangeProfilerStart", why);
  }

  template <typename Function, typename Parameters>
  bool done(Function function, Parameters& parameters, const char* call, std::string& why) const {
    using Clock = std::chrono::steady_clock;
    cupti::Result result = function(&parameters);
    for (const auto until = Clock::now() + busy_timeout(); result == cupti::kHardwareBusy && Clock::now() < until;) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      result = function(&parameters);
    }
    if (result == cupti::kSuccess) return true;
    if (result == cupti::kInsufficientPrivileges || result == cupti::kVirtualizedInsufficientPrivileges) {
      why = kPermission;
      return false;
    }
    if (result == cupti::kHardwareBusy) {
      why =
          "another process is reading the GPU's counters, and did not end while this one waited; run it again when "
          "that one has (COALESCE_GPU_WAIT=SECONDS waits longer)";
      return false;
    }
    const char* text = nullptr;
    f_.text(result, &text);
    why = std::string(call) + ": " + (text ? text : "unknown error") + " (" + std::to_string(result) + ")";
    return false;
  }

  void take(const std::vector<double>& values, Reading& reading) const {
    reading = {};
    reading.read.assign(machine::kCounterCount, false);
    const size_t ours = values.size() - wanted_.extra.size();
    for (size_t i = 0; i < ours; ++i) {
      const auto field = counter_sources()[i].field;
      if (std::isnan(values[i])) continue;
      reading.counters.*field += static_cast<uint64_t>(std::llround(values[i]));
      for (size_t row = 0; row < machine::kCounterCount; ++row) {
        if (machine::kCounterRows[row].field == field) reading.read[row] = true;
      }
    }
    for (size_t i = ours; i < values.size(); ++i) reading.extra.emplace_back(names_[i], values[i]);
  }

  cupti::Functions f_;
  cupti::HostObject* host_ = nullptr;
  cupti::RangeObject* object_ = nullptr;
  std::vector<const char*> names_;
  Wanted wanted_;
  std::vector<uint8_t> config_, data_;
  int passes_ = 0;
  size_t pending_ = 0;
};

}  // namespace

const std::vector<CounterSource>& counter_sources() {
  using C = machine::Counters;
  // Never destroyed, as all that programs load.
  static const auto* sources = [] {
    const std::string t = "l1tex__t_", global = "_pipe_lsu_mem_global_op_", local = "_pipe_lsu_mem_local_op_",
                      wavefronts = "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_";
    auto* all = new std::vector<CounterSource>{
        {&C::global_load_requests, t + "requests" + global + "ld.sum"},
        {&C::global_load_sectors, t + "sectors" + global + "ld.sum"},
        {&C::global_load_lines, t + "set_accesses" + global + "ld.sum"},
        {&C::global_store_requests, t + "requests" + global + "st.sum"},
        {&C::global_store_sectors, t + "sectors" + global + "st.sum"},
        {&C::global_store_lines, t + "set_accesses" + global + "st.sum"},
        {&C::global_atomic_requests, t + "requests" + global + "atom.sum"},
        {&C::global_atomic_sectors, t + "sectors" + global + "atom.sum"},
        {&C::global_reduction_requests, t + "requests" + global + "red.sum"},
        {&C::global_reduction_sectors, t + "sectors" + global + "red.sum"},
        {&C::local_load_requests, t + "requests" + local + "ld.sum"},
        {&C::local_load_sectors, t + "sectors" + local + "ld.sum"},
        {&C::local_store_requests, t + "requests" + local + "st.sum"},
        {&C::local_store_sectors, t + "sectors" + local + "st.sum"},
        {&C::shared_load_wavefronts, wavefronts + "ld.sum"},
        {&C::shared_store_wavefronts, wavefronts + "st.sum"},
        {&C::shared_atomic_wavefronts, wavefronts + "atom.sum"},
        {&C::instructions, "smsp__inst_executed.sum"},
        {&C::thread_instructions, "smsp__thread_inst_executed.sum"},
        {&C::branches, "smsp__sass_branch_targets.sum"},
        {&C::divergent_branches, "smsp__sass_branch_targets_threads_divergent.sum"},
    };
    for (const auto& more : machine::kFurtherMetrics) all->push_back({more.field, std::string(more.nsight)});
    return all;
  }();
  return *sources;
}

std::unique_ptr<HardwareCounters> HardwareCounters::open(void* context, int device, const Wanted& wanted,
                                                         std::string& why) {
  auto counters = std::make_unique<Cupti>();
  if (!counters->open(context, device, wanted, why)) return nullptr;
  return counters;
}

}  // namespace coalesce::gpu
