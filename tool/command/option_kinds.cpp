#include "tool/command/option_kinds.h"

#include <fmt/format.h>

#include <charconv>

#include "machine/memory/memory.h"

namespace coalesce::tool {

CLI::Validator whole_number(uint64_t least, uint64_t most) {
  const auto check = [least, most](const std::string& word) {
    uint64_t value = 0;
    const char* const end = word.data() + word.size();
    const auto [stopped, error] = std::from_chars(word.data(), end, value);
    if (error == std::errc() && stopped == end && value >= least && value <= most) return std::string();
    return most == UINT64_MAX ? fmt::format("takes a whole number from {} on, not '{}'", least, word)
                              : fmt::format("takes a whole number from {} to {}, not '{}'", least, most, word);
  };
  return {check, "", "whole number"};
}

CLI::Option* add_file(CLI::App& command, const std::string& name, std::string& value, const std::string& description) {
  const auto check = [](const std::string& word) {
    return std::string(word.empty() ? "needs the name of a file" : "");
  };
  return command.add_option(name, value, description)->type_name("FILE")->check({check, "", "file name"});
}

CLI::Option* add_colour(CLI::App& command, Colour& colour) {
  return add_choice<Colour>(command, "--color", colour, "When to colour: auto, always, never",
                            {{"auto", Colour::automatic}, {"always", Colour::always}, {"never", Colour::never}})
      ->type_name("WHEN");
}

void add_program_options(CLI::App& command, MachineOptions& options) {
  // "h200x8": eight of them.
  const auto several = [&options](std::string& word) {
    const std::size_t cross = word.rfind('x');
    unsigned count = 0;
    const char* const end = word.data() + word.size();
    if (cross == std::string::npos || cross == 0 || machine::find_device(word.substr(0, cross)) == nullptr)
      return std::string();
    const auto [stopped, error] = std::from_chars(word.data() + cross + 1, end, count);
    if (error != std::errc() || stopped != end || count == 0 || count > machine::kMostDevices) return std::string();
    options.devices = count;
    word.resize(cross);
    return std::string();
  };
  command.add_option("--device", options.device, "The GPU the machine stands for; h200x8 is eight of them")
      ->each([&options](const std::string&) { options.device_chosen = true; })
      ->envname("COALESCE_DEVICE")
      ->type_name("NAME")
      ->transform(CLI::Validator(several, "", "several devices"));
  command.add_option("--devices", options.devices, "So many of them, each other's peers")
      ->envname("COALESCE_DEVICES")
      ->type_name("N")
      ->check(whole_number(1, machine::kMostDevices));
  command
      .add_option("--max-instructions", options.max_instructions,
                  "Stop a launch after so many warp instructions, or soon after")
      ->envname("COALESCE_MAX_INSTRUCTIONS")
      ->type_name("N")
      ->check(whole_number(0));
  add_colour(command, options.colour);
  add_choice<Compiler>(command, "--compiler", options.compile.compiler, "What compiles a .cu file: auto, nvcc, clang",
                       {{"auto", Compiler::automatic}, {"nvcc", Compiler::nvcc}, {"clang", Compiler::clang}})
      ->type_name("NAME");
  command.add_option("-X", options.compile.flags, "Give the compiler this flag too; may be repeated")
      ->type_name("FLAG")
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void add_machine_options(CLI::App& command, MachineOptions& options) {
  command.add_option("--threads", options.threads, "Threads of this computer to use; 0 is all cores")
      ->envname("COALESCE_THREADS")
      ->type_name("N")
      ->check(whole_number(0, machine::kMostThreads));
  add_choice<machine::Engine>(
      command, "--engine", options.engine,
      "What executes kernels: auto, interpreter, native (the CPU's own code), plain (to compare with)",
      {machine::kEngines.begin(), machine::kEngines.end()})
      ->envname("COALESCE_ENGINE")
      ->type_name("NAME");
  add_choice<machine::Model>(command, "--model", options.model,
                             "Whose memory requests are counted: ptx, or ptxas (what it merges at -O3)",
                             {machine::kModels.begin(), machine::kModels.end()})
      ->envname("COALESCE_MODEL")
      ->type_name("NAME");
  command.add_flag("--shadow", options.shadow,
                   "Run every launch by the plain executor, too, and say what differs; slow");
  add_program_options(command, options);
}

void add_ci_options(CLI::App& command, CiOptions& options) {
  add_file(command, "--sarif", options.sarif, "Write what was found as SARIF 2.1.0, for code scanning");
  add_file(command, "--junit", options.junit, "Write kernels and requirements as test cases, JUnit's XML");
  add_choice<LineFormat>(command, "--format", options.lines,
                         "Add a line for each finding: text (none), github (annotations), gcc (for editors)",
                         {{"text", LineFormat::none}, {"github", LineFormat::github}, {"gcc", LineFormat::gcc}})
      ->type_name("NAME");
}

}  // namespace coalesce::tool
