#include "embed/views.h"

namespace holdfast {

namespace {

std::string text_of(const Payload& payload) { return std::string(payload.view()); }

}  // namespace

RunView view_of(const SnapshotSource& source) {
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
    view.steps.push_back({state.step.str(), std::string(state.status), state.attempts,
                          text_of(state.result), text_of(state.error)});
  }
  view.json = std::string(run_snapshot(source).view());
  return view;
}

}  // namespace holdfast
