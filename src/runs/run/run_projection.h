// RunProjection: the fold of one run thread. A fact that breaks a rule changes nothing and
// becomes an anomaly (run_rules.h).
//
// Costs do not grow with the length of the run: each fact touches only what it names. With an
// UndoLog every change can be undone; the projection must then not be moved.
//
// With a definition attached it also knows which steps are done and what each still waits for.
// That is derived from the same facts, so it may be attached at any time.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/box.h"
#include "base/shared_text.h"
#include "base/undo.h"
#include "runs/facts/anomaly.h"
#include "runs/language/definition/definition.h"
#include "runs/run/run_fact.h"
#include "runs/run/run_progress.h"

namespace holdfast {

// `created` until run_started; idle when every latest planned runnable is applied.
enum class RunStatus : std::uint8_t {
  created,
  started,
  running,
  idle,
  paused,        // every open step waits for a decision or an event
  parked,        // the same, and one of them was parked
  compensating,  // it compensates before it ends
  completed,
  failed,
  cancelled,
  continued,
};
template <>
inline constexpr std::string_view kEnumNames<RunStatus>[] = {
    "new",          "started",   "running", "idle",      "paused",   "parked",
    "compensating", "completed", "failed",  "cancelled", "continued"};

struct PlannedRunnable {
  Runnable plan;
  std::uint64_t order = 0;  // its position among all plans of the run
  bool applied = false;
  bool withdrawn = false;           // and so applied, without a result
  std::uint64_t applied_order = 0;  // its position among all applied ones, from 1
  TimeMs applied_at;
  Payload result;
  SharedText output_key;
  Payload transition;
  Payload execution_opts;

  // It has a result, and no transition fits it: its path continues when one does.
  [[nodiscard]] bool is_undecided() const;

  HOLDFAST_FIELDS(required(plan), required(order), optional(applied), optional(withdrawn),
                  optional(applied_order), required(applied_at), optional(result),
                  optional(output_key), optional(transition), optional(execution_opts));
};

// The progress of a step with for_each.
struct EachProgress {
  std::vector<std::string_view> items;  // slices of the input of its runnable
  std::uint64_t next = 0;               // the first item that is not planned
  std::uint64_t done = 0;               // items that need nothing more
};

HOLDFAST_ENUM(BoundaryKind, pause, approval, event_wait, parked);

constexpr BoundaryKind boundary_kind(ManualKind kind) {
  switch (kind) {
    case ManualKind::pause:
      return BoundaryKind::pause;
    case ManualKind::approval:
      return BoundaryKind::approval;
    case ManualKind::parked:
      break;
  }
  return BoundaryKind::parked;
}

// Where a decision fits.
constexpr BoundaryKind boundary_for(ManualAction action) {
  switch (action) {
    case ManualAction::resumed:
      return BoundaryKind::pause;
    case ManualAction::approved:
    case ManualAction::rejected:
      return BoundaryKind::approval;
    case ManualAction::retried:
    case ManualAction::discarded:
      break;
  }
  return BoundaryKind::parked;
}

// Where the run waits: at a manual or parked step for an operator, or for an event.
struct ManualState {
  SharedText step;
  BoundaryKind kind = BoundaryKind::pause;
  TimeMs paused_at;
  SharedText reason;
  Payload metadata;
  Payload deadline;
  // Of a parked step: the attempt that failed, or is not made because of the definition, and why.
  SharedText runnable_key = {};
  Payload error = {};

  HOLDFAST_FIELDS(required(step), required(kind), required(paused_at), optional(reason),
                  optional(metadata), optional(deadline), optional(runnable_key), optional(error));
  friend bool operator==(const ManualState&, const ManualState&) = default;
};

HOLDFAST_ENUM(WaitStatus, waiting, received, timeout_selected, resolved, timed_out, completed,
              failed, cancelled, continued);

struct EventWait {
  ExternalEventWaitOpened opened;
  WaitStatus status = WaitStatus::waiting;
  Payload payload;             // of the event that was received
  SharedText idempotency_key;  // of that event
  Payload result;              // what it was resolved with

  HOLDFAST_FIELDS(required(opened), required(status), optional(payload), optional(idempotency_key),
                  optional(result));
};

// The graph as mutations have changed it. Removed ids stay reserved for ever.
struct GraphState {
  std::uint64_t version = 0;
  std::map<std::string, GraphAddition> active;
  std::map<std::string, GraphRemoval> tombstones;

  HOLDFAST_FIELDS(required(version), optional(active), optional(tombstones));
};

// Which definition a run follows.
struct PinnedDefinition {
  SharedText version;
  SharedText fingerprint;

