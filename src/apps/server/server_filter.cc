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
  return Error{ErrorCode::invalid_argument, std::string(field) +
                                                " is a time (2026-11-16T14:02:00Z) or an age "
                                                "(10m), not " +
                                                text}
      .with("field", field);
}

Result<std::string> workflow_of(const FilterBody& body, const Caller& caller) {
  if (!body.workflow.empty()) {
    if (!caller.may_see(body.workflow)) {
      return Error{ErrorCode::permission_denied,
                   "the token " + caller.name + " is limited to other workflows"}
          .with("workflow", body.workflow);
    }
    return body.workflow;
  }
  if (caller.workflows.size() > 1) {
    return Error{ErrorCode::permission_denied,
                 "the token " + caller.name + " is limited to some workflows: name one"}
        .with("field", "workflow");
  }
  return caller.workflows.empty() ? std::string() : caller.workflows.front().str();
}

}  // namespace

bool FilterBody::empty() const {
  return workflow.empty() && statuses.empty() && since.empty() && until.empty() &&
         attributes.empty();
}

Result<RunFilter> filter_of(const FilterBody& body, const Caller& caller, TimeMs now) {
  RunFilter filter;
  HOLDFAST_TRY(filter.workflow, workflow_of(body, caller));
  if (!body.since.empty()) {
    HOLDFAST_TRY(filter.started_from, time_of("since", body.since, now));
  }
  if (!body.until.empty()) {
    HOLDFAST_TRY(filter.started_before, time_of("until", body.until, now));
  }
  if (body.attributes.view() == "{}") {
    return Error{ErrorCode::invalid_argument, "attributes must name at least one attribute"}.with(
        "field", "attributes");
  }
  HOLDFAST_CHECK(filter.ask_for(body.statuses, body.attributes.view()));
  return filter;
}

}  // namespace holdfast
