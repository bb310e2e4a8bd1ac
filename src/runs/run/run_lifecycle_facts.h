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

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.required("run_id", self.run_id);
    v.required("successor_run_id", self.successor_run_id);
    v.required("continuation_key", self.continuation_key);
    v.required("workflow", self.workflow);
    v.required("trigger", self.trigger);
    v.required("input", self.input);
    v.required("definition", self.definition);
    v.required("definition_fingerprint", self.definition_fingerprint);
    v.optional("definition_version", self.definition_version);
  }
  friend bool operator==(const RunContinuationRequested&,
                         const RunContinuationRequested&) = default;
};

struct RunContinuedFrom {
  static constexpr std::string_view kKind = "run_continued_from";
  RunId run_id;
  RunId predecessor_run_id;
  SharedText continuation_key;

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.required("run_id", self.run_id);
    v.required("predecessor_run_id", self.predecessor_run_id);
    v.required("continuation_key", self.continuation_key);
  }
  friend bool operator==(const RunContinuedFrom&, const RunContinuedFrom&) = default;
};

struct SearchAttributesUpdated {
  static constexpr std::string_view kKind = "search_attributes_updated";
  RunId run_id;
  Payload changes;
  SharedText fingerprint;
  SharedText idempotency_key;

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.required("run_id", self.run_id);
    v.required("changes", self.changes);
    v.required("fingerprint", self.fingerprint);
    v.required("idempotency_key", self.idempotency_key);
  }
  friend bool operator==(const SearchAttributesUpdated&, const SearchAttributesUpdated&) = default;
};

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

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.required("run_id", self.run_id);
    v.required("migration_key", self.migration_key);
    v.required("source_version", self.source_version);
    v.required("source_fingerprint", self.source_fingerprint);
    v.required("target_version", self.target_version);
    v.required("target_fingerprint", self.target_fingerprint);
    v.required("context", self.context);
    v.required("manual_state", self.manual_state);
    v.optional("source_manual_step", self.source_manual_step);
    v.optional("target_manual_step", self.target_manual_step);
  }
  friend bool operator==(const RunDefinitionMigrated&, const RunDefinitionMigrated&) = default;
};

// The run no longer needs these: they cannot be claimed, and reports on them do not count.
struct RunnablesWithdrawn {
  static constexpr std::string_view kKind = "runnables_withdrawn";
  RunId run_id;
  std::vector<SharedText> runnable_keys;
  SharedText reason;

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.required("run_id", self.run_id);
    v.required("runnable_keys", self.runnable_keys);
    v.optional("reason", self.reason);
  }
  friend bool operator==(const RunnablesWithdrawn&, const RunnablesWithdrawn&) = default;
};

// The run compensates: completed steps that can be compensated are compensated, newest first. Then
// the run ends with `outcome`.
struct CompensationStarted {
  static constexpr std::string_view kKind = "compensation_started";
  RunId run_id;
  TerminalStatus outcome = TerminalStatus::failed;
  Payload error;

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.required("run_id", self.run_id);
    v.required("outcome", self.outcome);
    v.optional("error", self.error);
  }
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

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.required("run_id", self.run_id);
    v.required("source_run_id", self.source_run_id);
    v.required("from_step", self.from_step);
    v.optional("path", self.path);
    v.optional("done", self.done);
    v.required("context", self.context);
  }
  friend bool operator==(const StepsAdopted&, const StepsAdopted&) = default;
};

struct RunArchived {
  static constexpr std::string_view kKind = "run_archived";
  RunId run_id;
  SharedText reason;

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.required("run_id", self.run_id);
    v.required("reason", self.reason);
  }
  friend bool operator==(const RunArchived&, const RunArchived&) = default;
};

struct RunUnarchived {
  static constexpr std::string_view kKind = "run_unarchived";
  RunId run_id;

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.required("run_id", self.run_id);
  }
  friend bool operator==(const RunUnarchived&, const RunUnarchived&) = default;
};

}  // namespace holdfast
