// RunQueries: the queries of runs/api/query_requests.h, answered from a journal as views. A view is
// written as JSON here, and as text by apps/terminal; the command line and the server use both.
//
// Each query reads only the journal, in the thread of the caller.
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "runs/api/query_requests.h"
#include "runs/inspect/inspector.h"

namespace holdfast {

enum class Form : std::uint8_t { json, text };

struct RunPageView {
  RunRows rows;
  Moment moment;
  bool filtered = false;  // the request selects some runs only
};
// A run with what its text needs besides the snapshot.
struct RunDetails {
  StoredRun stored;
  Explanation why;
  Moment moment;
};
struct GraphView {
  RunGraph graph;
  GraphForm form = GraphForm::tree;
  bool history = false;
};
struct TimelineView {
  Timeline timeline;
  bool events = false;
};
struct WorkflowsView {
  std::string_view member;  // of the JSON: workflows or versions
  std::vector<KnownWorkflow> workflows;
};
struct WorkflowView {
  std::shared_ptr<const Definition> definition;
  std::vector<KnownWorkflow> versions;  // of the same workflow
};
struct NamedDefinition {
  std::string name;  // as the caller named it
  std::shared_ptr<const Definition> definition;
};
struct WorkflowDiffView {
  NamedDefinition before;
  NamedDefinition after;
};
using View = std::variant<RunPageView, JsonText, RunDetails, Explanation, GraphView, TimelineView,
                          Inspector::Difference, StoreStatus, Diagnosis, WorkflowsView,
                          WorkflowView, WorkflowDiffView>;

// One line, with a line break. The JSON of RunDetails is that of the snapshot.
std::string view_json(const View& view);
bool is_fault(const View& view);  // the doctor found one

class RunQueries {
 public:
  // Both must outlive it. form: of the views that are requested.
  RunQueries(Journal& journal, Clock& clock, Form form)
      : journal_(journal), inspector_(journal, clock), form_(form) {}

  // Pages that a filter leaves empty are skipped.
  Result<View> list(RunListQuery query, const std::string& at);

  Result<View> of_run(const RunId& run, const ShowRequest& request);
  Result<View> of_run(const RunId& run, const ExplainRequest& request);
  Result<View> of_run(const RunId& run, const GraphRequest& request);
  Result<View> of_run(const RunId& run, const TimelineRequest& request);
  Result<View> of_run(const RunId& run, const DiffRequest& request);

  Result<View> of_store(const StatusRequest& request);
  Result<View> of_store(const DoctorRequest& request);
  Result<View> of_store(const WorkflowsRequest& request);
  Result<View> of_store(const WorkflowRequest& request);
  Result<View> of_store(const VersionsRequest& request);
  // Both versions must be full names.
  Result<View> of_store(const WorkflowDiffRequest& request);

  Inspector& inspector() { return inspector_; }

 private:
  Journal& journal_;
  Inspector inspector_;
  Form form_;
};

}  // namespace holdfast
