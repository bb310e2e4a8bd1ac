// Executes steps of a server in this process.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "apps/cli/backend.h"
#include "apps/cli/workflow_files.h"

namespace holdfast::cli {

struct ServerWorkerOptions {
  std::string handlers = {};             // a file; empty: none
  std::vector<std::string> queues = {};  // empty: all that the token allows
  std::optional<std::uint64_t> threads = {};
  std::string name = {};       // empty: the name of the machine
  bool only_handlers = false;  // no http and exec steps of workflows
  bool quiet = false;
  Definitions definitions = {};  // registered first
};

// Until the process is interrupted. Waits for a server that is unavailable.
Result<void> work_for_server(const NamedServer& server, const ServerWorkerOptions& options,
                             Context& context);

}  // namespace holdfast::cli
