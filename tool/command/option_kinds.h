// Kinds of options that several commands share, for the files that bind options to CLI11.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tool/command/options.h"

namespace coalesce::tool {

// An option that takes one of a few words.
template <typename T>
CLI::Option* add_choice(CLI::App& command, const std::string& name, T& value, const std::string& description,
                        const std::vector<std::pair<std::string, T>>& choices) {
  return command.add_option_function<std::string>(
      name,
      [&value, name, choices](const std::string& word) {
        std::string known;
        for (const auto& [text, choice] : choices) {
          if (text == word) {
            value = choice;
            return;
          }
          known += (known.empty() ? "" : ", ") + text;
        }
        throw CLI::ValidationError(name, "takes one of " + known + ", not '" + word + "'");
      },
      description);
}

// A whole number from `least` to `most`. What CLI11 says of one it cannot convert is hard to read.
CLI::Validator whole_number(uint64_t least, uint64_t most = UINT64_MAX);

// The name of a file to write. An empty one, mostly a shell's variable that is not set, would write nothing and say
// nothing.
CLI::Option* add_file(CLI::App& command, const std::string& name, std::string& value, const std::string& description);

CLI::Option* add_colour(CLI::App& command, Colour& colour);
// Options that start a program on the machine.
void add_program_options(CLI::App& command, MachineOptions& options);
// Options for the machine's execution of a program.
void add_machine_options(CLI::App& command, MachineOptions& options);

// Options for CI: --sarif, --junit, --format.
void add_ci_options(CLI::App& command, CiOptions& options);

// Each adds one subcommand.
void add_run(CLI::App& app, RunOptions& options);
void add_check(CLI::App& app, CheckOptions& options);
void add_lab(CLI::App& app, LabOptions& options);
void add_banks(CLI::App& app, BankOptions& options);
void add_compare(CLI::App& app, CompareOptions& options);
void add_reduce(CLI::App& app, ReduceOptions& options);

}  // namespace coalesce::tool
