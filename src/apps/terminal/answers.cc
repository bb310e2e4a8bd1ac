#include "apps/terminal/answers.h"

#include <fmt/format.h>

#include <set>

#include "apps/terminal/show.h"
#include "base/json_writer.h"
#include "runs/view/run_snapshot.h"
#include "runs/view/view_words.h"

namespace holdfast {

namespace {

std::string line_of(const JsonText& json) { return std::string(json.view()) + '\n'; }

bool is_filtered(const RunFilter& filter) {
  return !filter.workflow.empty() || !filter.statuses.empty() || filter.started_from.has_value() ||
         filter.started_before.has_value() || !filter.attributes.empty();
}

// Plans and attempts say in many lines what the steps say in few.
std::string show_run_changes(const std::vector<JsonChange>& changes, const Style& style) {
  static const std::set<std::string, std::less<>> kDetails{
      "applied_runnables", "as_of",           "attempts",           "expired_attempts",
      "manual_state",      "next_visible_at", "pending_dispatches", "pending_results",
      "planned_runnables", "revisions",       "scheduled_attempts", "visible_attempts"};
  std::vector<JsonChange> shown;
  for (const JsonChange& change : changes) {
    if (!kDetails.contains(change.path.substr(0, change.path.find_first_of(".[")))) {
      shown.push_back(change);
    }
  }
  std::string text = show_changes(shown, style);
  if (shown.size() < changes.size()) {
    text += fmt::format("({} more in plans, attempts and revisions: --json)\n",
                        changes.size() - shown.size());
  }
  return text;
}

}  // namespace

Style with_space(Style style) {
  if (!style.command_suffix.empty() && !style.command_suffix.starts_with(' ')) {
    style.command_suffix.insert(0, 1, ' ');
  }
  return style;
}

Result<std::string> Answers::list(RunListQuery query, const At& at) {
  HOLDFAST_TRY(const Moment moment, inspector_.moment(at));
  HOLDFAST_TRY(RunRows page, list_runs(journal_, query, moment));
  // A filter that few fit gives short pages: go on until there is something to show.
  while (page.rows.empty() && !page.next.empty()) {
    query.cursor = page.next;
    HOLDFAST_TRY(page, list_runs(journal_, query, moment));
  }
  if (form_ == Form::json) {
    return line_of(to_json(page, moment));
  }
  if (page.rows.empty() && is_filtered(query.filter)) {
    return fmt::format("No run matches. All runs: holdfast list{}\n", style_.command_suffix);
  }
  return show_list(page, moment.now, style_);
}

Result<std::string> Answers::run(const RunId& run, const At& at) {
  if (form_ == Form::json) {
    HOLDFAST_TRY(const JsonText json, inspector_.snapshot(run, at));
    return line_of(json);
  }
  HOLDFAST_TRY(const Moment moment, inspector_.moment(at, run));
  HOLDFAST_TRY(const StoredRun stored, read_stored_run(journal_, run, moment.position));
  HOLDFAST_TRY(const Explanation why, inspector_.explain(run, at));
  return show_run(stored.source(moment.position, moment.now), why, style_);
}

Result<std::string> Answers::explain(const RunId& run, const At& at) {
  HOLDFAST_TRY(const Explanation why, inspector_.explain(run, at));
  return form_ == Form::json ? line_of(to_json(why)) : show_explanation(why, style_);
}

Result<std::string> Answers::graph(const RunId& run, const At& at, const GraphWish& wish) {
  HOLDFAST_TRY(const RunGraph graph, inspector_.graph(run, at));
  return graph_answer(graph, wish, form_, style_);
}

Result<std::string> Answers::timeline(const RunId& run, const At& at, TimelineForm form) {
  HOLDFAST_TRY(const Timeline timeline, inspector_.timeline(run, at));
  if (form_ == Form::json) {
    return line_of(to_json(timeline));
  }
  if (form == TimelineForm::bars) {
    return show_timeline(timeline, style_);
  }
  std::string text;
  for (const TimelineEvent& event : timeline.events) {
    text += show_event(event, timeline.started_at, style_);
  }
  return text;
}

Result<std::string> Answers::diff(const RunId& run, const At& from, const At& to) {
  HOLDFAST_TRY(const auto difference, inspector_.diff(run, from, to));
  return form_ == Form::json ? line_of(to_json(difference))
                             : show_run_changes(difference.changes, style_);
}

Result<std::string> Answers::status(const At& at) {
  HOLDFAST_TRY(const StoreStatus status, inspector_.status(at));
  return form_ == Form::json ? line_of(to_json(status)) : show_status(status, style_);
}

Result<Answers::Diagnosed> Answers::doctor(const At& at) {
  HOLDFAST_TRY(const Diagnosis diagnosis, inspector_.doctor(at));
  return Diagnosed{
      form_ == Form::json ? line_of(to_json(diagnosis)) : show_diagnosis(diagnosis, style_),
      diagnosis.verdict() == Check::Verdict::fault};
}

Result<std::string> Answers::workflows() {
  HOLDFAST_TRY(const auto known, inspector_.workflows());
  return form_ == Form::json ? workflows_json("workflows", known) : show_workflows(known);
}

Result<std::string> Answers::workflow(std::string_view name) {
  HOLDFAST_TRY(const auto definition, inspector_.workflow(name));
  HOLDFAST_TRY(const auto versions, inspector_.versions(definition->workflow().view()));
  return workflow_answer(*definition, versions, form_, style_);
}

Result<std::string> Answers::workflow_versions(std::string_view name) {
  HOLDFAST_TRY(const auto definition, inspector_.workflow(name));
  HOLDFAST_TRY(const auto versions, inspector_.versions(definition->workflow().view()));
  return form_ == Form::json ? workflows_json("versions", versions) : show_workflows(versions);
}

Result<std::string> Answers::workflow_diff(std::string_view before, std::string_view after) {
  HOLDFAST_TRY(const auto old_one, inspector_.workflow(before));
  HOLDFAST_TRY(const auto new_one, inspector_.workflow(after));
  return workflow_diff_answer({before, *old_one}, {after, *new_one}, form_, style_);
}

std::string graph_answer(const RunGraph& graph, const Answers::GraphWish& wish, Form form,
                         const Style& style) {
  if (form == Form::json) {
    return line_of(to_json(graph, wish.history));
  }
  switch (wish.form) {
    case GraphForm::tree:
      break;
    case GraphForm::dot:
      return to_dot(graph);
    case GraphForm::mermaid:
      return to_mermaid(graph);
  }
  return show_graph(graph, style);
}

Result<std::string> show_steered(Answers& answers, const RunId& run, std::string_view did,
                                 Position before, const Explanation& why, const Style& style) {
  const std::string suffix = with_space(style).command_suffix;
  std::string text = fmt::format("run {} {}\n", to_string(run), did);
  HOLDFAST_TRY(const Timeline timeline, answers.inspector().timeline(run));
  for (const TimelineEvent& event : timeline.events) {
    if (event.type == "log_written" && event.position > before) {
      text += event.summary + '\n';
    }
  }
  text += fmt::format("it {}\n", why.summary);
  for (const NextAction& next : why.next_actions) {
    if (!why.terminal && !next.command.empty()) {
      text += fmt::format("next: {}\n  {}{}\n", next.summary, next.command, suffix);
    }
  }
  return text;
}

std::string event_deed(std::string_view event) {
  return fmt::format("received event {}", harmless(event));
}
std::string approval_deed(std::string_view actor) {
  return fmt::format("is approved by {}", harmless(actor));
}
std::string rejection_deed(std::string_view actor) {
  return fmt::format("is rejected by {}", harmless(actor));
}

}  // namespace holdfast
