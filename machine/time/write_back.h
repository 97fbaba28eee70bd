// The lines that L2 writes back to DRAM while a launch runs: others push them out, or more are changed than L2 lets
// wait. How long the launch takes does not matter.
#pragma once

namespace coalesce::machine {

// Bytes of the launch, each once.
struct Stores {
  double stored = 0;           // sectors that are stored
  double stored_lines = 0;     // whole lines that these lie in
  double loaded = 0;           // halves of lines that are loaded and not stored
  double readers = 1;          // multiprocessors that load each of these, on average
  double partial = 0;          // sectors of which a part is stored, among the stored ones
  double partial_sectors = 1;  // of a line with such sectors, on average
};

struct WriteBack {
  double written = 0;  // bytes that DRAM gets of what the launch has stored
  double before = 0;   // of what lay in L2 before
  double filled = 0;   // bytes that DRAM gives so that sectors become whole
};
WriteBack write_back(const Stores& stores, double l2_bytes);

// The part of stores to local memory that DRAM gets, of `resident` bytes that the threads at work have there.
double written_local(double resident, double l2_bytes);

}  // namespace coalesce::machine
