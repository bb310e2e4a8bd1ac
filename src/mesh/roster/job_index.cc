#include "mesh/roster/job_index.h"

#include "holdfast/assert.h"

namespace holdfast::mesh {

void JobIndex::remove(const Entry& entry) {
  if (entry.state.phase == JobPhase::pending) {
    const auto jobs = pending_.find(entry.kind);
    HOLDFAST_ASSERT(jobs != pending_.end());
    HOLDFAST_ASSERT(jobs->second.erase({entry.scheduled, entry.job}) == 1);
    if (jobs->second.empty()) {
      pending_.erase(jobs);
    }
  } else if (entry.state.phase == JobPhase::claimed) {
    HOLDFAST_ASSERT(claimed_.erase({*entry.state.deadline_ms, entry.job}) == 1);
  }
}

void JobIndex::insert(const Entry& entry) {
  if (entry.state.phase == JobPhase::pending) {
    auto jobs = pending_.find(entry.kind);
    if (jobs == pending_.end()) {
      jobs = pending_.try_emplace(std::string(entry.kind)).first;
    }
    jobs->second.emplace(entry.scheduled, entry.job);
  } else if (entry.state.phase == JobPhase::claimed) {
    claimed_.emplace(*entry.state.deadline_ms, entry.job);
  }
}

std::vector<JobId> JobIndex::pending(std::string_view kind) const {
  std::vector<JobId> found;
  if (const auto jobs = pending_.find(kind); jobs != pending_.end()) {
    for (const auto& [scheduled, job] : jobs->second) {
      found.push_back(job);
    }
  }
  return found;
}

std::vector<JobId> JobIndex::overdue(std::uint64_t wall_ms) const {
  std::vector<JobId> found;
  for (const auto& [deadline_ms, job] : claimed_) {
    if (deadline_ms >= wall_ms) {
      break;
    }
    found.push_back(job);
  }
  return found;
}

}  // namespace holdfast::mesh
