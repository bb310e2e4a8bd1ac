// LiveQueues: the queues with the attempts of live runs, which queues know which run, and what is
// due next in any of them. Nothing here visits every queue.
//
// An index leads from a run to its queues (invariant E5 of docs/protocol.md), and a runnable key
// begins with the id of its run. The index is kept by run and not by key: a key costs memory for
// every pending attempt, a run has few queues. Only keys of other forms, which another writer may
// have chosen, are indexed themselves.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <unordered_map>
#include <vector>

#include "base/undo.h"
#include "runs/dispatch/dispatch_projection.h"
#include "runs/engine/queue_index.h"
#include "runs/engine/served_queues.h"
#include "storage/journal/journal.h"

namespace holdfast {

class LiveQueues {
 public:
  using Map = std::map<SharedText, std::unique_ptr<DispatchProjection>>;

  // Payloads of attempts that are longer than payload_bytes stay in the journal. The journal and
  // the log must outlive this.
  LiveQueues(Journal& journal, UndoLog& undo, std::size_t payload_bytes)
      : journal_(journal), undo_(undo), payload_bytes_(payload_bytes) {}
  LiveQueues(const LiveQueues&) = delete;
  LiveQueues& operator=(const LiveQueues&) = delete;

  // The queue of this name; created if there is none.
  DispatchProjection& get(const SharedText& name);
  [[nodiscard]] const Map& all() const { return queues_; }
  // The queue that holds the attempt; nullptr if none does. The queues of the run are searched
  // first; another one only holds it if the key belongs to another run.
  [[nodiscard]] DispatchProjection* find(const RunId& run, std::string_view runnable_key) const;
  // The same, if only the key is known.
  [[nodiscard]] DispatchProjection* find(std::string_view runnable_key) const;
  // The queues that may know something of the run, ordered by name: those that have a record of it,
  // and those with anomalies.
  [[nodiscard]] std::vector<const DispatchProjection*> about(const RunId& run) const;
  // Calls visit(DispatchProjection&) for each queue that knows the run, in no order.
  template <typename Visit>
  void for_each_of(const RunId& run, Visit visit) const {
    const auto [first, last] = by_run_.equal_range(run);
    for (auto known = first; known != last; ++known) {
      visit(*known->second);
    }
  }
  [[nodiscard]] std::size_t attempt_count() const { return index().attempt_count(); }

  // Attempts of these queues are carried to workers by another program: a worker claims them only
  // if it names the queue. To be called once, before there are queues.
  void set_carried(std::set<SharedText> names) { carried_ = std::move(names); }

  // The queue with the attempt to claim next, of those that are served. nullptr: there is none.
  // Handlers as in DispatchProjection::next_claimable.
  DispatchProjection* find_claimable(const ServedQueues& served,
                                     const std::vector<SharedText>& handlers, TimeMs now);
  // When time may next change its answer; empty: never.
  [[nodiscard]] std::optional<TimeMs> next_claimable_at(const ServedQueues& served,
                                                        const std::vector<SharedText>& handlers,
                                                        TimeMs now) const;
  // The queue with the timer that is due first, and with the attempt that timed out first; nullptr:
  // there is none by `now`.
  DispatchProjection* find_due_timer(TimeMs now);
  [[nodiscard]] DispatchProjection* find_timed_out(TimeMs now) const;
  // When one of the two may next find another one: a timer, a timeout or the end of a lease.
  [[nodiscard]] std::optional<TimeMs> next_time() const;
  // As in DispatchProjection; resumes what was put off in any queue.
  void put_off_timeout(DispatchProjection& queue, const SharedText& runnable_key);
  void resume_timeouts();

  // False if the fact breaks a rule: then it changed nothing and became an anomaly.
  bool evolve(const SharedText& name, TimeMs at, const DispatchFact& fact);
  // From now on nothing of the run can be claimed or reported in this queue.
  void end_run(DispatchProjection& queue, const RunId& run);
  // Drops everything about a run whose end is durable.
  void forget_run(const RunId& run);

  // Drops large payloads whose facts are durable.
  void trim();
  // Reads the payloads of an outcome that trim() dropped.
  Result<void> read_outcome(const SharedText& queue, Outcome& outcome) const;

  // From a checkpoint; there must be no queues yet.
  void restore(Map queues);

 private:
  // A payload of an attempt that leaves memory once the fact that holds it is durable.
  struct LargePayload {
    enum class Part : std::uint8_t { input, outcome };
    SharedText queue;
    SharedText runnable_key;
    Part part = Part::input;
    Revision seq;
    UndoLog::Mark mark = 0;  // durable when nothing before it can be undone
  };
  class TakeFact;

  void watch(DispatchProjection& queue);
  DispatchProjection* find_claimable_in(const std::vector<SharedText>& names,
                                        const std::vector<SharedText>& handlers, TimeMs now);
  void add(const RunId& run, DispatchProjection& queue);
  void remove(const RunId& run, const DispatchProjection& queue);
  void add_key(const SharedText& runnable_key, DispatchProjection& queue);
  [[nodiscard]] DispatchProjection* find_in(const RunId& run, std::string_view runnable_key) const;
  // As of now.
  [[nodiscard]] const QueueIndex& index() const;
  // Makes claims whose lease has expired claimable again.
  void advance(TimeMs now);

  Journal& journal_;
  UndoLog& undo_;
  std::size_t payload_bytes_;
  Map queues_;
  // A queue is under a run exactly if it has a record of it.
  std::unordered_multimap<RunId, DispatchProjection*, RunIdHash> by_run_;
  // Queues with attempts under keys that do not begin with the id of their run. Perhaps not any
  // more: the queue itself is authoritative.
  std::unordered_multimap<SharedText, DispatchProjection*, SharedTextHash, SharedTextEqual> by_key_;
  std::size_t kept_keys_ = 0;                            // when by_key_ was last cleaned
  std::map<SharedText, DispatchProjection*> anomalous_;  // queues with anomalies, by name
  std::vector<DispatchProjection*> put_off_;             // queues with timeouts put off
  mutable std::vector<DispatchProjection*> changed_;     // queues that index_ does not know as is
  mutable QueueIndex index_;
  std::deque<LargePayload> large_;
  std::set<SharedText> carried_;
};

}  // namespace holdfast
