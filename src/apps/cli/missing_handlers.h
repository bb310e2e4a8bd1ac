// MissingHandlers: reports, once for each, the handlers that this command does not have. Commands
// execute exec and http steps; a step with a handler waits for a program that has registered it.
#pragma once

#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "apps/cli/run_outcome.h"
#include "runs/inspect/store_status.h"

namespace holdfast::cli {

// The handlers of the steps and compensations of the workflows.
std::set<std::string> needed_handlers(const Definitions& definitions);
// The handlers that steps of the store wait for now.
std::set<std::string> waited_for(const StoreStatus& status);

// Safe to use from any thread.
class MissingHandlers {
 public:
  // store: where a program with the handlers must work. quiet: nothing is printed.
  explicit MissingHandlers(std::string store, bool quiet = false)
      : store_(std::move(store)), quiet_(quiet) {}

  // Prints to standard error; leaves out handlers reported before, and exec and http.
  void report(const std::set<std::string>& handlers);

 private:
  std::string store_;
  bool quiet_;
  std::mutex mutex_;
  std::set<std::string> reported_;
};

}  // namespace holdfast::cli
