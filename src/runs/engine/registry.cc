#include "runs/engine/registry.h"

#include "base/fields.h"
#include "runs/run/run_fact.h"

namespace holdfast {

namespace {

constexpr std::string_view kDefinitionPrefix = "definition:";
constexpr std::string_view kWorkflowPrefix = "workflow:";
constexpr std::string_view kTokensThread = "access:tokens";

}  // namespace

SharedText schedule_name(std::string_view workflow, std::string_view trigger) {
  return SharedText(std::string(workflow) + "/" + std::string(trigger));
}

void Registry::add_definition(const SharedText& fingerprint) {
  if (definitions_.insert(fingerprint).second) {
    undo_.add([this, fingerprint] { definitions_.erase(fingerprint); });
  }
}

SharedText Registry::current(const SharedText& workflow) const {
  const auto found = workflows_.find(workflow);
  return found == workflows_.end() ? SharedText() : found->second.fingerprint;
}

bool Registry::is_paused(const SharedText& schedule) const {
  const auto known = schedules_.find(schedule);
  return known != schedules_.end() && known->second.paused;
}

// Undoing a change is a change.
void Registry::note_change() {
  undo_.add([this] { ++changes_; });
  ++changes_;
}

void Registry::set_current(const SharedText& workflow, const RegisteredWorkflow& registered) {
  note_change();
  erase(&undo_, workflows_, workflow);
  insert(&undo_, workflows_, workflow, registered);
}

void Registry::set_schedule(const SharedText& name, const ScheduleState& schedule) {
  note_change();
  erase(&undo_, schedules_, name);
  insert(&undo_, schedules_, name, schedule);
}

void Registry::fold(const EntryView& entry) {
  if (entry.thread.starts_with(kDefinitionPrefix)) {
    definitions_.insert(SharedText(entry.thread.substr(kDefinitionPrefix.size())));
  } else if (entry.thread.starts_with(kWorkflowPrefix)) {
    fold_workflow(entry);
  } else if (entry.thread == kTokensThread) {
    tokens_.fold(entry);
  }
}

void Registry::fold_workflow(const EntryView& entry) {
  if (entry.kind == WorkflowRegistered::kKind) {
    const auto fact = from_json<WorkflowRegistered>(entry.data);
    if (fact.ok()) {
      workflows_[fact.value().workflow] = {fact.value().fingerprint, entry.at};
      ++changes_;
    }
    return;
  }
  const bool paused = entry.kind == SchedulePaused::kKind;
  if (paused || entry.kind == ScheduleResumed::kKind) {
    const auto fact = from_json<ScheduleChange>(entry.data);
    if (fact.ok()) {
      const ScheduleChange& change = fact.value();
      schedules_[schedule_name(change.workflow.view(), change.trigger.view())] = {paused, entry.at,
                                                                                  change.actor};
      ++changes_;
    }
  }
}

Registry::Contents Registry::contents() const {
  Contents contents;
  contents.definitions.assign(definitions_.begin(), definitions_.end());
  for (const auto& [workflow, registered] : workflows_) {
    contents.workflows.emplace(workflow.str(), registered);
  }
  for (const auto& [name, schedule] : schedules_) {
    contents.schedules.emplace(name.str(), schedule);
  }
  for (const auto& [id, token] : tokens_.all()) {
    contents.tokens.push_back(token);
  }
  return contents;
}

void Registry::restore(Contents contents) {
  definitions_.insert(contents.definitions.begin(), contents.definitions.end());
  for (const auto& [workflow, registered] : contents.workflows) {
    workflows_.emplace(workflow, registered);
  }
  for (const auto& [name, schedule] : contents.schedules) {
    schedules_.emplace(name, schedule);
  }
  tokens_.restore(std::move(contents.tokens));
  ++changes_;
}

}  // namespace holdfast
