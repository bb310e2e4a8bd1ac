// DispatchProjection: the fold of one dispatch thread, and of what run threads record about the
// same runs (results applied, runs ended). It finds the attempt to claim next.
//
// A fact that breaks a rule changes nothing and becomes an anomaly (dispatch_rules.h). Costs do
// not grow with the number of attempts, but for the logarithm of the heaps.
//
// With an UndoLog every change can be undone. The projection must then not be moved.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/shared_text.h"
#include "base/undo.h"
#include "runs/dispatch/attempt.h"
#include "runs/dispatch/attempt_heap.h"
#include "runs/dispatch/circuit.h"
#include "runs/dispatch/dispatch_rules.h"
#include "runs/facts/anomaly.h"

namespace holdfast {

// The state of a run in a queue.
struct QueuedRun {
  Attempt* first = nullptr;  // its attempts, newest first
  bool queued = false;
  bool terminal = false;
};

class DispatchProjection {
 public:
  explicit DispatchProjection(SharedText queue);
  DispatchProjection(const DispatchProjection&) = delete;
  DispatchProjection& operator=(const DispatchProjection&) = delete;

  [[nodiscard]] const SharedText& queue() const { return queue_; }
  void set_undo(UndoLog* undo) { undo_ = undo; }
  // From now on the projection adds itself to the list when its attempts change, unless it is in
  // it: take_from_list() says that the owner has removed it. The list must outlive this.
  void set_changed_list(std::vector<DispatchProjection*>& changed);
  void take_from_list() { listed_ = false; }
  // Entries of the thread folded so far, valid or not. A caller that folds only a part sets it.
  [[nodiscard]] Revision revision() const { return revision_; }
  void set_revision(Revision revision) { revision_ = revision; }

  void evolve(TimeMs at, const DispatchFact& fact);
  // A stored entry of the thread. An entry that is not a fact becomes a malformed_entry anomaly.
  void fold(const EntryView& entry);
  // From run threads: a result became part of the run; the run ended.
  void evolve(TimeMs at, const ResultApplied& applied);
  void end_run(const RunId& id);
  // Drops all state of a run that has ended, so that memory holds live work only.
  void forget_run(const RunId& id);
  // Replaces an input or an outcome by its digest and the position of the entry that holds it.
  // Final: that entry must be durable. No verdict changes.
  void drop_input(std::string_view runnable_key, Revision seq);
  void drop_outcome(std::string_view runnable_key, Revision seq);

  [[nodiscard]] const Attempt* find(std::string_view runnable_key) const;
  [[nodiscard]] const QueuedRun* find_run(const RunId& id) const;
  // The runs that the queue has a record of, in no order.
  [[nodiscard]] const std::unordered_map<RunId, QueuedRun, RunIdHash>& known_runs() const {
    return runs_;
  }
  [[nodiscard]] std::size_t attempt_count() const { return attempts_.size(); }
  [[nodiscard]] const std::vector<Anomaly>& anomalies() const { return anomalies_; }

  // Makes claims whose lease has expired by `now` claimable again. Call it before next_claimable,
  // next_change, held and waiting; nothing else depends on it.
  void advance(TimeMs now);
  // The attempt to claim next: visible or expired, of one of the handlers (empty: all but timers).
  [[nodiscard]] const Attempt* next_claimable(std::span<const SharedText> handlers,
                                              TimeMs now) const;
  // When the result of next_claimable may next change because time passes; empty: never.
  [[nodiscard]] std::optional<TimeMs> next_change(std::span<const SharedText> handlers,
                                                  TimeMs now) const;

  // When the first attempt of each handler can be claimed: visit(handler, time or nothing).
  template <typename Visit>
  void for_each_handler(Visit visit) const {
    for (const auto& [handler, bucket] : buckets_) {
      visit(handler, first_at(bucket));
    }
  }
  [[nodiscard]] std::size_t handler_count() const { return buckets_.size(); }
  // When the first lease ends that advance() has not made claimable.
  [[nodiscard]] std::optional<TimeMs> next_lease_end() const;

  // The step type of the attempt has an open circuit breaker; nullptr: it has none, or it is
  // closed.
  [[nodiscard]] const Circuit* open_circuit(const Attempt& attempt) const;
  [[nodiscard]] const Circuit* find_circuit(const StepType& type) const;
  // Those with failures since the last success, open or not.
  [[nodiscard]] const std::map<StepType, Circuit>& circuits() const { return circuits_; }
  // The attempt that probes, while its lease holds by `at`; nullptr: none does.
  [[nodiscard]] const Attempt* live_probe(const Circuit& circuit, TimeMs at) const;
  // From when on a circuit breaker lets a worker claim the attempt; empty: now. While another one
  // probes, the end of its lease.
  [[nodiscard]] std::optional<TimeMs> held_back_until(const Attempt& attempt, TimeMs now) const;

  // The claimed attempts, in no order.
  [[nodiscard]] std::vector<const Attempt*> held() const;
  // What can be claimed, by handler. The cost grows with the visible attempts, not with later ones.
  struct Waiting {
    std::size_t visible = 0;
    std::size_t expired = 0;                       // of these: the lease of a worker expired
    std::size_t later = 0;                         // not visible yet
    std::size_t held_back = 0;                     // visible, but not let through by a circuit
    const Attempt* first = nullptr;                // of the visible ones, in claim order
    std::optional<TimeMs> next_at = std::nullopt;  // of the later ones; of a probe

