// The runtime's settings from the environment. `coalesce run` sets these variables; without them a program runs on the
// default device, with all cores, and leaves no record.
#pragma once

#include <cstdint>
#include <string>

#include "machine/engine.h"
#include "machine/model.h"

namespace coalesce::cudart {

struct Config {
  std::string device = "h200";                          // COALESCE_DEVICE
  bool device_chosen = false;                           // the user named this device
  unsigned devices = 1;                                 // COALESCE_DEVICES
  unsigned threads = 0;                                 // COALESCE_THREADS; 0: all cores
  uint64_t max_instructions = 0;                        // COALESCE_MAX_INSTRUCTIONS; 0: the machine's default
  machine::Engine engine = machine::Engine::automatic;  // COALESCE_ENGINE
  machine::Model model = machine::Model::ptx;           // COALESCE_MODEL
  bool time = false;                                    // COALESCE_TIME: 1 estimates times (machine/time)
  bool check = false;                                   // COALESCE_CHECK: 1 looks for hazards (machine/check)
  uint32_t schedules = 0;  // COALESCE_SCHEDULES: orders in which checked launches run; 0: as the machine decides
  bool shadow = false;     // COALESCE_SHADOW: 1 compares every launch with the plain executor (machine/plain)
  std::string record;      // COALESCE_RECORD: path; empty: no record
  bool progress = false;   // COALESCE_PROGRESS: 1/always, 0/never; else when stderr is a terminal
  bool colour = false;     // COALESCE_COLOR: likewise; NO_COLOR counts as never
};

// Reads the environment once. Values that are no numbers are reported on stderr and ignored.
const Config& config();

}  // namespace coalesce::cudart
