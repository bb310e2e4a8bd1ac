// How a command that follows a run ends: what it says, and its exit code.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "apps/cli/backend.h"
#include "runs/view/explanation.h"

namespace holdfast {

// A time that comes this soon is waited for by commands that stop when they are idle.
inline constexpr std::int64_t kSoonMs = 5000;

using Loaded = std::vector<std::shared_ptr<const Definition>>;

// What `run` was asked to do, read and checked.
struct RunFile {
  Loaded definitions = {};  // the first is the one to run
  Backend::Start start = {};
};

// Under an idempotency key the run that was started first is found again. When it follows another
// definition than the given one: what there is to say about that; empty when it does not.
std::string other_definition_text(std::string_view snapshot, const Definition& given);

// Only what is outside of every worker can move it, or a time that does not come soon.
bool waits_for_others(const std::vector<Cause>& causes, TimeMs now);
// The first that waits for a worker with a handler, which only a program can bring; none: nullptr.
const Cause* waits_for_handler(const std::vector<Cause>& causes);
// The run, or a child that it waits for.
bool needs_intervention(const std::vector<Cause>& causes);

// Why the run is followed no longer.
enum class Left : std::uint8_t { ended, blocked, interrupted, stopped };

struct OutcomeStyle {
  const Style& style;
  std::string continue_hint;  // how, after "nothing is lost; "
};
// Prints what came of it; sets the exit code. A run that has ended has ended, whatever `left` says.
void report_outcome(Left left, const RunView& view, const OutcomeStyle& how, Context& context);

}  // namespace holdfast
