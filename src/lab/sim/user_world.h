// UserWorld: a world file (docs/simulate.md): everything outside a workflow, as its author declares
// it: the runs to start, the results and durations of handlers, the decisions, the events, and the
// invariants. It only holds values; the UserScenario draws from them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "lab/sim/sim_dice.h"
#include "runs/language/data/condition_expression.h"
#include "runs/language/definition/definition.h"
#include "runs/language/yaml/source_text.h"
#include "runs/run/run_decide.h"

namespace holdfast::sim {

// A range of durations, both ends included.
struct Span {
  std::int64_t from_us = 0;
  std::int64_t to_us = 0;

  [[nodiscard]] std::int64_t draw(const Dice& dice, std::string_view what) const {
    const auto width = static_cast<std::uint64_t>(to_us - from_us) + 1;
    return from_us + static_cast<std::int64_t>(dice.below(width, what));
  }
};

inline constexpr Span kDefaultTakes{1000, 1'000'000};
inline constexpr Span kDefaultDelay{1'000'000, 60'000'000};

// One possible outcome of an attempt.
struct StubOutcome {
  enum class Kind : std::uint8_t { ok, error, never } kind = Kind::ok;
  Payload result = Payload::trusted("{}");
  Payload opts;  // of ok: schedule_in_ms, defer, continue_as_new
  std::string code;
  std::string message;
  bool retryable = false;
  std::optional<std::uint64_t> retry_after_ms;
  bool done = true;  // the outside effect really happened
  std::uint64_t weight = 1;
  std::optional<Span> takes;
  std::optional<Condition> when;  // on the input of the attempt
};

// The simulated behaviour of a handler or a step.
struct Stub {
  std::string name;  // "handlers.charge"
  Span takes = kDefaultTakes;
  bool takes_given = false;
  bool idempotent = false;  // a second execution under the same key has no outside effect
  std::vector<StubOutcome> outcomes;
};

// The decisions at an approval or a pause.
struct Decider {
  std::uint64_t approve = 1;  // weights; at a pause, approve means resume
  std::uint64_t reject = 0;
  std::uint64_t never = 0;
  Span after = kDefaultDelay;
};

// What the delay of an event is counted from: when the run waits for it, or when the run starts.
HOLDFAST_ENUM(EventSince, wait, start);

struct EventSource {
  std::string event;
  std::string correlation;  // since start; otherwise that of the wait
  std::vector<Payload> payloads;
  std::uint64_t chance = 100;
  Span after = kDefaultDelay;
  EventSince since = EventSince::wait;
};

struct Canceller {
  std::uint64_t chance = 0;
  Span after = kDefaultDelay;
  OnCancel how = OnCancel::as_defined;
};

HOLDFAST_ENUM(
    InvariantKind,
    needs,        // a step only after one of the others
    at_most,      // a step at most so many times
    at_least,     // a step at least so many times before the run ends
    followed_by,  // a step is followed by one of the others
    never,        // a step never happens
    never_both,   // at most one of the others happens
    ends,         // the run ends in one of these ways
    ends_within,  // the run ends within this time
    at_end,       // a condition on the context at the end
    compensated,  // every completed step of a failed run that has a compensation was compensated
);
HOLDFAST_ENUM(InvariantAs, applied, executed);

// A condition that must hold for every run of a workflow.
struct Invariant {
  using Kind = InvariantKind;
  using As = InvariantAs;
  Kind kind = Kind::never;
  As as = As::applied;
  std::string name;      // from the file, or generated
  std::string workflow;  // the workflow whose runs are checked
  std::string step;
  std::vector<std::string> others;
  std::uint64_t times = 1;
  std::int64_t within_us = 0;
  std::set<TerminalStatus> ends;
  std::optional<Condition> condition;
  // Checked only for runs that end in one of these ways, and with such a context.
  std::set<TerminalStatus> if_run;
  std::optional<Condition> when;
  SourceLocation location;
};

struct UserWorld {
  std::uint64_t least_runs = 1;
  std::uint64_t most_runs = 3;
  std::int64_t started_within_us = 10'000'000;
  std::string trigger;
  std::vector<Payload> inputs;
  std::map<std::string, Stub> handlers;
  std::map<std::string, Stub> steps;  // take precedence over handlers
  std::map<std::string, Decider> decisions;
  std::vector<EventSource> events;
  std::optional<Canceller> cancel;
  bool may_wait = false;
  std::vector<Invariant> invariants;
};

using Workflows = std::vector<std::shared_ptr<const Definition>>;  // the first is the main workflow

struct WorldFault {
  std::vector<std::string> path;
  std::string message;
  SourceLocation location;
};
struct ReadWorld {
  UserWorld world;                 // not to be used if there are faults
  std::vector<WorldFault> faults;  // in the order of their locations
};
// Reports every fault; names are compared with those of the workflows.
ReadWorld read_world(std::string_view text, const Workflows& workflows);
// The defaults for workflows without a world file. Faults have no location.
ReadWorld default_world(const Workflows& workflows);

}  // namespace holdfast::sim
