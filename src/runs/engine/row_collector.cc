#include "runs/engine/row_collector.h"

#include <utility>

#include "base/fields.h"
#include "runs/engine/stored_row.h"

namespace holdfast {

void RowCollector::note(const LiveState& state, const GroupFacts& facts, std::size_t bytes,
                        const Committed& committed) {
  note_runs(state, facts, bytes, committed.position);
  note_listings(facts, bytes, committed);
}

void RowCollector::note_runs(const LiveState& state, const GroupFacts& facts, std::size_t bytes,
                             Position position) {
  const bool large_batch = bytes > kLargeRunBytes * facts.runs.size();
  std::unordered_set<RunId, RunIdHash> seen;
  for (const RunId& id : facts.runs) {
    // Null when the next group has changed the run already: then that group brings the row.
    const RunProjection* run = state.runs().find_durable(id);
    if (!large_batch && !large_.contains(id) &&
        (run == nullptr || run->fact_bytes() <= kLargeRunBytes)) {
      continue;
    }
    large_.insert(id);
    if (run == nullptr || !seen.insert(id).second) {
      continue;
    }
    StoredRow stored{.row = {}, .position = position.value};
    fill_in(stored.row, *run);
    if (const auto data = to_json(stored); data.ok()) {
      rows_.push_back({run_thread(id), Checkpoint{kStoredRowVersion, run->revision(),
                                                  std::string(data.value().view())}});
    }
  }
  if (large_.size() > state.runs().count()) {
    std::erase_if(large_, [&](const RunId& id) { return !state.runs().is_live(id); });
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
