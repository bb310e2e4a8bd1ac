// Runs: options of the commands on them, and the views of them. Ids are UUIDs as text, payloads are
// JSON as text, times are milliseconds since 1970 (UTC).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace holdfast {

struct StartOptions {
  // At most one of the two. run_id: the id of the new run, chosen by the caller. idempotency_key:
  // any text; repeated starts of the workflow with the same key return the same run.
  std::string run_id = {};
  std::string idempotency_key = {};
  std::string queue = {};              // empty: the default
  std::string trigger = {};            // empty: the first trigger of the workflow
  std::string search_attributes = {};  // a JSON object
  std::string actor = {};              // who starts it; recorded with the run
  std::string comment = {};
};

struct StartedRun {
  std::string run_id;
  bool existed = false;  // an earlier start with the same id or key created it
};

// The time a run of a schedule is for: from when it is due until the next time, in milliseconds
// since 1970 (UTC).
struct CronWindow {
  std::int64_t start_at_ms = 0;
  std::int64_t end_at_ms = 0;
};

// A window that a scheduler outside of the engine delivers. One of signal_id and window is needed,
// unless the trigger has idempotency: none.
struct DeliverOptions {
  std::string signal_id = {};  // names the delivery; empty: derived from the window
  std::optional<CronWindow> window = {};
  std::string actor = {};
  std::string comment = {};
};

// Which circuit breakers of a step are closed, and what is recorded about it.
struct CloseCircuitOptions {
  std::string queue = {};  // empty: in every queue
  std::string actor = {};
  std::string reason = {};
};

struct DeliveredRun {
  // existing, skipped (with idempotency: skip_duplicate): an earlier delivery started the run.
  // paused: the schedule is paused, and the window has no run.
  enum class Outcome : std::uint8_t { started, existing, skipped, paused };
  Outcome outcome = Outcome::started;
  std::string run_id = {};  // empty when paused
};

// What happens to completed steps when a run is cancelled.
enum class CancelMode : std::uint8_t {
  as_defined,  // as compensate_on_cancel in the definition
  compensate,  // they are compensated, newest first; then the run ends as cancelled
  stop,        // they stay as they are; also stops a compensation in progress
};

struct CancelOptions {
  std::string actor = {};
  std::string comment = {};
  std::string idempotency_key = {};
  CancelMode mode = CancelMode::as_defined;
};

// For resume, approve and reject.
struct DecisionOptions {
  std::string step = {};   // empty: the only step that waits for a decision
  std::string actor = {};  // who decides; required to approve or reject
  std::string comment = {};
  std::string metadata = {};  // a JSON object; secrets in it are redacted before it is stored
  std::string idempotency_key = {};
};

// For a parked step: its last attempt failed, and its retry policy says "then: park"; or the
// definition has a fault there.
struct RetryStepOptions {
  std::string step = {};          // empty: the only step that is parked
  std::string input = {};         // a JSON object; empty: the same input as before
  std::string runnable_key = {};  // the attempt that failed; empty: whichever it was
  std::string actor = {};
  std::string comment = {};
  std::string idempotency_key = {};
};
struct DiscardStepOptions {
  std::string step = {};          // empty: the only step that is parked
  std::string runnable_key = {};  // the attempt that failed; empty: whichever it was
  std::string actor = {};
  std::string comment = {};
  std::string idempotency_key = {};
};

// Dead letters: attempts that failed and were the last ones of their steps. The step is parked, or
// the run has failed ("exhausted"). What is set must match.
struct DeadLetterQuery {
  std::string run_id = {};
  std::string queue = {};
  std::string workflow = {};
  std::string step = {};    // of the definition: also its visits, items and compensation
  std::string code = {};    // of the error
  std::string reason = {};  // parked or exhausted
  std::uint64_t limit = 100;
  std::string cursor = {};  // `next` of the page before
};
struct DeadLetterView {
  std::string reason;  // parked or exhausted
  std::string run_id;
  std::string workflow;
  std::string step;
  std::string queue;
  std::string runnable_key;  // the attempt that failed
  std::string idempotency_key;
  std::uint32_t attempts = 0;
  std::int64_t since = 0;
  std::int64_t age_ms = 0;
  std::string error;  // JSON
  std::string input;  // JSON
};
struct DeadLetterPage {
  std::vector<DeadLetterView> dead_letters;  // by queue, oldest first
  std::string next;                          // empty: the last page
};
// For redriving and discarding many. Without a filter, `all` must be set.
struct DeadLetterSelection {
  std::string run_id = {};
  std::string queue = {};
  std::string workflow = {};
  std::string step = {};
  std::string code = {};
  std::string reason = {};
  bool all = false;
  bool dry_run = false;  // only reports what matches
  std::uint64_t limit = 100;
  std::string actor = {};
  std::string comment = {};
};
struct DeadLetterOutcome {
  std::string run_id;
  std::string step;
  std::string runnable_key;
  std::string replay_run_id;  // of an exhausted attempt that was redriven: the new run
  std::string error;          // why the command failed for this one; empty: it did not
};
struct DeadLetterDecision {
  std::vector<DeadLetterOutcome> matched;
  std::uint64_t done = 0;
  bool more = false;  // dead letters beyond the limit match too
};

struct SignalOptions {
  std::string correlation = {};      // must equal the correlation of the waiting step
  std::string idempotency_key = {};  // an event with the same key is received once
  std::string actor = {};
};

