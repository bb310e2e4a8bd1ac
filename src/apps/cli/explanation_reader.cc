#include "apps/cli/explanation_reader.h"

#include <algorithm>

namespace holdfast::cli {

namespace {

std::string text_of(const Json& json, std::string_view name) {
  const auto found = json.find(name);
  return std::string(found.has_value() ? found->string().value_or("") : "");
}

std::optional<TimeMs> time_of(const Json& json, std::string_view name) {
  const auto found = json.find(name);
  const auto ms = found.has_value() ? found->integer() : std::nullopt;
  return ms.has_value() ? std::optional(TimeMs{*ms}) : std::nullopt;
}

std::vector<NextAction> actions_of(const Json& json) {
  std::vector<NextAction> actions;
  const auto list = json.find("next_actions");
  for (std::size_t i = 0; list.has_value() && i < list->size(); ++i) {
    const Json item = list->item(i);
    actions.push_back({text_of(item, "action"), text_of(item, "summary"), text_of(item, "command"),
                       time_of(item, "at")});
  }
  return actions;
}

// A reason that only a newer server knows needs no decision.
Reason reason_of(const Json& json) {
  const std::string name = text_of(json, "reason");
  const auto& names = kEnumNames<Reason>;
  const auto* const found = std::find(std::begin(names), std::end(names), name);
  return found == std::end(names) ? Reason::idle
                                  : static_cast<Reason>(std::distance(std::begin(names), found));
}

std::vector<Cause> causes_of(const Json& json) {
  std::vector<Cause> causes;
  const auto list = json.find("causes");
  for (std::size_t i = 0; list.has_value() && i < list->size(); ++i) {
    const Json item = list->item(i);
    Cause cause;
    cause.reason = reason_of(item);
    cause.waits_for = text_of(item, "waits_for");
    cause.step = text_of(item, "step");
    cause.summary = text_of(item, "summary");
    cause.until = time_of(item, "until");
    cause.next_actions = actions_of(item);
    cause.causes = causes_of(item);
    causes.push_back(std::move(cause));
  }
  return causes;
}

}  // namespace

Result<Explanation> read_explanation(std::string_view json) {
  HOLDFAST_TRY(const Json parsed, Json::parse(json));
  Explanation why;
  why.run_id = text_of(parsed, "run_id");
  why.summary = text_of(parsed, "summary");
  why.reason = reason_of(parsed);
  why.next_actions = actions_of(parsed);
  why.causes = causes_of(parsed);
  const auto as_of = parsed.find("as_of");
  why.now = as_of.has_value() ? time_of(*as_of, "time").value_or(TimeMs{}) : TimeMs{};
  return why;
}

}  // namespace holdfast::cli
