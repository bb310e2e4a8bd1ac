// The folds by which runs are found: per workflow (run_index:<workflow>) and all of them
// (run_catalog:all). Anomalies: malformed_entry, conflicting_workflow, conflicting_run_index,
// conflicting_run_catalog.
#pragma once

#include <map>
#include <vector>

#include "runs/facts/anomaly.h"
#include "runs/run/run_fact.h"

namespace holdfast {

struct ListedRun {
  RunId run_id;
  SharedText workflow;
  SharedText queue;
  TimeMs at;

  HOLDFAST_FIELDS(required(run_id), required(workflow), required(queue), required(at));
  friend bool operator==(const ListedRun&, const ListedRun&) = default;
};

class RunListing {
 public:
  // Of one workflow.
  static RunListing index(SharedText workflow) { return RunListing(std::move(workflow)); }
  // Of all.
  static RunListing catalog() { return RunListing(SharedText()); }

  void fold(const EntryView& entry);

  // In the order they were listed.
  [[nodiscard]] const std::vector<ListedRun>& runs() const { return runs_; }
  [[nodiscard]] const std::vector<Anomaly>& anomalies() const { return anomalies_; }

  [[nodiscard]] std::string encode() const;
  static Result<RunListing> decode(std::string_view bytes);

 private:
  explicit RunListing(SharedText workflow) : workflow_(std::move(workflow)) {}

  SharedText workflow_;  // empty: the catalog
  std::vector<ListedRun> runs_;
  std::map<RunId, std::size_t> by_id_;
  std::vector<Anomaly> anomalies_;
};

}  // namespace holdfast
