#include "runs/engine/schedules.h"

#include <algorithm>

#include "runs/run/scheduled_start.h"

namespace holdfast {

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
      if (!trigger.spec.cron.has_value() || trigger.spec.cron->delivery == CronDelivery::external ||
          (was_set && setting->second.paused)) {
        continue;
      }
      const auto same = std::find_if(known.begin(), known.end(), [&](const Entry& entry) {
        return entry.definition->fingerprint() == definition.value()->fingerprint() &&
               entry.trigger.name == trigger.spec.name;
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
  Entry entry{definition, trigger, std::move(clock).value(), std::nullopt};
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
  // What was missed in between is not made up for: the next is the first that is still to come.
  due->next = end_at.has_value() && *end_at <= now ? due->clock.next(now) : end_at;
  const ScheduledStart scheduled{due->definition,
                                 due->trigger,
                                 {{}, ScheduleWindow{start_at, end_at}},
                                 StartedBy::schedule,
                                 {}};
  return Due{start_of_schedule(scheduled, now), start_at};
}

void Schedules::put_back(const Due& due) {
  for (Entry& entry : entries_) {
    if (entry.definition == due.start.definition && entry.trigger.name == due.start.trigger &&
        (!entry.next.has_value() || due.at < *entry.next)) {
      entry.next = due.at;
    }
  }
}

}  // namespace holdfast
