#include "runs/inspect/run_queries.h"

#include "base/json_writer.h"
#include "runs/view/run_snapshot.h"

namespace holdfast {

namespace {

bool is_filtered(const RunFilter& filter) {
  return !filter.workflow.empty() || !filter.statuses.empty() || filter.started_from.has_value() ||
         filter.started_before.has_value() || !filter.attributes.empty();
}

void write_known(JsonWriter& json, std::string_view name, const std::vector<KnownWorkflow>& all) {
  json.objects(name, all, [&](const KnownWorkflow& known) {
    json.member("workflow", known.workflow).member("version", known.version);
    json.member("fingerprint", known.fingerprint).member("registered_at", known.registered_at);
  });
}

struct ViewJson {
  JsonText operator()(const RunPageView& page) const { return to_json(page.rows, page.moment); }
  JsonText operator()(const JsonText& json) const { return json; }
  JsonText operator()(const RunDetails& details) const {
    return run_snapshot(details.stored.source(details.moment.position, details.moment.now));
  }
  JsonText operator()(const GraphView& view) const { return to_json(view.graph, view.history); }
  JsonText operator()(const TimelineView& view) const { return to_json(view.timeline); }
  JsonText operator()(const WorkflowsView& view) const {
    JsonWriter json;
    json.begin_object();
    write_known(json, view.member, view.workflows);
    json.end_object();
    return std::move(json).take_text();
  }
  JsonText operator()(const WorkflowView& view) const {
    const Definition& definition = *view.definition;
    JsonWriter json;
    json.begin_object().member("workflow", definition.workflow().view());
    json.member("version", definition.version().view());
    json.member("fingerprint", definition.fingerprint().view());
    json.member("definition", JsonText::trusted(std::string(definition.spec().view())));
    write_known(json, "registered", view.versions);
    json.end_object();
    return std::move(json).take_text();
  }
  JsonText operator()(const WorkflowDiffView& view) const {
    const Definition& before = *view.before.definition;
    const Definition& after = *view.after.definition;
    JsonWriter json;
    json.begin_object().member("before", before.fingerprint().view());
    json.member("after", after.fingerprint().view());
    json.member("same", before.fingerprint() == after.fingerprint());
    json.member("changes", to_json(json_diff(before.spec().view(), after.spec().view())));
    json.end_object();
    return std::move(json).take_text();
  }
  template <typename Other>
  JsonText operator()(const Other& view) const {
    return to_json(view);
  }
};

}  // namespace

std::string view_json(const View& view) {
  return std::string(std::visit(ViewJson{}, view).view()) + '\n';
}

bool is_fault(const View& view) {
  const auto* const diagnosis = std::get_if<Diagnosis>(&view);
  return diagnosis != nullptr && diagnosis->verdict() == Check::Verdict::fault;
}

Result<View> RunQueries::list(RunListQuery query, const std::string& at) {
  HOLDFAST_TRY(const At point, At::parse(at));
  HOLDFAST_TRY(const Moment moment, inspector_.moment(point));
  HOLDFAST_TRY(RunRows page, list_runs(journal_, query, moment));
  // A filter that few runs match gives short pages: continue until one has a run.
  while (page.rows.empty() && !page.next.empty()) {
    query.cursor = page.next;
    HOLDFAST_TRY(page, list_runs(journal_, query, moment));
  }
  return View(RunPageView{std::move(page), moment, is_filtered(query.filter)});
}

Result<View> RunQueries::of_run(const RunId& run, const ShowRequest& request) {
  HOLDFAST_TRY(const At at, At::parse(request.at));
  if (form_ == Form::json) {
    HOLDFAST_TRY(JsonText snapshot, inspector_.snapshot(run, at));
    return View(std::move(snapshot));
  }
  HOLDFAST_TRY(const Moment moment, inspector_.moment(at, run));
  HOLDFAST_TRY(StoredRun stored, read_stored_run(journal_, run, moment.position));
  HOLDFAST_TRY(Explanation why, inspector_.explain(run, at));
  return View(RunDetails{std::move(stored), std::move(why), moment});
}

Result<View> RunQueries::of_run(const RunId& run, const ExplainRequest& request) {
  HOLDFAST_TRY(const At at, At::parse(request.at));
  HOLDFAST_TRY(Explanation why, inspector_.explain(run, at));
  return View(std::move(why));
}

Result<View> RunQueries::of_run(const RunId& run, const GraphRequest& request) {
  HOLDFAST_TRY(const At at, At::parse(request.at));
  HOLDFAST_TRY(RunGraph graph, inspector_.graph(run, at));
  return View(GraphView{std::move(graph), request.form, request.history});
}

Result<View> RunQueries::of_run(const RunId& run, const TimelineRequest& request) {
  HOLDFAST_TRY(const At at, At::parse(request.at));
  HOLDFAST_TRY(Timeline timeline, inspector_.timeline(run, at));
  return View(TimelineView{std::move(timeline), request.events});
}

Result<View> RunQueries::of_run(const RunId& run, const DiffRequest& request) {
  HOLDFAST_TRY(const At from, At::parse(request.from));
  HOLDFAST_TRY(const At to, At::parse(request.to));
  HOLDFAST_TRY(Inspector::Difference difference, inspector_.diff(run, from, to));
  return View(std::move(difference));
}

Result<View> RunQueries::of_store(const StatusRequest& request) {
  HOLDFAST_TRY(const At at, At::parse(request.at));
  HOLDFAST_TRY(StoreStatus status, inspector_.status(at));
  return View(std::move(status));
}

Result<View> RunQueries::of_store(const DoctorRequest& request) {
  HOLDFAST_TRY(const At at, At::parse(request.at));
  HOLDFAST_TRY(Diagnosis diagnosis, inspector_.doctor(at));
  return View(std::move(diagnosis));
}

Result<View> RunQueries::of_store(const WorkflowsRequest& /*request*/) {
  HOLDFAST_TRY(auto workflows, inspector_.workflows());
  return View(WorkflowsView{"workflows", std::move(workflows)});
}

Result<View> RunQueries::of_store(const WorkflowRequest& request) {
  HOLDFAST_TRY(auto definition, inspector_.workflow(request.workflow));
  HOLDFAST_TRY(auto versions, inspector_.versions(definition->workflow().view()));
  return View(WorkflowView{std::move(definition), std::move(versions)});
}

Result<View> RunQueries::of_store(const VersionsRequest& request) {
  HOLDFAST_TRY(const auto definition, inspector_.workflow(request.workflow));
  HOLDFAST_TRY(auto versions, inspector_.versions(definition->workflow().view()));
  return View(WorkflowsView{"versions", std::move(versions)});
}

Result<View> RunQueries::of_store(const WorkflowDiffRequest& request) {
  HOLDFAST_TRY(auto before, inspector_.workflow(request.from));
  HOLDFAST_TRY(auto after, inspector_.workflow(request.to));
  return View(WorkflowDiffView{{request.from, std::move(before)}, {request.to, std::move(after)}});
}

}  // namespace holdfast
