// Runs one process in a process group of its own and waits for its end.
//
// Guarantees: when run_process returns, the process is reaped, its group has been killed, and no
// file descriptor is left open. When the calling thread dies, the kernel kills the process. A
// process that does not read its input is no error. Any number of threads may call at once.
// Limits: a descendant that leaves the group (setsid) is not killed, but nobody waits for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast {

// The texts hold no NUL bytes.
struct ProcessPlan {
  std::string program;                   // a path; relative to the directory
  std::vector<std::string> arguments;    // the name of the program is the first
  std::vector<std::string> environment;  // NAME=value, complete
  std::string directory;                 // empty: that of the caller
  std::size_t max_output_bytes = 0;      // more on stdout ends the process
  std::size_t kept_error_bytes = 0;      // of stderr: the last ones
};

enum class ProcessEnd : std::uint8_t { not_started, exited, killed, stopped, too_much_output };

struct ProcessResult {
  ProcessEnd end = ProcessEnd::not_started;
  int number = 0;                // errno, exit code or signal, for the first three
  std::string_view failed_part;  // not_started: what could not be done
  std::string output;            // of stdout
  std::string errors;            // of stderr, at most kept_error_bytes
};

ProcessResult run_process(const ProcessPlan& plan, std::string_view input,
                          const std::stop_token& stop);

}  // namespace holdfast
