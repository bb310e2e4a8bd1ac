#include "runs/engine/schedules.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/encoding.h"
#include "base/hash.h"
#include "runs/language/data/iso8601.h"

namespace holdfast {

namespace {

// The time a run is for: from when it is due until the next one is.
struct Window {
  std::string start_at;
  std::string end_at;
};

std::string signal_id(const SharedText& workflow, const SharedText& trigger, const Window& window) {
  std::string parts;
  for (const std::string_view part :
       {workflow.view(), trigger.view(), std::string_view(window.start_at),
        std::string_view(window.end_at)}) {
    parts += fmt::format("{}{}:{}", parts.empty() ? "" : "|", part.size(), part);
  }
  const Digest digest = sha256(parts);
  return "sha256:" + to_base64url({digest.data(), digest.size()});
}

JsonText schedule_context(const SharedText& workflow, const SharedText& trigger,
                          const CronSpec& spec, const Window& window, const std::string& signal,
                          TimeMs now) {
  JsonWriter writer;
  writer.begin_object().key("schedule").begin_object();
  writer.member("workflow", workflow.view()).member("trigger_name", trigger.view());
  writer.member("cron_expression", spec.expression.view());
  writer.member("timezone", spec.timezone.view());
  writer.member("received_at", iso8601_time(now)).member("signal_id", signal);
  writer.member("idempotency", to_text(spec.idempotency)).member("idempotency_key", signal);
  writer.key("intended_window").begin_object();
  writer.member("start_at", window.start_at).member("end_at", window.end_at);
  writer.end_object().end_object().end_object();
  return std::move(writer).take_text();
}

}  // namespace

void Schedules::refresh(LiveState& state, Definitions& definitions, TimeMs now) {
  if (seen_ == state.registry().changes()) {
    return;
  }
  seen_ = state.registry().changes();
  std::vector<Entry> known = std::exchange(entries_, {});
  for (const auto& [workflow, registered] : state.registry().workflows()) {
    // A definition of a newer format is left to the processes that understand it.
    const auto definition = definitions.pinned(registered.fingerprint);
    if (!definition.ok()) {
      continue;
    }
    for (const Trigger& trigger : definition.value()->triggers()) {
      const auto setting = state.registry().schedules().find(
          schedule_name(workflow.view(), trigger.spec.name.view()));
      const bool was_set = setting != state.registry().schedules().end();
      if (!trigger.spec.cron.has_value() || (was_set && setting->second.paused)) {
        continue;
      }
      const auto same = std::find_if(known.begin(), known.end(), [&](const Entry& entry) {
        return entry.definition->fingerprint() == registered.fingerprint &&
               entry.trigger == trigger.spec.name;
      });
      if (same != known.end()) {
        entries_.push_back(std::move(*same));
        known.erase(same);
      } else {
        // Times that passed while the schedule was paused are not made up for.
        const TimeMs since = was_set ? std::max(registered.at, setting->second.at) : registered.at;
        add(definition.value(), trigger.spec, since, now);
      }
    }
  }
}

void Schedules::add(const std::shared_ptr<const Definition>& definition, const TriggerSpec& trigger,
                    TimeMs since, TimeMs now) {
  auto clock = CronClock::create(trigger.cron->expression.view(), trigger.cron->timezone.view());
  if (!clock.ok()) {
    return;
  }
  Entry entry{definition, trigger.name, *trigger.cron, std::move(clock).value(), std::nullopt};
  entry.next = entry.clock.next(now);
  if (trigger.cron->catch_up == CatchUp::latest) {
    const auto missed = entry.clock.previous(now);
    if (missed.has_value() && *missed >= since) {
      entry.next = missed;
    }
  }
  entries_.push_back(std::move(entry));
}

std::optional<TimeMs> Schedules::next() const {
  std::optional<TimeMs> next;
  for (const Entry& entry : entries_) {
    if (entry.next.has_value() && (!next.has_value() || *entry.next < *next)) {
      next = entry.next;
    }
  }
  return next;
}

std::optional<Schedules::Due> Schedules::take_due(TimeMs now) {
  const auto due =
      std::min_element(entries_.begin(), entries_.end(), [](const auto& left, const auto& right) {
        return left.next.has_value() && (!right.next.has_value() || *left.next < *right.next);
      });
  if (due == entries_.end() || !due->next.has_value() || *due->next > now) {
    return std::nullopt;
  }
  const TimeMs start_at = *due->next;
  const auto end_at = due->clock.next(start_at);
  const Window window{iso8601_time(start_at),
                      end_at.has_value() ? iso8601_time(*end_at) : std::string("never")};
  // What was missed in between is not made up for: the next is the first that is still to come.
  due->next = end_at.has_value() && *end_at <= now ? due->clock.next(now) : end_at;
  const SharedText& workflow = due->definition->workflow();
  const std::string signal = signal_id(workflow, due->trigger, window);
  StartRun command;
  command.run_id = derive_run_id({"cron", workflow.view(), due->trigger.view(), signal});
  command.definition = due->definition;
  command.trigger = due->trigger;
  command.context = schedule_context(workflow, due->trigger, due->spec, window, signal, now);
  command.started_by = StartedBy::schedule;
  command.source.signal_id = signal;
  command.source.idempotency_key = signal;
  return Due{std::move(command), start_at};
}

void Schedules::put_back(const Due& due) {
  for (Entry& entry : entries_) {
    if (entry.definition == due.start.definition && entry.trigger == due.start.trigger &&
        (!entry.next.has_value() || due.at < *entry.next)) {
      entry.next = due.at;
    }
  }
}

}  // namespace holdfast