  HOLDFAST_FIELDS(optional(version), optional(fingerprint));
  friend bool operator==(const PinnedDefinition&, const PinnedDefinition&) = default;
};

// What most runs never have. It is allocated with the first fact that needs it, so that a plain run
// stays small in memory.
struct OptionalRunState {
  std::map<std::string, EventWait> waits;  // by wait_id
  std::map<std::string, DynamicGraphMutated> mutations;
  GraphState graph;
  std::optional<RunContinuationRequested> continuation;
  std::optional<RunContinuedFrom> continued_from;
  std::map<std::string, RunDefinitionMigrated> migrations;
  std::optional<PinnedDefinition> migrated_to;          // by the newest migration
  std::map<std::string, SharedText> attribute_updates;  // idempotency key to fingerprint
  std::map<std::string, Payload> attributes;
  std::optional<RunArchived> archived;
  TimeMs archived_at;
  std::vector<ExternalEventBuffered> buffered;      // events that no wait has received yet
  std::map<std::string, SharedText> received_keys;  // of all events: idempotency key to digest
  std::optional<CompensationStarted> compensation;
  std::optional<StepsAdopted> adopted;
  std::optional<DeadLetterResolved> dead_letter;

  HOLDFAST_FIELDS(optional(waits), optional(mutations), required(graph), optional(continuation),
                  optional(continued_from), optional(migrations), optional(migrated_to),
                  optional(attribute_updates), optional(attributes), optional(archived),
                  required(archived_at), optional(buffered), optional(received_keys),
                  optional(compensation), optional(adopted), optional(dead_letter));
};

struct Receipt {
  RunSignalReceived signal;
  TimeMs at;

  HOLDFAST_FIELDS(required(signal), required(at));
};

class RunProjection {
 public:
  explicit RunProjection(const RunId& run_id);
  RunProjection(const RunProjection&) = delete;
  RunProjection& operator=(const RunProjection&) = delete;

  void set_undo(UndoLog* undo) { undo_ = undo; }
  // The definition the run is pinned to; nullptr: it is not known. Final: cannot be undone, changes
  // no fact.
  void attach(std::shared_ptr<const Definition> definition);
  // The same for a definition that the run has just migrated to; undone with the migration.
  void follow(std::shared_ptr<const Definition> definition);

  void evolve(TimeMs at, const RunFact& fact);
  // A stored entry of the thread. An entry that is not a fact becomes a malformed_entry anomaly.
  void fold(const EntryView& entry);

  [[nodiscard]] const RunId& run_id() const { return run_id_; }
  [[nodiscard]] RunStatus status() const;
  [[nodiscard]] bool is_terminal() const { return terminal_.has_value(); }
  // Entries folded so far, valid or not.
  [[nodiscard]] Revision revision() const { return revision_; }
  [[nodiscard]] const std::optional<RunStarted>& started() const { return started_; }
  [[nodiscard]] TimeMs started_at() const { return started_at_; }
  [[nodiscard]] const std::optional<RunTerminal>& terminal() const { return terminal_; }
  [[nodiscard]] TimeMs terminal_at() const { return terminal_at_; }
  // Where it waits, by the `step` of the runnable.
  [[nodiscard]] const std::map<SharedText, ManualState>& boundaries() const { return manual_; }
  // The one it has waited at longest.
  [[nodiscard]] std::optional<ManualState> manual_state() const;
  // Where the step is parked; nullptr when it is not.
  [[nodiscard]] const ManualState* parked(const SharedText& step) const;
  [[nodiscard]] const std::vector<Receipt>& receipts() const { return receipts_; }
  [[nodiscard]] const std::map<RunId, ChildRunStarted>& children() const { return children_; }
  [[nodiscard]] const auto& waits() const { return optional_state().waits; }  // by wait_id
  // Events that no wait has received yet.
  [[nodiscard]] const auto& buffered_events() const { return optional_state().buffered; }
  // Of all events, buffered or received: idempotency key to digest.
  [[nodiscard]] const auto& received_event_keys() const { return optional_state().received_keys; }
  [[nodiscard]] const GraphState& graph() const { return optional_state().graph; }
  [[nodiscard]] const auto& graph_mutations() const { return optional_state().mutations; }
  [[nodiscard]] const auto& continuation() const { return optional_state().continuation; }
  [[nodiscard]] const auto& continued_from() const { return optional_state().continued_from; }
  [[nodiscard]] const auto& migrations() const { return optional_state().migrations; }
  // Idempotency key of an update to its fingerprint.
  [[nodiscard]] const auto& attribute_updates() const { return optional_state().attribute_updates; }
  [[nodiscard]] const auto& attributes() const { return optional_state().attributes; }
  [[nodiscard]] const auto& archived() const { return optional_state().archived; }
  [[nodiscard]] TimeMs archived_at() const { return optional_state().archived_at; }
  [[nodiscard]] const auto& compensation() const { return optional_state().compensation; }
  [[nodiscard]] const auto& adopted_steps() const { return optional_state().adopted; }
  // What was decided about the attempt that failed the run.
  [[nodiscard]] const auto& dead_letter() const { return optional_state().dead_letter; }
  [[nodiscard]] const std::vector<Anomaly>& anomalies() const { return anomalies_; }
  // As the run started, or as the newest migration says.
  [[nodiscard]] PinnedDefinition pinned_definition() const;

