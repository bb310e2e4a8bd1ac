// RunFact: any fact of a run thread. And the facts of the threads that list runs.
#pragma once

#include <variant>

#include "runs/run/run_event_facts.h"
#include "runs/run/run_facts.h"
#include "runs/run/run_graph_facts.h"
#include "runs/run/run_lifecycle_facts.h"

namespace holdfast {

using RunFact =
    std::variant<RunSignalReceived, RunStarted, RunnablesPlanned, RunnableApplied, ChildRunStarted,
                 ManualStepPaused, ManualStepResolved, RunTerminal, DynamicGraphMutated,
                 RunContinuationRequested, RunContinuedFrom, ExternalEventWaitOpened,
                 ExternalEventReceived, ExternalEventWaitTimeoutSelected, ExternalEventWaitResolved,
                 SearchAttributesUpdated, RunDefinitionMigrated, RunArchived, RunUnarchived,
                 RunnablesWithdrawn, ExternalEventBuffered, CompensationStarted, StepsAdopted,
                 DeadLetterResolved>;

std::string_view kind_of(const RunFact& fact);
Result<NewEntry> to_entry(const RunFact& fact, TimeMs at);
// unknown_entry_type, missing_fields or invalid_argument.
Result<RunFact> run_fact(std::string_view kind, std::string_view data);

// In run_index:<workflow>.
struct RunIndexed {
  static constexpr std::string_view kKind = "run_indexed";
  RunId run_id;
  SharedText workflow;
  SharedText queue;

  HOLDFAST_FIELDS(required(run_id), required(workflow), required(queue));
  friend bool operator==(const RunIndexed&, const RunIndexed&) = default;
};

// In run_catalog:all.
struct RunCataloged {
  static constexpr std::string_view kKind = "run_cataloged";
  RunId run_id;
  SharedText workflow;
  SharedText queue;

  HOLDFAST_FIELDS(required(run_id), required(workflow), required(queue));
  friend bool operator==(const RunCataloged&, const RunCataloged&) = default;
};

// In definition:<fingerprint>: what a workflow was when the first run of it started.
struct DefinitionRegistered {
  static constexpr std::string_view kKind = "definition_registered";
  SharedText workflow;
  SharedText fingerprint;
  SharedText version;
  Payload spec;

  HOLDFAST_FIELDS(required(workflow), required(fingerprint), optional(version), required(spec));
  friend bool operator==(const DefinitionRegistered&, const DefinitionRegistered&) = default;
};

// In workflow:<name>: from here on new runs of the workflow follow this definition.
struct WorkflowRegistered {
  static constexpr std::string_view kKind = "workflow_registered";
  SharedText workflow;
  SharedText fingerprint;
  SharedText version;
  SharedText actor = {};

  HOLDFAST_FIELDS(required(workflow), required(fingerprint), optional(version), optional(actor));
  friend bool operator==(const WorkflowRegistered&, const WorkflowRegistered&) = default;
};

// In workflow:<name>: whether the cron trigger starts runs. It does until an operator pauses
// it, whatever definitions are registered meanwhile.
struct ScheduleChange {
  SharedText workflow;
  SharedText trigger;
  SharedText actor = {};
  SharedText comment = {};

  HOLDFAST_FIELDS(required(workflow), required(trigger), optional(actor), optional(comment));
  friend bool operator==(const ScheduleChange&, const ScheduleChange&) = default;
};
struct SchedulePaused : ScheduleChange {
  static constexpr std::string_view kKind = "schedule_paused";
};
struct ScheduleResumed : ScheduleChange {
  static constexpr std::string_view kKind = "schedule_resumed";
};

Result<NewEntry> to_entry(const RunIndexed& fact, TimeMs at);
Result<NewEntry> to_entry(const RunCataloged& fact, TimeMs at);
Result<NewEntry> to_entry(const DefinitionRegistered& fact, TimeMs at);
Result<NewEntry> to_entry(const WorkflowRegistered& fact, TimeMs at);

ThreadId definition_thread(std::string_view fingerprint);
// The name must have passed check_name.
ThreadId workflow_thread(std::string_view workflow);

}  // namespace holdfast
