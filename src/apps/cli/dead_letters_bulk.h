// Commands that decide many dead letters: which ones, and what was done.
#pragma once

#include "apps/cli/backend.h"

namespace holdfast::cli {

// RUN, --queue, --workflow, --step, --code, --reason, --all, --dry-run, --limit
struct DeadLetterSelection {
  std::string run = {};  // an id or a part of it, or latest
  std::string queue = {};
  std::string workflow = {};
  std::string step = {};
  std::string code = {};
  std::string reason = {};
  bool all = false;
  bool dry_run = false;
  std::uint64_t limit = 100;

  void declare(Arguments& arguments);
  // Options that only a selection can have; a command about one run refuses them.
  [[nodiscard]] bool selects_many() const {
    return !queue.empty() || !workflow.empty() || !code.empty() || !reason.empty() || all;
  }
};

Result<void> decide_dead_letters_of(const BackendOptions& options,
                                    const DeadLetterSelection& selection,
                                    const DeadLetterBulkRequest& command, Context& context);

}  // namespace holdfast::cli
