#include "runs/run/run_draft.h"

#include "runs/run/context_text.h"
#include "runs/run/run_planning.h"

namespace holdfast {

ContextView::ContextView(const RunProjection& run, const SharedText& key, const Payload& result)
    : run_(run) {
  if (!key.empty()) {
    put(key.view(), result.empty() ? "null" : result.view());
    return;
  }
  each_member(result, [&](const std::string& name, std::string_view value) {
    put(json_string_value('"' + name + '"').value_or(name), value);
  });
}

std::optional<std::string_view> ContextView::member(std::string_view name) const {
  for (auto added = added_.rbegin(); added != added_.rend(); ++added) {
    if (added->first == name) {
      return added->second;
    }
  }
  return run_.context_member(name);
}

std::string ContextView::whole() const {
  JsonWriter writer;
  writer.begin_object();
  for (const auto& [name, value] : added_) {
    writer.member(name, JsonText::trusted(value));
  }
  writer.end_object();
  return std::string(run_.context_with(Payload(std::move(writer).take_text())).view());
}

void RunDraft::add(RunFact fact) {
  flush();
  context_ = Payload();
  run_.evolve(now_, fact);
  facts_.push_back(std::move(fact));
}

void RunDraft::plan(Runnable runnable) { planned_.runnables.push_back(std::move(runnable)); }

void RunDraft::flush() {
  if (planned_.runnables.empty()) {
    return;
  }
  RunnablesPlanned planned;
  planned.run_id = run_.run_id();
  planned.runnables = std::exchange(planned_.runnables, {});
  // Plans are not part of the context.
  run_.evolve(now_, planned);
  facts_.emplace_back(std::move(planned));
}

Payload RunDraft::whole_context() {
  if (context_.empty()) {
    context_ = run_.context();
  }
  return context_;
}

Result<RunFacts> RunDraft::finish() {
  while (next_task_ < tasks_.size()) {
    const Task task = std::move(tasks_[next_task_++]);
    if (has_stopped()) {
      continue;
    }
    switch (task.kind) {
      case Task::Kind::begin:
        begin(task.step, task.path, task.visible_at);
        break;
      case Task::Kind::carry_out:
        flush();
        if (const PlannedRunnable* planned = run_.find(task.path.view())) {
          carry_out(*planned);
        }
        break;
      case Task::Kind::next_items:
        next_items(task.path);
        break;
    }
  }
  flush();
  complete_if_done();
  flush();
  if (run_.anomalies().size() != anomalies_) {
    const Anomaly& broken = run_.anomalies().back();
    return Error{ErrorCode::invalid_transition, "the fact " + broken.entry_type.str() +
                                                    " would break the rule " + broken.reason.str()}
        .with("reason", broken.reason.view())
        .with("run_id", to_string(run_.run_id()));
  }
  return std::move(facts_);
}

}  // namespace holdfast
