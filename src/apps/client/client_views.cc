#include "apps/client/client_views.h"

#include <vector>

#include "apps/client/work_messages.h"

namespace holdfast::client {

namespace {

// The members that are read, as the server writes them.
struct RunRef {
  std::string run_id;

  static void visit(auto& self, auto& v) { v.optional("run_id", self.run_id); }
};

struct DefinitionForm {
  std::string version;

  static void visit(auto& self, auto& v) { v.optional("version", self.version); }
};

struct StepForm {
  std::string name;
  std::string status;
  std::uint32_t attempts = 0;
  Payload result;
  Payload error;

  static void visit(auto& self, auto& v) {
    v.required("name", self.name);
    v.required("status", self.status);
    v.optional("attempts", self.attempts);
    v.optional("result", self.result);
    v.optional("error", self.error);
  }
};

struct SnapshotForm {
  std::string run_id;
  std::string status;
  bool terminal = false;
  std::string workflow;
  std::string queue;
  std::int64_t started_at = 0;
  std::int64_t ended_at = 0;
  DefinitionForm definition;
  Payload input;
  Payload context;
  Payload result;
  Payload error;
  RunRef parent;
  std::vector<RunRef> children;
  std::vector<StepForm> steps;

  static void visit(auto& self, auto& v) {
    v.required("run_id", self.run_id);
    v.required("status", self.status);
    v.optional("terminal", self.terminal);
    v.optional("workflow", self.workflow);
    v.optional("queue", self.queue);
    v.optional("started_at", self.started_at);
    v.optional("ended_at", self.ended_at);
    v.optional("definition", self.definition);
    v.optional("input", self.input);
    v.optional("context", self.context);
    v.optional("result", self.result);
    v.optional("error", self.error);
    v.optional("parent", self.parent);
    v.optional("children", self.children);
    v.optional("steps", self.steps);
  }
};

struct ActionForm {
  std::string action;
  std::string summary;
  std::string command;
  std::int64_t at = 0;

  static void visit(auto& self, auto& v) {
    v.required("action", self.action);
    v.optional("summary", self.summary);
    v.optional("command", self.command);
    v.optional("at", self.at);
  }
};

struct ExplanationForm {
  std::string run_id;
  std::string status;
  bool terminal = false;
  std::string reason;
  std::string step;
  std::string summary;
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

struct RowForm {
  std::string run_id;
  std::string workflow;
  std::string queue;
  std::string status;
  bool terminal = false;
  std::int64_t listed_at = 0;
  std::int64_t started_at = 0;
  std::int64_t ended_at = 0;
  std::string waits_at;
  std::string error;
  std::string parent;

  static void visit(auto& self, auto& v) {
    v.required("run_id", self.run_id);
    v.optional("workflow", self.workflow);
    v.optional("queue", self.queue);
    v.optional("status", self.status);
    v.optional("terminal", self.terminal);
    v.optional("listed_at", self.listed_at);
    v.optional("started_at", self.started_at);
    v.optional("ended_at", self.ended_at);
    v.optional("waits_at", self.waits_at);
    v.optional("error", self.error);
    v.optional("parent_run_id", self.parent);
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
  RunView view;
  view.run_id = form.run_id;
  view.workflow = form.workflow;
  view.version = form.definition.version;
  view.queue = form.queue;
  view.status = form.status;
  view.terminal = form.terminal;
  view.started_at_ms = form.started_at;
  view.ended_at_ms = form.ended_at;
  view.input = text_of(form.input);
  view.context = text_of(form.context);
  view.error = text_of(form.error);
  if (form.status == "completed") {
    view.result = form.result.empty() ? view.context : text_of(form.result);
  }
  view.parent_run_id = form.parent.run_id;
  for (const RunRef& child : form.children) {
    view.children.push_back(child.run_id);
  }
  for (const StepForm& step : form.steps) {
    view.steps.push_back(
        {step.name, step.status, step.attempts, text_of(step.result), text_of(step.error)});
  }
  view.json = std::move(json);
  return view;
}

Result<RunExplanation> read_explanation(std::string json) {
  HOLDFAST_TRY(ExplanationForm form, read_response<ExplanationForm>(json));
  RunExplanation explanation;
  explanation.run_id = std::move(form.run_id);
  explanation.status = std::move(form.status);
  explanation.terminal = form.terminal;
  explanation.reason = std::move(form.reason);
  explanation.step = std::move(form.step);
  explanation.summary = std::move(form.summary);
  for (ActionForm& next : form.next_actions) {
    explanation.next_steps.push_back(
        {std::move(next.action), std::move(next.summary), std::move(next.command), next.at});
  }
  explanation.json = std::move(json);
  return explanation;
}

Result<RunPage> read_page(std::string json) {
  HOLDFAST_TRY(PageForm form, read_response<PageForm>(json));
  RunPage page;
  for (RowForm& row : form.runs) {
    page.runs.push_back({row.run_id, row.workflow, row.queue, row.status, row.terminal,
                         row.listed_at, row.started_at, row.ended_at, row.waits_at, row.error,
                         row.parent});
  }
  page.next = std::move(form.next);
  page.json = std::move(json);
  return page;
}

}  // namespace holdfast::client
