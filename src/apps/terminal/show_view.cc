#include "apps/terminal/show_view.h"

#include <fmt/format.h>

#include <set>

#include "apps/terminal/show.h"
#include "runs/view/view_words.h"

namespace holdfast {

namespace {

// Plans and attempts repeat in many lines what the steps show in few.
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

struct ViewText {
  const Style& style;

  std::string operator()(const RunPageView& page) const {
    return page.rows.rows.empty() && page.filtered
               ? fmt::format("No run matches. All runs: holdfast list{}\n", style.command_suffix)
               : show_list(page.rows, page.moment.now, style);
  }
  std::string operator()(const JsonText& json) const { return std::string(json.view()) + '\n'; }
  std::string operator()(const RunDetails& details) const {
    return show_run(details.stored.source(details.moment.position, details.moment.now), details.why,
                    style);
  }
  std::string operator()(const Explanation& why) const { return show_explanation(why, style); }
  std::string operator()(const GraphView& view) const {
    switch (view.form) {
      case GraphForm::tree:
        break;
      case GraphForm::dot:
        return to_dot(view.graph);
      case GraphForm::mermaid:
        return to_mermaid(view.graph);
    }
    return show_graph(view.graph, style);
  }
  std::string operator()(const TimelineView& view) const {
    if (!view.events) {
      return show_timeline(view.timeline, style);
    }
    std::string text;
    for (const TimelineEvent& event : view.timeline.events) {
      text += show_event(event, view.timeline.started_at, style);
    }
    return text;
  }
  std::string operator()(const Inspector::Difference& difference) const {
    return show_run_changes(difference.changes, style);
  }
  std::string operator()(const StoreStatus& status) const { return show_status(status, style); }
  std::string operator()(const Diagnosis& diagnosis) const {
    return show_diagnosis(diagnosis, style);
  }
  std::string operator()(const WorkflowsView& view) const { return show_workflows(view.workflows); }
  std::string operator()(const WorkflowView& view) const { return show_workflow(view, style); }
  std::string operator()(const WorkflowDiffView& view) const {
    return show_workflow_diff(view, style);
  }
};

}  // namespace

Style with_space(Style style) {
  if (!style.command_suffix.empty() && !style.command_suffix.starts_with(' ')) {
    style.command_suffix.insert(0, 1, ' ');
  }
  return style;
}

std::string show_view(const View& view, const Style& style) {
  const Style spaced = with_space(style);
  return std::visit(ViewText{spaced}, view);
}

Result<std::string> show_command_result(Inspector& inspector, const RunId& run,
                                        std::string_view did, Position before,
                                        const Explanation& why, const Style& style) {
  const std::string suffix = with_space(style).command_suffix;
  std::string text = fmt::format("run {} {}\n", to_string(run), did);
  HOLDFAST_TRY(const Timeline timeline, inspector.timeline(run));
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

std::string event_result(std::string_view event) {
  return fmt::format("received event {}", harmless(event));
}
std::string mutation_result(std::string_view mutation_id) {
  return fmt::format("has mutation {}", harmless(mutation_id));
}
std::string approval_result(std::string_view actor) {
  return fmt::format("is approved by {}", harmless(actor));
}
std::string rejection_result(std::string_view actor) {
  return fmt::format("is rejected by {}", harmless(actor));
}

}  // namespace holdfast
