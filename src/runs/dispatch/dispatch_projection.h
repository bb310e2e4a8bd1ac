// DispatchProjection: the fold of one dispatch thread, with what run threads say about the same
// runs (results applied, runs ended). It answers which attempt may be claimed next.
//
// A fact that breaks a rule changes nothing and becomes an anomaly (dispatch/rules.h). Costs do
// not grow with the number of attempts, but for the logarithm of the heaps.
//
// With an UndoLog every change can be taken back. The projection must then stay where it is.
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
#include "runs/dispatch/dispatch_rules.h"
#include "runs/facts/anomaly.h"

namespace holdfast {

// What a queue knows of a run.
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
  // Entries of the thread folded in so far, valid or not; whoever folds a part of it sets it.
  [[nodiscard]] Revision revision() const { return revision_; }
  void set_revision(Revision revision) { revision_ = revision; }

  void evolve(TimeMs at, const DispatchFact& fact);
  // An entry of the thread as it is stored; what is no fact becomes a malformed_entry anomaly.
  void fold(const EntryView& entry);
  // From run threads: a result became part of the run; the run ended.
  void evolve(TimeMs at, const ResultApplied& applied);
  void end_run(const RunId& id);
  // Drops everything about a run that has ended, to keep memory for live work.
  void forget_run(const RunId& id);
  // Keeps of an input, or of how an attempt ended, only what it is compared by, and the entry that
  // holds it. Final: that entry must be durable. No rule has another answer afterwards.
  void drop_input(std::string_view runnable_key, Revision seq);
  void drop_outcome(std::string_view runnable_key, Revision seq);

  [[nodiscard]] const Attempt* find(std::string_view runnable_key) const;
  [[nodiscard]] const QueuedRun* find_run(const RunId& id) const;
  [[nodiscard]] std::size_t attempt_count() const { return attempts_.size(); }
  [[nodiscard]] const std::vector<Anomaly>& anomalies() const { return anomalies_; }

  // Makes claims whose lease is over by `now` claimable again. Call it before the four below; it
  // changes no answer but theirs.
  void advance(TimeMs now);
  // The attempt to claim next: visible or expired, of one of the handlers (all but timers, when
  // empty).
  [[nodiscard]] const Attempt* next_claimable(std::span<const SharedText> handlers,
                                              TimeMs now) const;
  // When next_claimable may next have another answer because time went by; empty: never.
  [[nodiscard]] std::optional<TimeMs> next_change(std::span<const SharedText> handlers,
                                                  TimeMs now) const;

  // Those that somebody holds, in no order.
  [[nodiscard]] std::vector<const Attempt*> held() const;
  // What there is to claim, by handler. Looks at what is visible, not at what is for later.
  struct Waiting {
    std::size_t visible = 0;
    std::size_t expired = 0;                       // of these: somebody held them for too long
    std::size_t later = 0;                         // to be visible some time
    const Attempt* first = nullptr;                // of the visible ones, in claim order
    std::optional<TimeMs> next_at = std::nullopt;  // of the later ones
  };
  [[nodiscard]] std::map<SharedText, Waiting> waiting(TimeMs now) const;

  // The attempt whose time was up first, by `now`; nullptr when there is none.
  [[nodiscard]] const Attempt* timed_out(TimeMs now) const;
  [[nodiscard]] std::optional<TimeMs> next_timeout() const;
  // Leaves the timeout of an attempt out until something happens to it, or until it is resumed:
  // for those who cannot deal with it. No part of the state.
  void put_off_timeout(const SharedText& runnable_key);
  void resume_timeouts();

  // In claim order, those of a run as they were scheduled. These look at every attempt: for
  // inspection, not for the loop.
  [[nodiscard]] std::vector<const Attempt*> attempts() const;
  [[nodiscard]] std::vector<const Attempt*> attempts_of(const RunId& id) const;

  // The whole state as bytes and back; equal states give equal bytes. invalid_argument or
  // missing_fields when the bytes are not what encode made. The revision is no part of them.
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
  void apply(TimeMs at, const ResultApplied& fact);

  // The run's record, made when it is not there.
  QueuedRun& run(const RunId& id);
  QueuedRun& edit_run(const RunId& id);
  // For changes that open or close the run's attempts to claims.
  template <typename Change>
  void change_run(const RunId& id, Change change);
  Attempt& add_attempt(Attempt attempt);
  void share_key(Attempt& attempt) const;
  // Notes how to undo, takes the attempt out of its heap, lets `change` work on it, puts it back.
  template <typename Change>
  void edit(std::string_view runnable_key, Change change);
  void restore(const SharedText& runnable_key, const Attempt& old);
  void remove_attempt(const SharedText& runnable_key);

  struct Bucket {
    AttemptHeap ready{AttemptHeap::By::visible_at};
  };
  [[nodiscard]] bool claimable_run(const RunId& id) const;
  // Puts an attempt into the heap its state asks for, or takes it out of its heap.
  void index(Attempt& attempt);
  void unindex(Attempt& attempt);
  void reindex(const QueuedRun& known);

  SharedText queue_;
  UndoLog* undo_ = nullptr;
  Revision revision_;
  std::uint64_t next_order_ = 0;
  std::unordered_map<SharedText, Attempt, SharedTextHash, SharedTextEqual> attempts_;
  std::unordered_map<RunId, QueuedRun, RunIdHash> runs_;
  std::vector<Anomaly> anomalies_;
  std::map<SharedText, Bucket> buckets_;  // by handler
  AttemptHeap leases_{AttemptHeap::By::lease_until};
  AttemptHeap timeouts_{AttemptHeap::By::timeout};
  std::vector<SharedText> put_off_;  // timeouts
};

}  // namespace holdfast
