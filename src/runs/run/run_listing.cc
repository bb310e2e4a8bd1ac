#include "runs/run/run_listing.h"

namespace holdfast {

namespace {

struct StoredListing {
  SharedText workflow;
  std::vector<ListedRun> runs;
  std::vector<Anomaly> anomalies;

  HOLDFAST_FIELDS(optional(workflow), required(runs), required(anomalies));
};

template <typename Fact>
Result<ListedRun> listed(const EntryView& entry) {
  if (entry.kind != Fact::kKind) {
    return Error{ErrorCode::unknown_entry_type, "this thread has no facts of that kind"};
  }
  HOLDFAST_TRY(Fact fact, from_json<Fact>(entry.data));
  return ListedRun{fact.run_id, fact.workflow, fact.queue, entry.at};
}

}  // namespace

void RunListing::fold(const EntryView& entry) {
  const bool catalog = workflow_.empty();
  Anomaly anomaly;
  anomaly.entry_type = entry.kind.empty() ? "none" : entry.kind;
  anomaly.at = entry.at;
  auto read = catalog ? listed<RunCataloged>(entry) : listed<RunIndexed>(entry);
  if (!read.ok()) {
    anomaly.reason = "malformed_entry";
    anomaly.detail = read.error().text();
    anomalies_.push_back(std::move(anomaly));
    return;
  }
  ListedRun& run = read.value();
  anomaly.run_id = run.run_id;
  if (!catalog && run.workflow != workflow_) {
    anomaly.reason = "conflicting_workflow";
    anomalies_.push_back(std::move(anomaly));
    return;
  }
  const auto [known, fresh] = by_id_.emplace(run.run_id, runs_.size());
  if (fresh) {
    runs_.push_back(std::move(run));
    return;
  }
  const ListedRun& first = runs_[known->second];
  if (first.workflow != run.workflow || first.queue != run.queue) {
    anomaly.reason = catalog ? "conflicting_run_catalog" : "conflicting_run_index";
    anomalies_.push_back(std::move(anomaly));
  }
}

std::string RunListing::encode() const {
  const auto text = to_json(StoredListing{workflow_, runs_, anomalies_});
  return std::string(text.value().view());
}

Result<RunListing> RunListing::decode(std::string_view bytes) {
  HOLDFAST_TRY(StoredListing stored, from_json<StoredListing>(bytes));
  RunListing listing(std::move(stored.workflow));
  listing.runs_ = std::move(stored.runs);
  listing.anomalies_ = std::move(stored.anomalies);
  for (std::size_t i = 0; i < listing.runs_.size(); ++i) {
    if (!listing.by_id_.emplace(listing.runs_[i].run_id, i).second) {
      return Error{ErrorCode::invalid_argument, "a run is listed twice"};
    }
  }
  return listing;
}

}  // namespace holdfast
