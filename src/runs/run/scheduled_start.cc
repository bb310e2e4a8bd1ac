#include "runs/run/scheduled_start.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/encoding.h"
#include "base/hash.h"
#include "runs/language/data/iso8601.h"
#include "runs/run/run_planning.h"

namespace holdfast {

namespace {

// The engine names the end of the last window so.
constexpr std::string_view kNever = "never";

std::string end_text(const ScheduleWindow& window) {
  return window.end_at.has_value() ? iso8601_time(*window.end_at) : std::string(kNever);
}

JsonText schedule_context(const ScheduledStart& scheduled, const std::string& signal, bool counted,
                          TimeMs now) {
  const CronSpec& spec = *scheduled.trigger.cron;
  JsonWriter writer;
  writer.begin_object().key("schedule").begin_object();
  writer.member("workflow", scheduled.definition->workflow().view());
  writer.member("trigger_name", scheduled.trigger.name.view());
  writer.member("cron_expression", spec.expression.view());
  writer.member("timezone", spec.timezone.view());
  writer.member("received_at", iso8601_time(now));
  if (!signal.empty()) {
    writer.member("signal_id", signal);
  }
  writer.member("idempotency", to_text(spec.idempotency));
  if (counted) {
    writer.member("idempotency_key", signal);
  }
  if (const auto& window = scheduled.delivered.window; window.has_value()) {
    writer.key("intended_window").begin_object();
    writer.member("start_at", iso8601_time(window->start_at));
    writer.member("end_at", end_text(*window)).end_object();
  }
  writer.end_object().end_object();
  return std::move(writer).take_text();
}

std::optional<std::string> text_of(const Json& object, std::string_view name) {
  const auto member = object.find(name);
  const auto text = member.has_value() ? member->string() : std::nullopt;
  return text.has_value() ? std::optional<std::string>(*text) : std::nullopt;
}

}  // namespace

std::string derived_signal_id(std::string_view workflow, std::string_view trigger,
                              const ScheduleWindow& window) {
  const std::string start_at = iso8601_time(window.start_at);
  const std::string end_at = end_text(window);
  std::string parts;
  for (const std::string_view part :
       {workflow, trigger, std::string_view(start_at), std::string_view(end_at)}) {
    parts += fmt::format("{}{}:{}", parts.empty() ? "" : "|", part.size(), part);
  }
  const Digest digest = sha256(parts);
  return "sha256:" + to_base64url({digest.data(), digest.size()});
}

Result<void> check_delivery(const TriggerSpec& trigger, const DeliveredWindow& delivered) {
  const std::string_view signal = delivered.signal_id.view();
  const bool printable = std::none_of(signal.begin(), signal.end(),
                                      [](char c) { return static_cast<unsigned char>(c) < 0x20; });
  if (signal.size() > kMaxSignalIdBytes || !printable) {
    return Error{ErrorCode::invalid_argument,
                 fmt::format("the signal id must have at most {} bytes and no control characters",
                             kMaxSignalIdBytes)}
        .with("field", "signal_id");
  }
  if (const auto& window = delivered.window;
      window.has_value() && window->end_at.has_value() && *window->end_at <= window->start_at) {
    return Error{ErrorCode::invalid_argument,
                 fmt::format("the window must end after its start: {} is not after {}",
                             iso8601_time(*window->end_at), iso8601_time(window->start_at))}
        .with("field", "intended_window");
  }
  if (signal.empty() && !delivered.window.has_value() &&
      trigger.cron->idempotency != CronIdempotency::none) {
    return Error{ErrorCode::invalid_argument,
                 "a delivery needs a window or a signal id, by which a repeated delivery is "
                 "recognized; only a trigger with idempotency: none needs neither"}
        .with("field", "intended_window");
  }
  return {};
}

std::optional<RecordedSchedule> recorded_schedule(const RunStarted& started) {
  const auto context = Json::parse(or_empty(started.context).view());
  const auto schedule = context.ok() ? context.value().find("schedule") : std::nullopt;
  if (!schedule.has_value()) {
    return std::nullopt;
  }
  RecordedSchedule recorded;
  recorded.trigger = text_of(*schedule, "trigger_name").value_or("");
  recorded.signal_id = text_of(*schedule, "signal_id").value_or("");
  if (const auto window = schedule->find("intended_window")) {
    recorded.start_at = text_of(*window, "start_at");
    recorded.end_at = text_of(*window, "end_at");
  }
  return recorded;
}

bool is_for(const RecordedSchedule& recorded, const ScheduleWindow& window) {
  return recorded.start_at == iso8601_time(window.start_at) && recorded.end_at == end_text(window);
}

StartRun start_of_schedule(const ScheduledStart& scheduled, TimeMs now) {
  HOLDFAST_ASSERT(scheduled.trigger.cron.has_value());
  const DeliveredWindow& delivered = scheduled.delivered;
  const std::string_view workflow = scheduled.definition->workflow().view();
  const std::string_view trigger = scheduled.trigger.name.view();
  std::string signal = delivered.signal_id.str();
  if (signal.empty() && delivered.window.has_value()) {
    signal = derived_signal_id(workflow, trigger, *delivered.window);
  }
  // What the engine starts by itself always has a time, and that has one run.
  const bool counted = scheduled.started_by == StartedBy::schedule ||
                       scheduled.trigger.cron->idempotency != CronIdempotency::none;
  HOLDFAST_ASSERT(!counted || !signal.empty());
  StartRun command;
  command.run_id = counted ? derive_run_id({"cron", workflow, trigger, signal}) : scheduled.fresh;
  command.definition = scheduled.definition;
  command.trigger = scheduled.trigger.name;
  command.context = schedule_context(scheduled, signal, counted, now);
  command.started_by = scheduled.started_by;
  command.source.signal_id = signal;
  command.source.idempotency_key = counted ? signal : std::string();
  return command;
}

}  // namespace holdfast
