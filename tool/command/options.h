// The command line as values. options.cpp binds them to CLI11; everything else takes these structs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "machine/device.h"
#include "machine/engine.h"
#include "machine/model.h"
#include "tool/command/compile.h"
#include "tool/command/reduce.h"
#include "tool/present/ci.h"
#include "tool/present/terminal.h"

namespace CLI {
class App;  // declared here, because its header has 10,000 lines
}

namespace coalesce::tool {

// Options that say how a program runs on the machine: the same for `run` and `lab`.
struct MachineOptions {
  bool device_chosen = false;  // by the user
  std::string device = "h200";
  unsigned devices = 1;           // of that kind
  unsigned threads = 0;           // 0: all cores
  uint64_t max_instructions = 0;  // per launch; 0: the machine's default
  machine::Engine engine = machine::Engine::automatic;
  machine::Model model = machine::Model::ptx;
  bool shadow = false;     // compare every launch with the plain executor
  bool check = false;      // look for hazards (tool/check.h): what has no option of its own
  uint32_t schedules = 0;  // of checked launches: orders of blocks and warps; 0: as the machine decides
  std::string record;      // a file that keeps the record; empty: one that goes with the command
  bool time = false;       // estimate times
  Colour colour = Colour::automatic;
  CompileOptions compile;
};

// Outputs for CI and editors: files, and a line for each finding on standard error.
struct CiOptions {
  std::string sarif, junit;
  LineFormat lines = LineFormat::none;
};

struct RunOptions {
  CiOptions ci;
  MachineOptions machine;
  std::vector<std::string> program;  // and its arguments
  std::string metrics, json, html, filter, output;
  std::string budget, write_budget;  // files
  std::vector<std::string> require;  // requirements (figures/budget.h)
  std::string on = "machine";        // where: machine, gpu, both
  int repeat = 0;                    // on a GPU: repetitions of each launch
  bool quiet = false, csv = false, lines = false, wide = false;
  bool allow_stopped = false;  // the exit code is the program's, also where the machine stopped a kernel
};

struct CheckOptions {
  CiOptions ci;
  MachineOptions machine;
  std::vector<std::string> program;  // and its arguments
  std::string json;
  std::string suppress;        // a file of suppressions
  std::string disable;         // kinds
  std::string leaks = "note";  // or error, off
  bool quiet = false;
};

struct LabOptions {
  MachineOptions machine;
  std::vector<std::string> names;  // empty or "list": list them; "all"
  // Sizes as they are given to the programs. Empty: the experiment's own.
  std::string n, block, stride, width, pad, lanes;
  std::string json, html;
  std::string on = "auto";  // where: machine, gpu, both, auto
  bool csv = false, markdown = false, wide = false;
};

// `coalesce banks`: which banks a warp's lanes meet.
struct BankOptions {
  uint32_t stride = 1, width = 4, pad = 0, lanes = 32;
  bool json = false;
  Colour colour = Colour::automatic;
};

// `coalesce compare`: two exports of counters, launch by launch.
struct CompareOptions {
  std::string counted, measured, json;
  bool all = false;  // also what is equal
  bool fail_on_increase = false;
  Colour colour = Colour::automatic;
};

struct Options {
  RunOptions run;
  CheckOptions check;
  LabOptions lab;
  BankOptions banks;
  CompareOptions compare;
  ReduceOptions reduce;
  std::string shell;      // completion
  bool markdown = false;  // counters
  bool ncu = false;       // counters
};

// Adds all subcommands.
void add_options(CLI::App& app, Options& options);

// After parsing: what CLI11 left over is the program and its arguments. Throws Error (usage) for an unknown option
// before it.
void take_program(const CLI::App& app, const std::string& command, std::vector<std::string>& program);

// The same for a command that takes no program: throws Error (usage) where CLI11 left anything over.
void refuse_leftovers(const CLI::App& app, const CLI::App& command);

// Throws Error (usage), listing the known devices.
const machine::Device& find_device(const std::string& key);

}  // namespace coalesce::tool
