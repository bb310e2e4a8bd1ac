// Deadline: how urgent a step is. It is only shown; nothing happens when it passes.
#pragma once

#include <optional>

#include "runs/run/run_projection.h"

namespace holdfast {

HOLDFAST_ENUM(Urgency, on_time, due_soon, overdue, escalated);

struct Deadline {
  TimeMs due_at;
  TimeMs due_soon_at;
  TimeMs escalated_at;
  SharedText escalation;
  SharedText target;

  [[nodiscard]] Urgency status(TimeMs now) const {
    if (now < due_soon_at) {
      return Urgency::on_time;
    }
    if (now < due_at) {
      return Urgency::due_soon;
    }
    return now < escalated_at ? Urgency::overdue : Urgency::escalated;
  }

  HOLDFAST_FIELDS(required(due_at), required(due_soon_at), required(escalated_at),
                  optional(escalation), optional(target));
};

// Of a plan; empty when its step has none.
inline std::optional<Deadline> deadline_of(const Runnable& plan) {
  if (plan.deadline.empty()) {
    return std::nullopt;
  }
  auto stored = from_json<Deadline>(plan.deadline.view());
  return stored.ok() ? std::optional(std::move(stored).value()) : std::nullopt;
}

}  // namespace holdfast
