// Queries on runs. Runs that have not ended are read in the loop, which has them in memory; all
// others are read from the journal, outside the loop.
#include "apps/embed/embed_views.h"
#include "apps/embed/engine_impl.h"
#include "runs/api/json_object.h"
#include "runs/inspect/live_run_view.h"

namespace holdfast {

namespace {

Result<RunListQuery> query_of(const ListOptions& options) {
  RunListQuery query;
  query.newest_first = options.order == ListOrder::newest_first;
  query.limit = options.limit;
  query.cursor = options.cursor;
  query.filter.workflow = options.workflow;
  query.filter.archived = options.archived;
  if (options.started_from_ms != 0) {
    query.filter.started_from = TimeMs{options.started_from_ms};
  }
  if (options.started_before_ms != 0) {
    query.filter.started_before = TimeMs{options.started_before_ms};
  }
  Payload attributes;
  if (!options.attributes.empty()) {
    HOLDFAST_TRY(attributes, object_of("attributes", options.attributes));
  }
  HOLDFAST_CHECK(query.filter.select(options.statuses, attributes.view()));
  return query;
}

}  // namespace

Result<Inspector> Engine::Impl::inspector() {
  if (const auto why = loop_->failure()) {
    return *why;
  }
  return Inspector(loop_->journal(), *clock_);
}

template <typename View>
Result<std::optional<View>> Engine::Impl::view_live(
    const RunId& run, std::function<Result<View>(const RunSource&, const FindRun&)> view) {
  Loop::Waiter waiter;
  Result<std::optional<View>> seen = std::optional<View>();
  const auto query = [run, view = std::move(view)](Turn& turn) -> Result<std::optional<View>> {
    if (!turn.state().runs().is_live(run)) {
      return std::optional<View>();
    }
    const FindRun find = live_finder(turn);
    HOLDFAST_TRY(const auto source, find(run));
    HOLDFAST_TRY(View made, view(*source, find));
    return std::optional<View>(std::move(made));
  };
  std::vector<LoopRequest> requests{CheckForChanges{}};
  requests.emplace_back(std::make_shared<FunctionCommand<std::optional<View>>>(
      query, [&](Result<std::optional<View>> result) {
        seen = std::move(result);
        waiter.wake();
      }));
  loop_->enqueue(std::move(requests));
  loop_->drive_until(waiter);
  return seen;
}

Result<RunView> Engine::Impl::inspect(const RunId& run) {
  HOLDFAST_TRY(auto live, view_live<RunView>(run, [](const RunSource& source, const FindRun&) {
                 return Result<RunView>(view_of(source));
               }));
  if (live.has_value()) {
    return *std::move(live);
  }
  HOLDFAST_TRY(Inspector inspector, this->inspector());
  HOLDFAST_TRY(const Moment now, inspector.moment({}));
  HOLDFAST_TRY(const StoredRun stored, read_stored_run(loop_->journal(), run, now.position));
  return view_of(stored.source(now.position, now.now));
}

Result<RunExplanation> Engine::Impl::explain(const RunId& run, std::string_view at) {
  HOLDFAST_TRY(const At point, At::parse(at));
  if (point.kind == At::Kind::now) {
    HOLDFAST_TRY(auto live, view_live<Explanation>(run, explain_run));
    if (live.has_value()) {
      return with_backends(run, *std::move(live));
    }
  }
  HOLDFAST_TRY(Inspector inspector, this->inspector());
  HOLDFAST_TRY(const Explanation explanation, inspector.explain(run, point));
  return public_form(explanation);
}

RunExplanation Engine::Impl::with_backends(const RunId& run, Explanation explanation) {
  if (leases_ != nullptr) {
    explanation.backends = leases_->describe(run);
  }
  return public_form(explanation);
}

Result<RunPage> Engine::Impl::list(const ListOptions& options) {
  HOLDFAST_TRY(const RunListQuery query, query_of(options));
  HOLDFAST_TRY(const At point, At::parse(options.at));
  HOLDFAST_TRY(Inspector inspector, this->inspector());
  HOLDFAST_TRY(const Moment moment, inspector.moment(point));
  HOLDFAST_TRY(const RunRows rows, list_runs(loop_->journal(), query, moment));
  RunPage page = public_form(rows);
  page.json = std::string(to_json(rows, moment).view());
  return page;
}

}  // namespace holdfast
