// How a command that follows a run ends: what it prints, and its exit code.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "apps/cli/backend.h"
#include "apps/cli/workflow_files.h"
#include "runs/view/explanation.h"

namespace holdfast::cli {

// Commands that stop when no step is ready wait for a time that is not further away.
inline constexpr std::int64_t kSoonMs = 5000;

// The run that `holdfast run` starts.
struct RunFile {
  Definitions definitions = {};  // the first is the one to run
  StartRun start = {};
};

// How `holdfast run` executes and follows it.
struct RunOptions {
  std::size_t threads = 0;
  bool until_blocked = false;
  bool quiet = false;
};

// Only something outside every worker can advance the run, or a time that is not soon.
bool waits_for_others(const std::vector<Cause>& causes, TimeMs now);
// The first cause that waits for a worker with a handler; nullptr: none.
const Cause* waits_for_handler(const std::vector<Cause>& causes);
// Of the run, or of a child that it waits for.
bool needs_intervention(const std::vector<Cause>& causes);

// Why a command stops following a run. stopped: this process no longer executes it.
enum class FollowEnd : std::uint8_t { ended, blocked, interrupted, stopped };

struct OutcomeStyle {
  const Style& style;
  std::string continue_hint;  // follows "nothing is lost; "
};
// Prints the outcome and sets the exit code. A run that has ended counts as ended, whatever `end`
// is.
void report_outcome(FollowEnd end, const RunView& view, const OutcomeStyle& how, Context& context);

}  // namespace holdfast::cli
