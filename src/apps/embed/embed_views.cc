#include "apps/embed/embed_views.h"

#include "runs/view/run_snapshot.h"
#include "runs/view/step_state.h"

namespace holdfast {

namespace {

std::string text_of(const Payload& payload) { return std::string(payload.view()); }

}  // namespace

RunView view_of(const RunSource& source) {
  const RunProjection& run = *source.run;
  RunView view;
  view.run_id = to_string(run.run_id());
  view.status = to_text(run.status());
  view.terminal = run.is_terminal();
  if (run.started().has_value()) {
    const RunStarted& started = *run.started();
    view.workflow = started.workflow.str();
    view.version = run.pinned_definition().version.str();
    view.queue = started.queue.empty() ? std::string(kDefaultQueue) : started.queue.str();
    view.started_at_ms = run.started_at().value;
    view.input = text_of(started.input);
    view.context = text_of(run.context());
  }
  if (run.is_terminal()) {
    view.ended_at_ms = run.terminal_at().value;
    view.error = text_of(run.terminal()->error);
    if (run.terminal()->status == TerminalStatus::completed) {
      view.result = run.terminal()->result.empty() ? view.context : text_of(run.terminal()->result);
    }
  }
  if (const RunId parent = parent_of(run); !parent.empty()) {
    view.parent_run_id = to_string(parent);
  }
  for (const auto& [id, child] : run.children()) {
    view.children.push_back(to_string(id));
  }
  for (const StepState& state : step_states(source)) {
    view.steps.push_back({state.step.str(), std::string(to_text(state.status)), state.attempts,
                          text_of(state.result), text_of(state.error)});
  }
  view.json = std::string(run_snapshot(source).view());
  return view;
}

RunExplanation public_form(const Explanation& explanation) {
  RunExplanation form;
  form.run_id = explanation.run_id;
  form.status = explanation.status;
  form.terminal = explanation.terminal;
  form.reason = to_text(explanation.reason);
  form.step = explanation.step;
  form.summary = explanation.summary;
  for (const NextAction& next : explanation.next_actions) {
    form.next_steps.push_back(
        {next.action, next.summary, next.command, next.at.value_or(TimeMs{}).value});
  }
  form.json = std::string(to_json(explanation).view());
  return form;
}

RunPage public_form(const RunRows& rows) {
  RunPage page;
  page.next = rows.next;
  for (const RunRow& row : rows.rows) {
    page.runs.push_back({row.run_id, row.workflow, row.queue, row.status, row.terminal,
                         row.listed_at.value, row.started_at.value_or(TimeMs{}).value,
                         row.ended_at.value_or(TimeMs{}).value, row.waits_at, row.error,
                         row.parent});
  }
  return page;
}

}  // namespace holdfast
