// Runs one process in a process group of its own and waits for its end.
//
// Guarantees: when run_process returns, the process is reaped, its group has been killed, and no
// file descriptor is left open. If the calling thread dies, the kernel kills the process. A process
// may ignore its input. Any number of threads may call at once.
// Limits: a descendant that leaves the group (setsid) is neither killed nor waited for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast {

// The strings must not contain NUL bytes.
struct ProcessPlan {
  std::string program;                   // a path; relative to the directory
  std::vector<std::string> arguments;    // the first is the name of the program
  std::vector<std::string> environment;  // NAME=value, complete
  std::string directory;                 // empty: that of the caller
  std::size_t max_output_bytes = 0;      // more on stdout ends the process
  std::size_t kept_error_bytes = 0;      // the last bytes of stderr
};

enum class ProcessEnd : std::uint8_t { not_started, exited, killed, stopped, too_much_output };

struct ProcessResult {
  ProcessEnd end = ProcessEnd::not_started;
  int number = 0;                // errno, exit code or signal, for the first three
  std::string_view failed_part;  // not_started: the operation that failed
  std::string output;            // of stdout
  std::string errors;            // of stderr, at most kept_error_bytes
};

ProcessResult run_process(const ProcessPlan& plan, std::string_view input,
                          const std::stop_token& stop);

}  // namespace holdfast
