// LiveQueues: the queues with the attempts of live runs, and which queues know which run.
//
// An index leads from a run to its queues, so that an attempt is found without a visit to every
// queue (invariant E5 of docs/protocol.md). It is kept by run and not by runnable key: a key costs
// memory for every pending attempt, a run has few queues.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/undo.h"
#include "runs/dispatch/dispatch_projection.h"
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
  // The names themselves; those of all queues if there are none.
  [[nodiscard]] const std::vector<SharedText>& names_of(
      const std::vector<SharedText>& names) const {
    return names.empty() ? names_ : names;
  }
  // The queue that holds the attempt; nullptr if none does. The queues of the run are searched
  // first; the others only hold it if the key belongs to another run.
  [[nodiscard]] DispatchProjection* find(const RunId& run, std::string_view runnable_key) const;
  // The same, if only the key is known: visits all queues.
  [[nodiscard]] DispatchProjection* find(std::string_view runnable_key) const;
  // Calls visit(DispatchProjection&) for each queue that knows the run, in no order.
  template <typename Visit>
  void for_each_of(const RunId& run, Visit visit) const {
    const auto [first, last] = by_run_.equal_range(run);
    for (auto known = first; known != last; ++known) {
      visit(*known->second);
    }
  }
  [[nodiscard]] std::size_t attempt_count() const;

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

  void index(const RunId& run, DispatchProjection& queue);
  void unindex(const RunId& run, const DispatchProjection& queue);

  Journal& journal_;
  UndoLog& undo_;
  std::size_t payload_bytes_;
  Map queues_;
  std::vector<SharedText> names_;  // in the order in which the queues were created
  // A queue is under a run exactly if it has a record of it.
  std::unordered_multimap<RunId, DispatchProjection*, RunIdHash> by_run_;
  std::deque<LargePayload> large_;
};

}  // namespace holdfast
