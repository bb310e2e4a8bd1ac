// The latest state of every job, arranged for queries: pending jobs by kind and time of their
// schedule, claimed jobs by deadline.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mesh/roster/job_state.h"

namespace holdfast::mesh {

class JobIndex {
 public:
  // `kind` and `scheduled` are those of the job in the given state; ignored when it is unknown.
  struct Entry {
    JobId job;
    std::string_view kind;
    Timestamp scheduled;
    const JobState& state;
  };
  void remove(const Entry& entry);
  void insert(const Entry& entry);

  [[nodiscard]] std::vector<JobId> pending(std::string_view kind) const;
  [[nodiscard]] std::vector<JobId> overdue(std::uint64_t wall_ms) const;

 private:
  std::map<std::string, std::set<std::pair<Timestamp, JobId>>, std::less<>> pending_;
  std::set<std::pair<std::uint64_t, JobId>> claimed_;
};

}  // namespace holdfast::mesh
