// Runs as programs see them: how one is started, what it looks like, how they are listed.
// Ids are UUIDs as text, payloads are JSON texts, times are milliseconds since 1970 (UTC).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace holdfast {

struct StartOptions {
  // At most one of these two. A run id of the caller's own; or any text, for which there is one
  // run of the workflow however often it is started.
  std::string run_id = {};
  std::string idempotency_key = {};
  std::string queue = {};              // empty: the default
  std::string trigger = {};            // empty: the first of the workflow
  std::string search_attributes = {};  // a JSON object
  std::string actor = {};              // who started it, for the record
  std::string comment = {};
};

struct StartedRun {
  std::string run_id;
  bool existed = false;  // the same run was started before
};

// What becomes of steps that are done when a run is cancelled.
enum class CancelMode : std::uint8_t {
  as_defined,  // what the definition says: compensate_on_cancel
  compensate,  // they are compensated, newest first; then the run is cancelled
  stop,        // nothing more happens, also when the run is being compensated
};

struct CancelOptions {
  std::string actor = {};
  std::string comment = {};
  std::string idempotency_key = {};
  CancelMode mode = CancelMode::as_defined;
};

// Of resume, approve and reject.
struct DecisionOptions {
  std::string step = {};   // empty: the only one the run waits at
  std::string actor = {};  // who decided; must be given to approve or reject
  std::string comment = {};
  std::string metadata = {};  // a JSON object; secrets in it are redacted before it is stored
  std::string idempotency_key = {};
};

struct SignalOptions {
  std::string correlation = {};      // what the waiting step must have named too
  std::string idempotency_key = {};  // the same event again under it is not received again
  std::string actor = {};
};

struct ReplayOptions {
  std::string from_step = {};  // empty: from the beginning
  std::string input = {};      // a JSON object; empty: the input of the run that is repeated
  bool allow_irreversible = false;
  std::string run_id = {};  // of the new run; empty: a new one
  std::string actor = {};
  std::string comment = {};
};

struct StepView {
  std::string name;
  // waiting (for other steps), planned, scheduled (for later), ready, running, paused (waits for
  // somebody), completed, failed (also when an error route was taken), withdrawn; skipped when the
  // run was completed without it, abandoned when it ended otherwise.
  std::string status;
  std::uint32_t attempts = 0;
  std::string result = {};  // of a completed step
  std::string error = {};   // of the newest failed attempt
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
  std::int64_t ended_at_ms = 0;  // 0: it has not
  std::string input;
  std::string context;             // the input and all results, merged
  std::string result = {};         // of a completed run: what its definition says, or its context
  std::string error = {};          // of a failed run: {"code","message",...}
  std::string parent_run_id = {};  // of a child
  std::vector<std::string> children = {};
  std::vector<StepView> steps = {};
  std::string json = {};  // the whole snapshot, with attempts, plans, anomalies and revisions
};

// Something that would move a run, or a place to look at.
struct NextStep {
  std::string action;      // its name; docs/inspection.md has them all
  std::string summary;     // for people
  std::string command;     // of the holdfast program; empty: there is none for it
  std::int64_t at_ms = 0;  // it comes by itself at this time; 0: it does not
};

// Why a run is where it is.
struct RunExplanation {
  std::string run_id;
  std::string status;
  bool terminal = false;
  std::string reason;   // one of a fixed list, see docs/inspection.md
  std::string step;     // the one the reason is about; empty: none
  std::string summary;  // one sentence, down to what is outside: a person, an event, a time
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
  std::int64_t started_at_ms = 0;  // 0: it has not
  std::int64_t ended_at_ms = 0;    // 0: it has not
  std::string waits_at = {};       // the step it waits at for somebody
  std::string error = {};          // of a failed run, one line
  std::string parent_run_id = {};
};

enum class ListOrder : std::uint8_t { newest_first, oldest_first };

struct ListOptions {
  std::string workflow = {};  // empty: all
  ListOrder order = ListOrder::newest_first;
  std::size_t limit = 50;   // 1 to 1000
  std::string cursor = {};  // RunPage::next of the page before, with the same options
  std::vector<std::string> statuses = {};  // empty: all
  std::int64_t started_from_ms = 0;        // at or after; 0: ever
  std::int64_t started_before_ms = 0;      // 0: ever
  std::string attributes = {};             // a JSON object: search attributes with these values
  bool archived = false;                   // also runs that are put away
  std::string at = {};                     // a point in the past; see Engine::explain
};

struct RunPage {
  std::vector<RunSummary> runs;
  std::string next = {};  // empty: this was the last page
  std::string json = {};
};

}  // namespace holdfast
