#include "runs/engine/row_collector.h"

#include <utility>

#include "base/fields.h"
#include "runs/engine/stored_row.h"

namespace holdfast {

void RowCollector::note(const LiveState& state, const GroupFacts& facts, std::size_t bytes,
                        const Committed& committed) {
  note_runs(state, facts, bytes);
  note_listings(facts, bytes, committed);
}

void RowCollector::note_runs(const LiveState& state, const GroupFacts& facts, std::size_t bytes) {
  const bool large_batch = bytes > kLargeRunBytes * facts.runs.size();
  std::vector<const RunProjection*> ended;
  for (const RunId& id : facts.runs) {
    // Null when the next group has changed the run already.
    const RunProjection* run = state.runs().find_durable(id);
    if (!large_.contains(id)) {
      if (!large_batch && (run == nullptr || run->fact_bytes() <= kLargeRunBytes)) {
        continue;
      }
      large_.insert(id);
    }
    if (due_.empty() || !due_.contains(id)) {
      changed_.insert(id);
    }
    if (run != nullptr && run->is_terminal()) {
      ended.push_back(run);
    }
  }
  for (const RunProjection* run : ended) {
    if (large_.erase(run->run_id()) > 0) {
      make_row(*run, state.position());
    }
  }
  if (large_.size() > state.runs().count()) {
    std::erase_if(large_, [&](const RunId& id) { return !state.runs().is_live(id); });
  }
}

void RowCollector::note_evicted(const RunProjection& run, Position position) {
  if (changed_.contains(run.run_id()) || due_.contains(run.run_id())) {
    make_row(run, position);
  }
}

void RowCollector::request() { due_.merge(changed_); }

void RowCollector::make_due(const LiveState& state, Disk disk) {
  for (const RunId& id : std::vector<RunId>(due_.begin(), due_.end())) {
    const RunProjection* run =
        disk == Disk::current ? state.runs().find(id) : state.runs().find_durable(id);
    if (run != nullptr) {
      make_row(*run, state.position());
    } else if (disk == Disk::current) {
      due_.erase(id);  // another process has ended the run, and stores the row
    }
  }
}

// The run is as it was at the position.
void RowCollector::make_row(const RunProjection& run, Position position) {
  changed_.erase(run.run_id());
  due_.erase(run.run_id());
  StoredRow stored{.row = {}, .position = position.value};
  fill_in(stored.row, run);
  if (const auto data = to_json(stored); data.ok()) {
    rows_.push_back({run_thread(run.run_id()), Checkpoint{kStoredRowVersion, run.revision(),
                                                          std::string(data.value().view())}});
  }
}

void RowCollector::note_listings(const GroupFacts& facts, std::size_t bytes,
                                 const Committed& committed) {
  if (bytes <= kLargeRunBytes * facts.listed.size()) {
    return;
  }
  for (const GroupFacts::Listed& listed : facts.listed) {
    const auto data = to_json(StoredListing{listed.run, listed.at});
    if (!data.ok()) {
      continue;
    }
    const auto add = [&](const ThreadId& list, std::size_t part) {
      // The entry is the only one of its part, so it is the one before the revision.
      const std::uint64_t seq = committed.revisions.at(part).value - 1;
      rows_.push_back({listing_name(list, seq), Checkpoint{kStoredRowVersion, Revision{0},
                                                           std::string(data.value().view())}});
    };
    add(index_thread(listed.run.workflow.view()), listed.index_part);
    add(catalog_thread(), listed.index_part + 1);
  }
}

std::vector<NamedCheckpoint> RowCollector::take() { return std::exchange(rows_, {}); }

}  // namespace holdfast
