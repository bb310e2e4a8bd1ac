// UserWorld: everything outside of a workflow as its author declares it in a file beside it
// (docs/simulate.md): which runs are started, what handlers answer and how long they take, what
// people decide, which events come, and what must never happen. It has only values: who draws
// from them is the UserScenario.
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

// Of time, both ends included.
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

// One of the things an attempt can come to.
struct StubOutcome {
  enum class Kind : std::uint8_t { ok, error, never } kind = Kind::ok;
  Payload result = Payload::trusted("{}");
  Payload opts;  // of ok: schedule_in_ms, defer, continue_as_new
  std::string code;
  std::string message;
  bool retryable = false;
  std::optional<std::uint64_t> retry_after_ms;
  bool done = true;  // what it does outside has really happened
  std::uint64_t weight = 1;
  std::optional<Span> takes;
  std::optional<Condition> when;  // about the input of the attempt
};

// A handler, or a step, that is not really there.
struct Stub {
  std::string name;  // "handlers.charge"
  Span takes = kDefaultTakes;
  bool takes_given = false;
  bool idempotent = false;  // a second execution under the same key does nothing outside
  std::vector<StubOutcome> outcomes;
};

// Whoever decides at an approval or a pause.
struct Decider {
  std::uint64_t approve = 1;  // weights; at a pause: to resume it
  std::uint64_t reject = 0;
  std::uint64_t never = 0;
  Span after = kDefaultDelay;
};

struct EventSource {
  std::string event;
  std::string correlation;  // of one since the start; others have that of the wait
  std::vector<Payload> payloads;
  std::uint64_t chance = 100;
  Span after = kDefaultDelay;
  bool since_start = false;  // else since the run waits for it
};

struct Canceller {
  std::uint64_t chance = 0;
  Span after = kDefaultDelay;
  OnCancel how = OnCancel::as_defined;
};

// Something that must hold for every run of a workflow.
struct Invariant {
  enum class Kind : std::uint8_t {
    needs,        // a step only after one of the others
    never_both,   // at most one of the others
    at_most,      // a step so many times
    at_least,     // a step so many times when the run has ended
    never,        // a step not at all
    followed_by,  // a step is followed by one of the others
    ends,         // only in these ways
    ends_within,  // so soon
    at_end,       // a condition about the context at the end
    compensated,  // a run that went back has taken back all that was done
  } kind = Kind::never;
  enum class As : std::uint8_t { applied, executed } as = As::applied;
  std::string name;      // as the author calls it, or what it says
  std::string workflow;  // whose runs
  std::string step;
  std::vector<std::string> others;
  std::uint64_t times = 1;
  std::int64_t within_us = 0;
  std::set<TerminalStatus> ends;
  std::optional<Condition> condition;
  // Judged only for runs that end in one of these ways, and with such a context.
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
  std::map<std::string, Stub> steps;  // go before handlers
  std::map<std::string, Decider> decisions;
  std::vector<EventSource> events;
  std::optional<Canceller> cancel;
  bool may_wait = false;
  std::vector<Invariant> invariants;
};

using Workflows = std::vector<std::shared_ptr<const Definition>>;  // the first is the one meant

struct WorldFault {
  std::vector<std::string> path;
  std::string message;
  SourceLocation location;
};
struct ReadWorld {
  UserWorld world;
  std::vector<WorldFault> faults;  // by their places; with any the world is of no use
};
// Everything that is wrong is told, and names are compared with those of the workflows.
ReadWorld read_world(std::string_view text, const Workflows& workflows);
// Without a file: what the workflows need of it. Faults have no place in a file.
ReadWorld default_world(const Workflows& workflows);

}  // namespace holdfast::sim
