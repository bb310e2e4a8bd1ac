// The facts of a run thread beyond planning and applying steps: continuation, definition migration,
// compensation, replay, search attributes, archiving. See run_facts.h.
#pragma once

#include "runs/run/run_facts.h"

namespace holdfast {

struct RunContinuationRequested {
  static constexpr std::string_view kKind = "run_continuation_requested";
  RunId run_id;
  RunId successor_run_id;
  SharedText continuation_key;
  SharedText workflow;
  SharedText trigger;
  Payload input;
  SharedText definition;
  SharedText definition_fingerprint;
  SharedText definition_version;

  HOLDFAST_FIELDS(required(run_id), required(successor_run_id), required(continuation_key),
                  required(workflow), required(trigger), required(input), required(definition),
                  required(definition_fingerprint), optional(definition_version));
  friend bool operator==(const RunContinuationRequested&,
                         const RunContinuationRequested&) = default;
};

struct RunContinuedFrom {
  static constexpr std::string_view kKind = "run_continued_from";
  RunId run_id;
  RunId predecessor_run_id;
  SharedText continuation_key;

  HOLDFAST_FIELDS(required(run_id), required(predecessor_run_id), required(continuation_key));
  friend bool operator==(const RunContinuedFrom&, const RunContinuedFrom&) = default;
};

struct SearchAttributesUpdated {
  static constexpr std::string_view kKind = "search_attributes_updated";
  RunId run_id;
  Payload changes;
  SharedText fingerprint;
  SharedText idempotency_key;

  HOLDFAST_FIELDS(required(run_id), required(changes), required(fingerprint),
                  required(idempotency_key));
  friend bool operator==(const SearchAttributesUpdated&, const SearchAttributesUpdated&) = default;
};

// The run follows another definition from here on. With manual_state and context it was moved by
// hand at the boundary it waits at, and has exactly that context; without them nothing else
// changes.
struct RunDefinitionMigrated {
  static constexpr std::string_view kKind = "run_definition_migrated";
  RunId run_id;
  SharedText migration_key;
  SharedText source_version;
  SharedText source_fingerprint;
  SharedText target_version;
  SharedText target_fingerprint;
  Payload context;
  Payload manual_state;
  SharedText source_manual_step;
  SharedText target_manual_step;

  HOLDFAST_FIELDS(required(run_id), required(migration_key), optional(source_version),
                  required(source_fingerprint), optional(target_version),
                  required(target_fingerprint), optional(context), optional(manual_state),
                  optional(source_manual_step), optional(target_manual_step));
  friend bool operator==(const RunDefinitionMigrated&, const RunDefinitionMigrated&) = default;
};

// The run no longer needs these: they cannot be claimed, and reports on them do not count.
struct RunnablesWithdrawn {
  static constexpr std::string_view kKind = "runnables_withdrawn";
  RunId run_id;
  std::vector<SharedText> runnable_keys;
  SharedText reason;

  HOLDFAST_FIELDS(required(run_id), required(runnable_keys), optional(reason));
  friend bool operator==(const RunnablesWithdrawn&, const RunnablesWithdrawn&) = default;
};

// The run compensates: completed steps that can be compensated are compensated, newest first. Then
// the run ends with `outcome`.
struct CompensationStarted {
  static constexpr std::string_view kKind = "compensation_started";
  RunId run_id;
  TerminalStatus outcome = TerminalStatus::failed;
  Payload error;
  std::optional<ExhaustedAttempt> exhausted;  // as the end of the run will name it

  HOLDFAST_FIELDS(required(run_id), required(outcome), optional(error), optional(exhausted));
  friend bool operator==(const CompensationStarted&, const CompensationStarted&) = default;
};

// A replay from the middle: what it takes over from the run it repeats.
struct StepsAdopted {
  static constexpr std::string_view kKind = "steps_adopted";
  RunId run_id;
  RunId source_run_id;
  SharedText from_step;
  SharedText path;               // the step that began the path from_step is on; empty: from_step
  std::vector<SharedText> done;  // steps that count as done
  Payload context;               // what they gave

  HOLDFAST_FIELDS(required(run_id), required(source_run_id), required(from_step), optional(path),
                  optional(done), required(context));
  friend bool operator==(const StepsAdopted&, const StepsAdopted&) = default;
};

HOLDFAST_ENUM(DeadLetterEnd, redriven, discarded);

// What an operator decided about the attempt that failed the run. The run stays as it ended.
struct DeadLetterResolved {
  static constexpr std::string_view kKind = "dead_letter_resolved";
  RunId run_id;
  SharedText runnable_key;  // the exhausted attempt, as run_terminal names it
  DeadLetterEnd action = DeadLetterEnd::redriven;
  RunId replay_run_id;  // of one that was redriven: the run that repeats the step
  SharedText source;
  SharedText actor;
  SharedText comment;

  HOLDFAST_FIELDS(required(run_id), required(runnable_key), required(action),
                  optional(replay_run_id), optional(source), optional(actor), optional(comment));
  friend bool operator==(const DeadLetterResolved&, const DeadLetterResolved&) = default;
};

struct RunArchived {
  static constexpr std::string_view kKind = "run_archived";
  RunId run_id;
  SharedText reason;

  HOLDFAST_FIELDS(required(run_id), required(reason));
  friend bool operator==(const RunArchived&, const RunArchived&) = default;
};

struct RunUnarchived {
  static constexpr std::string_view kKind = "run_unarchived";
  RunId run_id;

  HOLDFAST_FIELDS(required(run_id));
  friend bool operator==(const RunUnarchived&, const RunUnarchived&) = default;
};

}  // namespace holdfast
