#include "apps/server/server_filter.h"

#include "runs/inspect/moment.h"

namespace holdfast {

namespace {

// A time, or an age.
Result<TimeMs> time_of(std::string_view field, const std::string& text, TimeMs now) {
  const auto at = At::parse(text);
  if (at.ok() && at.value().kind == At::Kind::time) {
    return at.value().time;
  }
  if (at.ok() && at.value().kind == At::Kind::ago) {
    return TimeMs{now.value - static_cast<std::int64_t>(at.value().number)};
  }
  return Error{ErrorCode::invalid_argument,
               std::string(field) +
                   " must be a time (2026-11-16T14:02:00Z) or an age (10m), not \"" + text + "\""}
      .with("field", field);
}

Result<std::string> workflow_of(const RunFilterRequest& request, const Caller& caller) {
  if (!request.workflow.empty()) {
    if (!caller.may_see(request.workflow)) {
      return Error{ErrorCode::permission_denied,
                   "token \"" + caller.name + "\" is limited to other workflows"}
          .with("workflow", request.workflow);
    }
    return request.workflow;
  }
  if (caller.workflows.size() > 1) {
    return Error{ErrorCode::permission_denied,
                 "token \"" + caller.name + "\" is limited to some workflows; name one in workflow"}
        .with("field", "workflow");
  }
  return caller.workflows.empty() ? std::string() : caller.workflows.front().str();
}

}  // namespace

Result<RunFilter> filter_of(const RunFilterRequest& request, const Caller& caller, TimeMs now) {
  RunFilter filter;
  HOLDFAST_TRY(filter.workflow, workflow_of(request, caller));
  if (!request.since.empty()) {
    HOLDFAST_TRY(filter.started_from, time_of("since", request.since, now));
  }
  if (!request.until.empty()) {
    HOLDFAST_TRY(filter.started_before, time_of("until", request.until, now));
  }
  if (request.attributes.view() == "{}") {
    return Error{ErrorCode::invalid_argument, "attributes must name at least one attribute"}.with(
        "field", "attributes");
  }
  HOLDFAST_CHECK(filter.select(request.statuses, request.attributes.view()));
  return filter;
}

}  // namespace holdfast
