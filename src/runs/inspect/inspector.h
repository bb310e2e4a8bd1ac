// Inspector: answers every question about a journal, as it is or as it was, by reading alone. It
// touches nothing of the loop, so any thread may use its own, also on a journal that is opened
// only to be read. It keeps the runs it has read, so that reading one again is cheap.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runs/inspect/doctor.h"
#include "runs/inspect/run_list.h"
#include "runs/inspect/store_status.h"
#include "runs/inspect/stored_run.h"
#include "runs/view/explanation.h"
#include "runs/view/json_diff.h"
#include "runs/view/run_graph.h"
#include "runs/view/timeline.h"

namespace holdfast {

class Turn;

struct KnownWorkflow {
  std::string workflow;
  std::string version;
  std::string fingerprint;
  TimeMs registered_at;
};

class Inspector {
 public:
  // Both must outlive it.
  Inspector(Journal& journal, Clock& clock) : journal_(journal), clock_(clock), runs_(journal) {}

  // Runs; run_not_found, and invalid_argument when there is no such point.
  Result<JsonText> snapshot(const RunId& run, const At& at = {});
  Result<Explanation> explain(const RunId& run, const At& at = {});
  Result<RunGraph> graph(const RunId& run, const At& at = {});
  Result<Timeline> timeline(const RunId& run, const At& at = {});
  // From one snapshot to the other.
  struct Difference {
    Moment from;
    Moment to;
    std::vector<JsonChange> changes;
  };
  Result<Difference> diff(const RunId& run, const At& from, const At& to = {});

  // The whole store.
  Result<StoreStatus> status(const At& at = {});
  Result<Diagnosis> doctor(const At& at = {});

  // Calls `read` with the stored state. It does not go through the loop.
  Result<void> query(const std::function<Result<void>(Turn&)>& read);

  // What workflows new runs follow; every definition a workflow ever had, newest first.
  Result<std::vector<KnownWorkflow>> workflows();
  Result<std::vector<KnownWorkflow>> versions(std::string_view workflow);
  // NAME, NAME@VERSION or NAME@FINGERPRINT (a beginning of it). unknown_workflow.
  Result<std::shared_ptr<const Definition>> workflow(std::string_view name);

  // A run, by a part of its id; see find_run.
  Result<RunId> find(std::string_view part);
  Result<Moment> moment(const At& at, const std::optional<RunId>& run = std::nullopt);

 private:
  Result<JsonText> snapshot_at(const RunId& run, const Moment& moment);
  // The fold of everything up to the moment.
  struct Past;
  Result<std::unique_ptr<Past>> read_state(const At& at);

  Journal& journal_;
  Clock& clock_;
  StoredRuns runs_;
};

JsonText to_json(const Inspector::Difference& difference);

}  // namespace holdfast