  [[nodiscard]] const PlannedRunnable* find(std::string_view runnable_key) const;
  // The newest plan for a step; nullptr when there is none. The timer of an event wait is not a
  // plan for its step.
  [[nodiscard]] const PlannedRunnable* latest(std::string_view step) const;
  [[nodiscard]] std::size_t runnable_count() const { return runnables_.size(); }
  // The bytes of the texts and payloads of all folded facts.
  [[nodiscard]] std::size_t fact_bytes() const { return fact_bytes_; }
  // Steps, items and compensations whose newest plan is not applied.
  [[nodiscard]] std::size_t open_count() const { return open_count_; }
  // How often a step was begun.
  [[nodiscard]] std::uint32_t visits(std::string_view step) const;
  // Of a visit of a step with for_each that was begun; nullptr otherwise.
  [[nodiscard]] const EachProgress* each(std::string_view visit) const;
  [[nodiscard]] bool is_compensating() const {
    return !terminal_.has_value() && compensation().has_value();
  }
  // In the order they were planned. Visits all of them: for inspection, not for the loop.
  [[nodiscard]] std::vector<const PlannedRunnable*> runnables() const;

  [[nodiscard]] const std::shared_ptr<const Definition>& definition() const { return definition_; }
  // Only with a definition.
  [[nodiscard]] const StepProgress& progress() const { return *progress_; }

  // What steps see: the input of the run, then every result in the order they were applied; of
  // equal keys the later wins. A result that is not an object is left out.
  [[nodiscard]] Payload context() const { return context_with(Payload()); }
  // The same with one more result.
  [[nodiscard]] Payload context_with(const Payload& result) const;
  // One member of the context, without building it.
  [[nodiscard]] std::optional<std::string_view> context_member(std::string_view name) const;

  // The whole state, without the definition, as bytes and back; equal states give equal bytes.
  [[nodiscard]] std::string encode() const;
  static Result<std::unique_ptr<RunProjection>> decode(std::string_view bytes);

 private:
  friend class RunFold;   // run_projection.cc: applies accepted facts
  friend class RunCodec;  // run_codec.cc: to bytes and back

  [[nodiscard]] bool waits_only() const;
  // Empty when the run has none of it.
  [[nodiscard]] const OptionalRunState& optional_state() const;

  using Context = std::map<std::string, std::pair<std::uint64_t, Payload>, std::less<>>;

  RunId run_id_;
  UndoLog* undo_ = nullptr;
  Revision revision_;
  std::optional<RunStarted> started_;
  TimeMs started_at_;
  std::optional<RunTerminal> terminal_;
  TimeMs terminal_at_;
  std::map<SharedText, ManualState> manual_;
  std::vector<Receipt> receipts_;
  std::unordered_map<SharedText, PlannedRunnable, SharedTextHash, SharedTextEqual> runnables_;
  std::unordered_map<SharedText, const PlannedRunnable*, SharedTextHash, SharedTextEqual> latest_;
  std::uint64_t next_order_ = 0;
  std::size_t open_count_ = 0;  // steps whose latest runnable is not applied
  std::uint64_t applied_count_ = 0;
  std::size_t fact_bytes_ = 0;
  std::map<SharedText, std::uint32_t> visits_;  // of steps that were begun more than once
  std::map<SharedText, EachProgress> each_;
  // Key, as written inside the quotes, to its position (in the order the keys appeared) and value.
  Context context_;
  std::map<RunId, ChildRunStarted> children_;
  Box<OptionalRunState> optional_state_;
  std::vector<Anomaly> anomalies_;
  std::shared_ptr<const Definition> definition_;
  std::unique_ptr<StepProgress> progress_;
  std::uint64_t attachments_ = 0;
};

}  // namespace holdfast