    void add(const Waiting& other);
  };
  [[nodiscard]] std::map<SharedText, Waiting> waiting(TimeMs now) const;

  // The attempt that timed out first, by `now`; nullptr when there is none.
  [[nodiscard]] const Attempt* timed_out(TimeMs now) const;
  [[nodiscard]] std::optional<TimeMs> next_timeout() const;
  // Ignores the timeout of an attempt until the attempt changes or timeouts are resumed, for a
  // caller that cannot handle it now. Not part of the state.
  void put_off_timeout(const SharedText& runnable_key);
  void resume_timeouts();

  // In claim order; those of a run in the order they were scheduled. Visits every attempt: for
  // inspection, not for the loop.
  [[nodiscard]] std::vector<const Attempt*> attempts() const;
  [[nodiscard]] std::vector<const Attempt*> attempts_of(const RunId& id) const;

  // The whole state as bytes and back; equal states give equal bytes. invalid_argument or
  // missing_fields when encode did not write the bytes. The revision is not included.
  [[nodiscard]] std::string encode() const;
  static Result<std::unique_ptr<DispatchProjection>> decode(std::string_view bytes);

 private:
  template <typename Fact>
  void take(TimeMs at, const Fact& fact);
  void apply(TimeMs at, const RunQueued& fact);
  void apply(TimeMs at, const AttemptScheduled& fact);
  void apply(TimeMs at, const AttemptClaimed& fact);
  void apply(TimeMs at, const AttemptHeartbeat& fact);
  void apply(TimeMs at, const AttemptCompleted& fact);
  void apply(TimeMs at, const AttemptFailed& fact);
  void apply(TimeMs at, const LiveWakeupEmitted& fact);
  void apply(TimeMs at, const CircuitOpened& fact);
  void apply(TimeMs at, const CircuitProbed& fact);
  void apply(TimeMs at, const CircuitClosed& fact);
  void apply(TimeMs at, const CircuitReset& fact);
  void apply(TimeMs at, const ResultApplied& fact);

  // The record of the run, created if needed.
  QueuedRun& run(const RunId& id);
  QueuedRun& edit_run(const RunId& id);
  // For changes that open or close the run's attempts to claims.
  template <typename Change>
  void change_run(const RunId& id, Change change);
  Attempt& add_attempt(Attempt attempt);
  void share_key(Attempt& attempt) const;
  // Records the undo step, removes the attempt from its heap, applies `change` and inserts it
  // again.
  template <typename Change>
  void edit(std::string_view runnable_key, Change change);
  void restore(const SharedText& runnable_key, const Attempt& old);
  void remove_attempt(const SharedText& runnable_key);

  // The attempts of a handler. Those of step types with a circuit breaker are apart, so that a
  // claim passes over a type at once, however many attempts wait.
  struct Bucket {
    AttemptHeap ready{AttemptHeap::By::visible_at};
    std::map<StepType, AttemptHeap> guarded;
  };
  AttemptHeap& heap_of(const Attempt& attempt);
  // Calls visit(attempt, from) for the first attempt of each heap of the bucket, and when it can be
  // claimed; not for one that must wait until its circuit breaker lets it through.
  template <typename Visit>
  void visit_first(const Bucket& bucket, Visit visit) const;
  [[nodiscard]] std::optional<TimeMs> first_at(const Bucket& bucket) const;
  // When the circuit lets the attempt through; empty: not while another one probes.
  [[nodiscard]] std::optional<TimeMs> passes_at(const StepType& type, const Attempt& attempt) const;
  // Changes what is known of the circuit of a type.
  template <typename Change>
  void edit_circuit(const StepType& type, Change change);
  void set_circuit(const StepType& type, const std::optional<Circuit>& circuit);
  void count_failure(const Attempt& attempt, const Payload& error);
  void count_success(const Attempt& attempt);
  [[nodiscard]] bool claimable_run(const RunId& id) const;
  // Inserts an attempt into the heap for its state, or removes it from its heap.
  void index(Attempt& attempt);
  void unindex(Attempt& attempt);
  void reindex(const QueuedRun& known);
  void note_change();

  SharedText queue_;
  UndoLog* undo_ = nullptr;
  std::vector<DispatchProjection*>* changed_ = nullptr;  // queues that have changed
  bool listed_ = false;                                  // this one is in the list
  Revision revision_;
  std::uint64_t next_order_ = 0;
  std::unordered_map<SharedText, Attempt, SharedTextHash, SharedTextEqual> attempts_;
  std::unordered_map<RunId, QueuedRun, RunIdHash> runs_;
  std::vector<Anomaly> anomalies_;
  std::map<SharedText, Bucket> buckets_;  // by handler
  std::map<StepType, Circuit> circuits_;
  AttemptHeap leases_{AttemptHeap::By::lease_until};
  AttemptHeap timeouts_{AttemptHeap::By::timeout};
  std::vector<SharedText> put_off_;  // timeouts
};

}  // namespace holdfast
