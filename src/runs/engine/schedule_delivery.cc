#include "runs/engine/schedule_delivery.h"

#include "runs/engine/step_chain.h"

namespace holdfast {

namespace {

Result<const TriggerSpec*> cron_trigger(const Definition& definition, const SharedText& name) {
  const Trigger* trigger = definition.find_trigger(name.view());
  if (trigger != nullptr && trigger->spec.cron.has_value()) {
    return &trigger->spec;
  }
  const std::string workflow = definition.workflow().str();
  return Error{ErrorCode::invalid_trigger,
               trigger == nullptr
                   ? "workflow \"" + workflow + "\" has no trigger \"" + name.str() + "\""
                   : "trigger \"" + name.str() + "\" of workflow \"" + workflow +
                         "\" has no cron; start it with a call"}
      .with("workflow", workflow)
      .with("trigger", name.view());
}

// The run of an earlier delivery, on whichever definition.
Result<bool> was_delivered(Turn& turn, const StartRun& start, const DeliveredWindow& delivered) {
  HOLDFAST_TRY(const bool exists, turn.state().runs().exists(start.run_id));
  if (!exists) {
    return false;
  }
  HOLDFAST_TRY(const RunProjection* run, turn.state().runs().get(start.run_id));
  if (!run->started().has_value()) {
    return false;
  }
  const auto recorded = recorded_schedule(*run->started());
  if (!recorded.has_value() || recorded->trigger != start.trigger.view() ||
      recorded->signal_id != start.source.signal_id.view()) {
    return Error{ErrorCode::run_exists, "the run of this delivery was started in another way"}.with(
        "run_id", to_string(start.run_id));
  }
  if (delivered.window.has_value() && !is_for(*recorded, *delivered.window)) {
    return Error{ErrorCode::idempotency_conflict,
                 "the signal id was delivered for another window, from " +
                     recorded->start_at.value_or("?") + " to " + recorded->end_at.value_or("?")}
        .with("field", "signal_id")
        .with("run_id", to_string(start.run_id));
  }
  return true;
}

}  // namespace

Result<Delivered> deliver_window(Turn& turn, const DeliverWindow& command) {
  HOLDFAST_TRY(const auto definition, current_definition(turn, command.workflow.view()));
  HOLDFAST_TRY(const TriggerSpec* const trigger, cron_trigger(*definition, command.trigger));
  HOLDFAST_CHECK(check_delivery(*trigger, command.delivered));
  StartRun start = start_of_schedule(
      {definition, *trigger, command.delivered, StartedBy::scheduler, command.fresh}, turn.now());
  start.source.actor = command.actor;
  start.source.comment = command.comment;
  const bool counted = trigger->cron->idempotency != CronIdempotency::none;
  if (counted) {
    HOLDFAST_TRY(const bool before, was_delivered(turn, start, command.delivered));
    if (before) {
      const bool skips = trigger->cron->idempotency == CronIdempotency::skip_duplicate;
      return Delivered{start.run_id, skips ? DeliveryOutcome::skipped : DeliveryOutcome::existing};
    }
  }
  if (turn.state().registry().is_paused(
          schedule_name(command.workflow.view(), command.trigger.view()))) {
    return Delivered{RunId(), DeliveryOutcome::paused};
  }
  HOLDFAST_CHECK(start_run(turn, start, counted ? IdOrigin::given : IdOrigin::fresh));
  return Delivered{start.run_id, DeliveryOutcome::started};
}

}  // namespace holdfast
