#include "runs/language/data/iso8601.h"
#include "runs/service/run_commands.h"

namespace holdfast {

namespace {

Result<TimeMs> time_of(const std::string& text, std::string_view field) {
  const auto time = parse_iso8601(text);
  if (!time.has_value()) {
    return Error{ErrorCode::invalid_argument,
                 "\"" + text + "\" is not a time such as 2026-11-16T08:30:00Z"}
        .with("field", "intended_window." + std::string(field));
  }
  return *time;
}

DeliveredRun::Outcome result_of(DeliveryOutcome outcome) {
  switch (outcome) {
    case DeliveryOutcome::started:
      return DeliveredRun::Outcome::started;
    case DeliveryOutcome::existing:
      return DeliveredRun::Outcome::existing;
    case DeliveryOutcome::skipped:
      return DeliveredRun::Outcome::skipped;
    case DeliveryOutcome::paused:
      return DeliveredRun::Outcome::paused;
  }
  return DeliveredRun::Outcome::started;
}

}  // namespace

Result<TurnFunction<Delivered>> RunCommands::deliver(std::string_view workflow,
                                                     std::string_view trigger,
                                                     const DeliverRequest& request) {
  DeliverWindow command;
  command.workflow = SharedText(workflow);
  command.trigger = SharedText(trigger);
  command.delivered.signal_id = request.signal_id;
  command.actor = request.actor;
  command.comment = request.comment;
  command.fresh = RunId{make_uuid(clock_.now(), random_)};
  if (const auto& window = request.intended_window; window.has_value()) {
    HOLDFAST_TRY(const TimeMs start_at, time_of(window->start_at, "start_at"));
    HOLDFAST_TRY(const TimeMs end_at, time_of(window->end_at, "end_at"));
    command.delivered.window = ScheduleWindow{start_at, end_at};
  }
  return TurnFunction<Delivered>([command](Turn& turn) { return deliver_window(turn, command); });
}

DeliverResponse deliver_response(const Delivered& delivered) {
  return {result_of(delivered.outcome),
          delivered.run_id == RunId() ? std::string() : to_string(delivered.run_id)};
}

}  // namespace holdfast
