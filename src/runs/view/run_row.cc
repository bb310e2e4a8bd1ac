#include "runs/view/run_row.h"

#include <fmt/format.h>

#include "base/json_slice.h"
#include "runs/language/data/canonical_json.h"
#include "runs/run/redact.h"
#include "runs/view/run_source.h"
#include "runs/view/view_words.h"

namespace holdfast {

void fill_in(RunRow& row, const RunProjection& run) {
  row.status = to_text(run.status());
  row.terminal = run.is_terminal();
  row.archived = run.archived().has_value();
  row.revision = run.revision().value;
  row.anomalies = run.anomalies().size();
  row.attributes = run.attributes();
  if (run.started().has_value()) {
    row.started_at = run.started_at();
    row.version = run.pinned_definition().version.str();
    const RunId& source = run.started()->replayed_from_run_id;
    row.replayed_from = source.empty() ? "" : to_string(source);
  }
  if (run.is_terminal()) {
    row.ended_at = run.terminal_at();
    row.error = run.terminal()->error.empty() ? "" : error_text(run.terminal()->error);
  } else if (const auto manual = run.manual_state()) {
    row.waits_at = manual->step.str();
    row.error = manual->error.empty() ? "" : error_text(manual->error);
  }
  const RunId parent = parent_of(run);
  row.parent = parent.empty() ? "" : to_string(parent);
}

void write_json(JsonWriter& json, const RunRow& row) {
  json.begin_object().member("run_id", row.run_id).member("workflow", row.workflow);
  json.optional("version", row.version).optional("queue", row.queue);
  json.member("status", row.status).member("terminal", row.terminal);
  json.member("listed_at", row.listed_at).optional("started_at", row.started_at);
  json.optional("ended_at", row.ended_at).optional("waits_at", row.waits_at);
  json.optional("error", row.error).optional("parent_run_id", row.parent);
  json.optional("replayed_from", row.replayed_from).member("archived", row.archived);
  json.object("search_attributes", [&] {
    for (const auto& [name, value] : row.attributes) {
      json.member(name, JsonText::trusted(std::string(redact(name, value).view())));
    }
  });
  json.member("revision", row.revision).member("anomalies", row.anomalies).end_object();
}

Result<void> check_run_status(std::string_view status) {
  std::string all;
  for (const std::string_view known : kEnumNames<RunStatus>) {
    if (known == status) {
      return {};
    }
    all += all.empty() ? "" : ", ";
    all += known;
  }
  return Error{ErrorCode::invalid_argument,
               fmt::format("unknown status '{}'; the statuses of a run are: {}", status, all)}
      .with("field", "status");
}

Result<void> RunFilter::select(std::span<const std::string> wanted_statuses,
                               std::string_view wanted) {
  for (const std::string& status : wanted_statuses) {
    HOLDFAST_CHECK(check_run_status(status));
    statuses.insert(status);
  }
  if (wanted.empty()) {
    return {};
  }
  JsonSlicer slicer(wanted.starts_with('{') ? wanted : "");
  while (const auto member = slicer.next()) {
    attributes[std::string(member->name)] = canonical_json(member->value);
  }
  if (!slicer.valid()) {
    return Error{ErrorCode::invalid_argument, "attributes must be a JSON object"}.with(
        "field", "attributes");
  }
  return {};
}

bool RunFilter::matches(const RunRow& row) const {
  const TimeMs began = row.started_at.value_or(row.listed_at);
  if ((!workflow.empty() && row.workflow != workflow) ||
      (!statuses.empty() && !statuses.contains(row.status)) || (row.archived && !archived) ||
      (started_from.has_value() && began < *started_from) ||
      (started_before.has_value() && began >= *started_before)) {
    return false;
  }
  for (const auto& [name, wanted] : attributes) {
    const auto found = row.attributes.find(name);
    if (found == row.attributes.end() || canonical_json(found->second.view()) != wanted) {
      return false;
    }
  }
  return true;
}

std::string RunFilter::text() const {
  JsonWriter json;
  json.begin_object().member("workflow", workflow).member("archived", archived);
  json.list("statuses", statuses, [&](const std::string& status) { json.string(status); });
  json.optional("from", started_from).optional("before", started_before);
  json.object("attributes", [&] {
    for (const auto& [name, value] : attributes) {
      json.member(name, value);
    }
  });
  return std::move(json.end_object()).take();
}

}  // namespace holdfast
