// What `holdfast worker` was asked to do.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "apps/cli/backend_options.h"

namespace holdfast {

struct WorkerOptions {
  BackendOptions backend;           // a server
  std::string handlers;             // a file; empty: none
  std::vector<std::string> queues;  // empty: all that the token allows
  std::optional<std::uint64_t> threads;
  std::string name;            // empty: that of the machine
  bool only_handlers = false;  // not the http and exec steps of workflows
  bool quiet = false;
};

}  // namespace holdfast
