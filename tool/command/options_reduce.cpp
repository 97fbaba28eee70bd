// The options of `reduce`.
#include <fmt/format.h>

#include "reduce/element.h"
#include "reduce/operation.h"
#include "tool/command/option_kinds.h"

namespace coalesce::tool {

void add_reduce(CLI::App& app, ReduceOptions& options) {
  CLI::App* reduce = app.add_subcommand("reduce", "Exact sums, statistics and positions of the numbers in files");
  reduce->add_option("files", options.files, ".npy, .csv, or raw elements (--type); several are one row of elements")
      ->type_name("FILE")
      ->required();
  std::string names = "stats";
  for (const coalesce::reduce::OperationRow& row : coalesce::reduce::kOperations) names += ", " + std::string(row.name);
  reduce->add_option("--op", options.operations, "Operations, with commas between: " + names)
      ->type_name("LIST")
      ->capture_default_str();
  reduce->add_option("--axis", options.axes, "Of one .npy: the axes to reduce, from 0, negative ones from the end")
      ->type_name("LIST");
  std::string types;
  for (const coalesce::reduce::ElementRow& row : coalesce::reduce::kElements)
    types += (types.empty() ? "" : ", ") + std::string(row.name);
  reduce->add_option("--type", options.type, "Read raw little-endian elements: " + types)->type_name("TYPE");
  reduce->add_option("--skip", options.skip, "Bytes ahead of a raw file's elements")
      ->type_name("BYTES")
      ->check(whole_number(0));
  reduce->add_option("--column", options.column, "Of CSV files: a heading, or a number from 1")->type_name("NAME");
  reduce->add_option("--separator", options.separator, "Between CSV fields; a comma unless given")->type_name("CHAR");
  reduce->add_option("--missing", options.missing, "Empty CSV fields: error or skip")
      ->type_name("WHAT")
      ->capture_default_str()
      ->check(CLI::IsMember({"error", "skip"}).description(""));
  reduce->add_option("--threads", options.threads, "Threads; 0: all cores")
      ->type_name("N")
      ->check(whole_number(0, 1024));
  add_file(*reduce, "--json", options.json, "Write the results; '-' is standard output, in place of the table");
  add_file(*reduce, "--output", options.output, "With --axis and one operation: write the results as .npy");
  add_file(*reduce, "--checkpoint", options.checkpoint, "Keep the state here, every ten seconds and when interrupted");
  reduce->add_flag("--resume", options.resume, "Go on from the checkpoint, if there is one");
  reduce->add_option("--part", options.part, "I/N: read only the I-th of N equal parts; the checkpoint is its result")
      ->type_name("PART");
  reduce->add_flag("--merge", options.merge, "The files are checkpoints of all parts: print the whole's results");
  add_colour(*reduce, options.colour);
  reduce->footer(
      "Examples:\n"
      "  coalesce reduce samples.npy\n"
      "  coalesce reduce --op exact_sum,argmax a.npy b.npy\n"
      "  coalesce reduce --axis 0 --op exact_mean --output means.npy samples.npy\n"
      "  coalesce reduce --type float32 --checkpoint sum.state --resume huge.bin\n"
      "  coalesce reduce --column price --op exact_sum trades.csv\n"
      "  mpirun -np 4 coalesce reduce huge.npy                           each rank reads a quarter; the same bits\n"
      "  coalesce reduce --part 2/8 --checkpoint part2.state huge.npy    on one of eight machines\n"
      "  coalesce reduce --merge part*.state                             the same bits as one machine's\n"
      "Exit code: 0 done, 2 a file cannot be read as its kind, 3 a file cannot be read or written, 130 interrupted.");
}

}  // namespace coalesce::tool
