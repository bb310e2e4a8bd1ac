// Deadline: how urgent a step is. It is only shown; nothing happens when it passes.
#pragma once

#include <optional>
#include <string_view>

#include "runs/run/run_projection.h"

namespace holdfast {

struct Deadline {
  TimeMs due_at;
  TimeMs due_soon_at;
  TimeMs escalated_at;
  SharedText escalation;
  SharedText target;

  [[nodiscard]] std::string_view status(TimeMs now) const {
    if (now < due_soon_at) {
      return "on_time";
    }
    if (now < due_at) {
      return "due_soon";
    }
    return now < escalated_at ? "overdue" : "escalated";
  }

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.required("due_at", self.due_at);
    v.required("due_soon_at", self.due_soon_at);
    v.required("escalated_at", self.escalated_at);
    v.optional("escalation", self.escalation);
    v.optional("target", self.target);
  }
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