struct ReplayOptions {
  std::string from_step = {};       // empty: the first step
  std::string input = {};           // a JSON object; empty: the input of the original run
  bool allow_irreversible = false;  // steps marked irreversible may be executed again
  std::string run_id = {};          // the id of the new run; empty: generated
  std::string definition = {};      // newest, or a fingerprint; empty: that of the original run
  std::string actor = {};
  std::string comment = {};
};

struct MigrateOptions {
  std::string to = "newest";  // the definition that new runs use, or a fingerprint
  std::string actor = {};
  std::string comment = {};
};

// Steps and edges that are added to the graph of a run while it runs. docs/guide/growing-runs.md
struct AddedStep {
  std::string id;          // a name that no other step of the run has, or had
  std::string handler;     // executes it
  std::string input = {};  // a JSON object; empty: the context of the run when the step begins
  std::string queue = {};  // empty: the queue of the run
  // How often it is attempted in all, and the delay between two attempts.
  std::uint32_t max_attempts = 1;
  std::uint64_t retry_delay_ms = 0;
};

// `to`, an added step that has not begun, begins after `from`, any step, is done.
struct AddedEdge {
  std::string from;
  std::string to;
  std::string id = {};  // empty: FROM.TO
};

// All of it takes effect, or nothing.
struct GraphMutation {
  // The same mutation again, with the same id, has no further effect; other content under the id is
  // a conflict. Of the result of a step it may be empty: then each visit and item makes one.
  std::string id = {};
  std::optional<std::uint64_t> expected_version = {};  // of the graph; empty: any
  std::vector<AddedStep> steps = {};
  std::vector<AddedEdge> edges = {};
  // Ids. A step can be removed until it begins; the id stays taken.
  std::vector<std::string> removed_steps = {};
  std::vector<std::string> removed_edges = {};

  [[nodiscard]] bool empty() const {
    return steps.empty() && edges.empty() && removed_steps.empty() && removed_edges.empty();
  }
};

struct MutationOptions {
  std::string actor = {};
  std::string comment = {};
};

struct StepView {
  std::string name;
  // waiting (for other steps), planned, scheduled (for later), ready, running, paused (waits for a
  // decision), parked (no attempt is left, or the definition has a fault there), completed, failed
  // (also when an error route was taken), withdrawn; skipped when the run completed without it,
  // abandoned when the run ended otherwise.
  std::string status;
  std::uint32_t attempts = 0;
  std::string result = {};  // of a completed step
  std::string error = {};   // of the latest failed attempt, or why it is parked
};

struct RunView {
  std::string run_id;
  std::string workflow;
  std::string version;
  std::string queue;
  // new, started, running, idle, paused, compensating, completed, failed, cancelled, continued
  std::string status;
  bool terminal = false;
  std::int64_t started_at_ms = 0;
  std::int64_t ended_at_ms = 0;  // 0: it has not ended
  std::string input;
  std::string context;      // the input and all results, merged
  std::string result = {};  // of a completed run: the output of its definition, or its context
  std::string error = {};   // of a failed run: {"code","message",...}
  std::string parent_run_id = {};  // of a child
  std::vector<std::string> children = {};
  std::vector<StepView> steps = {};
  std::string json = {};  // the whole snapshot, with attempts, plans, anomalies and revisions
};

// An action that lets the run continue, or a command that shows more.
struct NextStep {
  std::string action;      // its name; docs/inspection.md lists them all
  std::string summary;     // one line for operators
  std::string command;     // of the holdfast program; empty: none
  std::int64_t at_ms = 0;  // when it happens without an action; 0: it needs one
};

// Why a run is in its current state.
struct RunExplanation {
  std::string run_id;
  std::string status;
  bool terminal = false;
  std::string reason;  // one of a fixed list; see docs/inspection.md
  std::string step;    // the step that the reason refers to; empty: none
  std::string
      summary;  // one sentence that ends with the external cause: a person, an event, a time
  std::vector<NextStep> next_steps = {};
  std::string json = {};  // with the tree of causes and the evidence
};

struct RunSummary {
  std::string run_id;
  std::string workflow;
  std::string queue;
  std::string status;
  bool terminal = false;
  std::int64_t listed_at_ms = 0;
  std::int64_t started_at_ms = 0;  // 0: it has not started
  std::int64_t ended_at_ms = 0;    // 0: it has not ended
  std::string waits_at = {};       // the step that waits for a decision
  std::string error = {};          // of a failed run, one line
  std::string parent_run_id = {};
};

enum class ListOrder : std::uint8_t { newest_first, oldest_first };

struct ListOptions {
  std::string workflow = {};  // empty: all
  ListOrder order = ListOrder::newest_first;
  std::size_t limit = 50;   // 1 to 1000
  std::string cursor = {};  // RunPage::next of the previous page, with the same options
  std::vector<std::string> statuses = {};  // empty: all
  std::int64_t started_from_ms = 0;        // at or after; 0: no limit
  std::int64_t started_before_ms = 0;      // 0: no limit
  std::string attributes = {};             // a JSON object: the search attributes to match
  bool archived = false;                   // include archived runs
  std::string at = {};                     // a point in the past; see Engine::explain
};

struct RunPage {
  std::vector<RunSummary> runs;
  std::string next = {};  // empty: this is the last page
  std::string json = {};
};

}  // namespace holdfast
