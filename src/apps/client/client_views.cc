#include "apps/client/client_views.h"

#include <vector>

#include "apps/client/work_messages.h"
#include "runs/api/public_requests.h"

namespace holdfast::client {

namespace {

// The public structs, with the members as the server writes them.
struct RunRef {
  std::string run_id;

  static void visit(auto& self, auto& v) { v.optional("run_id", self.run_id); }
};

struct ProblemForm {
  std::string code;
  std::string detail;

  static void visit(auto& self, auto& v) {
    v.optional("code", self.code);
    v.optional("detail", self.detail);
  }
};

struct DefinitionForm {
  std::string version;

  static void visit(auto& self, auto& v) { v.optional("version", self.version); }
};

struct StepForm : StepView {
  Payload result_json;
  Payload error_json;

  static void visit(auto& self, auto& v) {
    v.required("name", self.name);
    v.required("status", self.status);
    v.optional("attempts", self.attempts);
    v.optional("result", self.result_json);
    v.optional("error", self.error_json);
  }
};

struct SnapshotForm : RunView {
  DefinitionForm definition;
  Payload input_json;
  Payload context_json;
  Payload result_json;
  Payload error_json;
  RunRef parent;
  std::vector<RunRef> child_runs;
  std::vector<StepForm> step_forms;

  static void visit(auto& self, auto& v) {
    v.required("run_id", self.run_id);
    v.required("status", self.status);
    v.optional("terminal", self.terminal);
    v.optional("workflow", self.workflow);
    v.optional("queue", self.queue);
    v.optional("started_at", self.started_at_ms);
    v.optional("ended_at", self.ended_at_ms);
    v.optional("definition", self.definition);
    v.optional("input", self.input_json);
    v.optional("context", self.context_json);
    v.optional("result", self.result_json);
    v.optional("error", self.error_json);
    v.optional("parent", self.parent);
    v.optional("children", self.child_runs);
    v.optional("steps", self.step_forms);
  }
};

struct ActionForm : NextStep {
  static void visit(auto& self, auto& v) {
    v.required("action", self.action);
    v.optional("summary", self.summary);
    v.optional("command", self.command);
    v.optional("at", self.at_ms);
  }
};

struct ExplanationForm : RunExplanation {
  std::vector<ActionForm> next_actions;

  static void visit(auto& self, auto& v) {
    v.required("run_id", self.run_id);
    v.required("status", self.status);
    v.optional("terminal", self.terminal);
    v.optional("reason", self.reason);
    v.optional("step", self.step);
    v.optional("summary", self.summary);
    v.optional("next_actions", self.next_actions);
  }
};

struct RowForm : RunSummary {
  static void visit(auto& self, auto& v) {
    v.required("run_id", self.run_id);
    v.optional("workflow", self.workflow);
    v.optional("queue", self.queue);
    v.optional("status", self.status);
    v.optional("terminal", self.terminal);
    v.optional("listed_at", self.listed_at_ms);
    v.optional("started_at", self.started_at_ms);
    v.optional("ended_at", self.ended_at_ms);
    v.optional("waits_at", self.waits_at);
    v.optional("error", self.error);
    v.optional("parent_run_id", self.parent_run_id);
  }
};

struct PageForm {
  std::vector<RowForm> runs;
  std::string next;

  static void visit(auto& self, auto& v) {
    v.required("runs", self.runs);
    v.optional("next", self.next);
  }
};

std::string text_of(const Payload& payload) { return std::string(payload.view()); }

}  // namespace

Result<StartedRun> read_started(std::string_view json) {
  HOLDFAST_TRY(StartResponse response, read_response<StartResponse>(json));
  return StartedRun{std::move(response.run_id), response.existed};
}

Result<RunView> read_snapshot(std::string json) {
  HOLDFAST_TRY(const SnapshotForm form, read_response<SnapshotForm>(json));
  RunView view = form;
  view.version = form.definition.version;
  view.input = text_of(form.input_json);
  view.context = text_of(form.context_json);
  view.error = text_of(form.error_json);
  if (form.status == "completed") {
    view.result = form.result_json.empty() ? view.context : text_of(form.result_json);
  }
  view.parent_run_id = form.parent.run_id;
  for (const RunRef& child : form.child_runs) {
    view.children.push_back(child.run_id);
  }
  for (const StepForm& step : form.step_forms) {
    StepView& shown = view.steps.emplace_back(step);
    shown.result = text_of(step.result_json);
    shown.error = text_of(step.error_json);
  }
  view.json = std::move(json);
  return view;
}

Result<RunExplanation> read_explanation(std::string json) {
  HOLDFAST_TRY(const ExplanationForm form, read_response<ExplanationForm>(json));
  RunExplanation explanation = form;
  explanation.next_steps.assign(form.next_actions.begin(), form.next_actions.end());
  explanation.json = std::move(json);
  return explanation;
}

Result<RunPage> read_page(std::string json) {
  HOLDFAST_TRY(PageForm form, read_response<PageForm>(json));
  return RunPage{{form.runs.begin(), form.runs.end()}, std::move(form.next), std::move(json)};
}

Result<DeadLetterPage> read_dead_letters_page(std::string_view json) {
  HOLDFAST_TRY(const DeadLettersResponse response, read_response<DeadLettersResponse>(json));
  DeadLetterPage page;
  page.next = response.next;
  for (const DeadLetter& letter : response.dead_letters) {
    page.dead_letters.push_back(dead_letter_view(letter));
  }
  return page;
}

Result<DeadLetterDecision> read_dead_letter_decision(std::string_view json) {
  HOLDFAST_TRY(const DeadLetterBulkResponse response, read_response<DeadLetterBulkResponse>(json));
  DeadLetterDecision decision;
  decision.done = response.done;
  decision.more = response.more;
  for (const DeadLetterResult& result : response.dead_letters) {
    DeadLetterOutcome outcome{
        result.run_id, result.step, result.runnable_key, result.replay_run_id, {}};
    if (!result.problem.empty()) {
      HOLDFAST_TRY(const ProblemForm problem, read_response<ProblemForm>(result.problem.view()));
      outcome.error = problem.code + ": " + problem.detail;
    }
    decision.matched.push_back(std::move(outcome));
  }
  return decision;
}

}  // namespace holdfast::client
