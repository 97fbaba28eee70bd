// A child process: started, its signals forwarded, waited for.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace coalesce::tool {

struct Command {
  std::vector<std::string> words;                       // the program's path and its arguments
  std::string called = {};                              // its argv[0]; empty: the path
  std::map<std::string, std::string> environment = {};  // set on top of ours
  bool output_to_stderr = false;                        // its standard output goes to our standard error
  bool output_to_pipe = false;                          // its standard output is collected in Outcome::output instead
};

struct Outcome {
  int code = 0;              // exit code; 128 + n for death by signal n
  int signal = 0;            // that signal; 0: it ended by itself
  bool filtered = false;     // it had filters of system calls (seccomp) beyond ours
  bool interrupted = false;  // SIGINT or SIGTERM reached us meanwhile
  std::string output;        // with output_to_pipe
};

// SIGINT, SIGTERM and SIGHUP that we get while it runs are forwarded; those a terminal sends reach the child directly.
// Throws Error (failed) when it cannot be started.
Outcome run_child(const Command& command);

}  // namespace coalesce::tool
