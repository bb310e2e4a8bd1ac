// Queries on runs and the store, now or at an earlier point.
#include "apps/server/server_call.h"
#include "apps/server/server_filter.h"
#include "apps/server/server_operations.h"
#include "runs/run/redact.h"
#include "storage/journal/journal_history.h"

namespace holdfast {

namespace {

// A view of a run.
template <HasFields Request>
Result<void> inspect_run(const CallPtr& call) {
  HOLDFAST_TRY(const Request request, read_query<Request>(*call));
  with_run(call, [call, request](const RunId& run) {
    inspect(call, [run, request](RunQueries& queries) { return queries.of_run(run, request); });
  });
  return {};
}

// A view of the store.
template <HasFields Request>
Result<void> inspect_store(const CallPtr& call) {
  HOLDFAST_TRY(const Request request, read_query<Request>(*call));
  inspect(call, [request](RunQueries& queries) { return queries.of_store(request); });
  return {};
}

// customer=ann becomes {"customer":"ann"}. A value that is not JSON is a text, as on the command
// line.
Result<Payload> attributes_of(const std::vector<std::string>& given) {
  if (given.empty()) {
    return Payload();
  }
  JsonWriter json;
  json.begin_object();
  for (const std::string& attribute : given) {
    const std::size_t equals = attribute.find('=');
    if (equals == std::string::npos || equals == 0) {
      return Error{ErrorCode::invalid_argument,
                   "attribute must be NAME=VALUE, not \"" + attribute + "\""}
          .with("field", "attribute");
    }
    const std::string value = attribute.substr(equals + 1);
    const auto parsed = JsonText::parse(value);
    json.key(attribute.substr(0, equals));
    if (parsed.ok()) {
      json.raw(parsed.value());
    } else {
      json.string(value);
    }
  }
  json.end_object();
  return Payload(std::move(json).take_text());
}

Result<RunListQuery> list_query(const Call& call, const ListRequest& request) {
  RunFilterRequest filter;
  filter.workflow = request.workflow;
  filter.statuses = NonEmptyNames(request.statuses);
  filter.since = request.since;
  filter.until = request.until;
  HOLDFAST_TRY(filter.attributes, attributes_of(request.attributes));
  RunListQuery query;
  HOLDFAST_TRY(query.filter, filter_of(filter, call.caller, call.service.clock.now()));
  query.filter.archived = request.archived;
  query.limit = static_cast<std::size_t>(request.limit.value_or(query.limit));
  query.cursor = request.cursor;
  query.newest_first = request.order == RunOrder::newest;
  return query;
}

Result<FactsResponse> facts_of(Service& service, const RunId& run, const FactsRequest& request) {
  constexpr std::uint64_t kUsual = 200;
  Journal& journal = service.loop.journal();
  const Revision from{request.from.value_or(0)};
  const auto limit = static_cast<std::size_t>(request.limit.value_or(kUsual));
  HOLDFAST_TRY(const At at, At::parse(request.at));
  HOLDFAST_TRY(const Moment moment, Inspector(journal, service.clock).moment(at, run));
  HOLDFAST_TRY(const auto entries, journal.load(run_thread(run), from, limit + 1));
  if (entries.empty() && from == Revision{0}) {
    return run_not_found(run);
  }
  FactsResponse response;
  response.run_id = to_string(run);
  for (const Entry& entry : entries) {
    if (entry.position > moment.position) {
      break;
    }
    if (response.facts.size() == limit) {
      response.next = from.value + limit;
      break;
    }
    response.facts.push_back({entry.position.value, entry.seq.value, std::string(entry.kind),
                              entry.at, redact(Payload::trusted(entry.data))});
  }
  return response;
}

// Adds where the attempts of the run are now: the journal does not know it.
Result<View> with_backends(const Call& call, const RunId& run, const ExplainRequest& request,
                           Result<View> view) {
  auto* const why = view.ok() ? std::get_if<Explanation>(&view.value()) : nullptr;
  if (why != nullptr && request.at.empty() && call.service.leases != nullptr) {
    why->backends = call.service.leases->describe(run);
  }
  return view;
}

}  // namespace

Result<void> list_runs_page(const CallPtr& call) {
  HOLDFAST_TRY(const ListRequest request, read_query<ListRequest>(*call));
  HOLDFAST_TRY(const RunListQuery query, list_query(*call, request));
  inspect(call, [query, at = request.at](RunQueries& queries) { return queries.list(query, at); });
  return {};
}

Result<void> show_run_now(const CallPtr& call) { return inspect_run<ShowRequest>(call); }
Result<void> explain_run_now(const CallPtr& call) {
  HOLDFAST_TRY(const ExplainRequest request, read_query<ExplainRequest>(*call));
  with_run(call, [call, request](const RunId& run) {
    inspect(call, [call, run, request](RunQueries& queries) {
      return with_backends(*call, run, request, queries.of_run(run, request));
    });
  });
  return {};
}
Result<void> graph_run(const CallPtr& call) { return inspect_run<GraphRequest>(call); }
Result<void> timeline_run(const CallPtr& call) { return inspect_run<TimelineRequest>(call); }
Result<void> diff_run(const CallPtr& call) { return inspect_run<DiffRequest>(call); }

Result<void> facts_of_run(const CallPtr& call) {
  HOLDFAST_TRY(const FactsRequest request, read_query<FactsRequest>(*call));
  if (request.limit.value_or(1) == 0) {
    return Error{ErrorCode::invalid_argument, "limit must be at least 1"}.with("field", "limit");
  }
  with_run(call, [call, request](const RunId& run) {
    read(call, [call, run, request]() -> Result<void> {
      HOLDFAST_TRY(const FactsResponse facts, facts_of(call->service, run, request));
      call->answer_json(response_json(facts));
      return {};
    });
  });
  return {};
}

Result<void> store_status_now(const CallPtr& call) { return inspect_store<StatusRequest>(call); }
Result<void> doctor_now(const CallPtr& call) { return inspect_store<DoctorRequest>(call); }
Result<void> list_workflows(const CallPtr& call) { return inspect_store<WorkflowsRequest>(call); }

}  // namespace holdfast
