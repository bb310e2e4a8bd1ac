// Windows of cron triggers that a scheduler outside of the engine delivers. A window that was
// delivered before, or that the engine itself started, has a run: how often it is delivered, by
// whom, and what was registered meanwhile make no difference.
#pragma once

#include "runs/engine/turn.h"
#include "runs/run/scheduled_start.h"

namespace holdfast {

// The outcome of a delivery. paused: the schedule is paused, so the window has no run.
HOLDFAST_ENUM(DeliveryOutcome, started, existing, skipped, paused);

struct DeliverWindow {
  SharedText workflow;
  SharedText trigger;
  DeliveredWindow delivered;
  SharedText actor;
  SharedText comment;
  RunId fresh;  // the id of the run when the trigger counts no deliveries
};
struct Delivered {
  RunId run_id;  // empty when paused
  DeliveryOutcome outcome = DeliveryOutcome::started;
};
// unknown_workflow; invalid_trigger when the trigger is none of cron; idempotency_conflict when the
// signal id was delivered for another window; invalid_argument.
Result<Delivered> deliver_window(Turn& turn, const DeliverWindow& command);

}  // namespace holdfast
