// Why a run is where it is: one reason, one sentence, and a tree of causes that ends at what is
// outside: a person, an event, a time, a worker. Every run that has not ended has a reason and
// something that will move it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/json_value.h"
#include "runs/view/run_source.h"

namespace holdfast {

// In the order they count: the first that applies is the reason.
HOLDFAST_ENUM(Reason, terminal, manual_intervention_required, completed_result_pending_apply,
              planned_dispatch_pending_schedule, expired_claim, attempt_visible, circuit_open,
              deferred_continuation, attempt_claimed, attempt_scheduled_for_later,
              waiting_for_child, idle, run_started, waiting_for_dispatch);

// What would move the run, or what to look at.
struct NextAction {
  std::string action;                       // its name, see docs/inspection.md
  std::string summary;                      // for people
  std::string command = {};                 // to type; empty: nothing can be typed for it
  std::optional<TimeMs> at = std::nullopt;  // it comes by itself at this time
};

struct Cause {
  Reason reason = Reason::idle;
  // approval, pause, parked, event, engine, worker, circuit_breaker, retry, timer, deferral, claim,
  // lease, child, items, definition, writer; of a run that has ended: completion, failure,
  // cancellation, successor
  std::string waits_for;
  std::string step = {};
  std::string run_id = {};  // of another run: a child, a successor
  std::string summary;      // what the run does: "waits for approval manager, open since …"
  std::optional<TimeMs> since = std::nullopt;
  std::optional<TimeMs> until = std::nullopt;  // when it ends without an action
  std::vector<NextAction> next_actions = {};
  std::vector<Cause> causes = {};
  std::uint64_t omitted = 0;  // more of the same that are not listed
};

struct Explanation {
  std::string run_id;
  std::string workflow;
  std::string version;
  std::string queue;
  std::string status;
  bool terminal = false;
  Reason reason = Reason::idle;
  std::string step;     // the one the reason is about; empty: none
  std::string summary;  // the whole answer in one sentence, down to what is outside
  std::vector<NextAction> next_actions;
  std::vector<Cause> causes;
  Payload evidence;
  Position position = {};
  TimeMs now = {};
  // Where the attempts are that lease backends carry: an array, or empty. The journal does not know
  // it: only the process that is bound to the backends sets it.
  Payload backends = {};
};

// Other runs as of the same moment; empty when there is none.
using FindRun = std::function<Result<std::optional<RunSource>>(const RunId& run)>;

// An error is an error of `find`.
Result<Explanation> explain_run(const RunSource& source, const FindRun& find);
// The most important of its causes.
const Cause* main_cause(const Explanation& explanation);

JsonText to_json(const Explanation& explanation);

}  // namespace holdfast
