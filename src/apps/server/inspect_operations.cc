// Queries on runs and the store, now or at an earlier point.
#include "apps/server/server_call.h"
#include "apps/server/server_filter.h"
#include "apps/server/server_operations.h"
#include "base/json_slice.h"
#include "runs/run/redact.h"
#include "storage/journal/journal_history.h"

namespace holdfast {

namespace {

Result<At> at_of(Call& call, std::string_view name = "at") {
  return At::parse(call.query.text(name));
}

// A view of a run at a point: the form of most queries.
using RunRenderer = std::function<Result<std::string>(Answers&, const RunId&, const At&)>;
void inspect_run(const CallPtr& call, RunRenderer view) {
  const auto at = at_of(*call);
  if (!at.ok()) {
    return call->fail(at.error());
  }
  with_run(call, [call, at = at.value(), view = std::move(view)](const RunId& run) {
    inspect(call, [run, at, view](Answers& answers) { return view(answers, run, at); });
  });
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

Result<RunListQuery> list_query(Call& call) {
  RunFilterRequest filter;
  filter.workflow = call.query.text("workflow");
  filter.statuses = NonEmptyNames(call.query.list("status"));
  filter.since = call.query.text("since");
  filter.until = call.query.text("until");
  HOLDFAST_TRY(filter.attributes, attributes_of(call.query.list("attribute")));
  RunListQuery query;
  HOLDFAST_TRY(query.filter, filter_of(filter, call.caller, call.service.clock.now()));
  HOLDFAST_TRY(query.filter.archived, call.query.flag("archived"));
  HOLDFAST_TRY(const auto limit, call.query.number("limit", kMaxListed));
  query.limit = static_cast<std::size_t>(limit.value_or(query.limit));
  query.cursor = call.query.text("cursor");
  const std::string order = call.query.text("order");
  if (!order.empty() && order != "newest" && order != "oldest") {
    return Error{ErrorCode::invalid_argument,
                 "order must be newest or oldest, not \"" + order + "\""}
        .with("field", "order");
  }
  query.newest_first = order != "oldest";
  return query;
}

struct FactsQuery {
  Revision from;
  std::size_t limit = 200;
  At at;
};

Result<FactsQuery> facts_query(Call& call) {
  FactsQuery query;
  HOLDFAST_TRY(query.at, at_of(call));
  HOLDFAST_TRY(const auto from, call.query.number("from", UINT32_MAX));
  HOLDFAST_TRY(const auto limit, call.query.number("limit", kMaxListed));
  HOLDFAST_CHECK(call.query.finish());
  if (limit == std::optional<std::uint64_t>(0)) {
    return Error{ErrorCode::invalid_argument, "limit must be at least 1"}.with("field", "limit");
  }
  query.from = Revision{from.value_or(0)};
  query.limit = static_cast<std::size_t>(limit.value_or(query.limit));
  return query;
}

Result<std::string> facts_text(Service& service, const RunId& run, const FactsQuery& query) {
  Journal& journal = service.loop.journal();
  HOLDFAST_TRY(const Moment moment, Inspector(journal, service.clock).moment(query.at, run));
  HOLDFAST_TRY(const auto entries, journal.load(run_thread(run), query.from, query.limit + 1));
  if (entries.empty() && query.from == Revision{0}) {
    return Error{ErrorCode::run_not_found, "run " + to_string(run) + " does not exist"}.with(
        "run_id", to_string(run));
  }
  JsonWriter json;
  json.begin_object().member("run_id", to_string(run)).key("facts").begin_array();
  std::size_t shown = 0;
  bool more = false;
  for (const Entry& entry : entries) {
    more = entry.position <= moment.position && shown == query.limit;
    if (entry.position > moment.position || shown == query.limit) {
      break;
    }
    ++shown;
    json.begin_object().member("position", entry.position.value);
    json.member("seq", entry.seq.value).member("kind", entry.kind).member("at", entry.at.value);
    const Payload data = redact(Payload::trusted(entry.data));
    json.key("data").raw(JsonText::trusted(std::string(data.view()))).end_object();
  }
  json.end_array();
  if (more) {
    json.member("next", query.from.value + shown);
  }
  json.end_object();
  return std::move(json).take();
}

}  // namespace

void list_runs_page(const CallPtr& call) {
  const auto query = list_query(*call);
  const auto at = query.ok() ? at_of(*call) : Result<At>(query.error());
  if (!at.ok()) {
    return call->fail(at.error());
  }
  inspect(call, [query = query.value(), at = at.value()](Answers& answers) {
    return answers.list(query, at);
  });
}

void show_run_now(const CallPtr& call) {
  inspect_run(
      call, [](Answers& answers, const RunId& run, const At& at) { return answers.run(run, at); });
}

void explain_run_now(const CallPtr& call) {
  inspect_run(call, [](Answers& answers, const RunId& run, const At& at) {
    return answers.explain(run, at);
  });
}

void graph_run(const CallPtr& call) {
  Answers::GraphWish wish;
  const auto history = call->query.flag("history");
  const std::string form = call->query.text("form");
  if (!history.ok()) {
    return call->fail(history.error());
  }
  if (!form.empty() && form != "tree" && form != "dot" && form != "mermaid") {
    return call->fail(Error{ErrorCode::invalid_argument,
                            "form must be tree, dot or mermaid, not \"" + form + "\""}
                          .with("field", "form"));
  }
  wish.history = history.value();
  wish.form = form == "dot"       ? GraphForm::dot
              : form == "mermaid" ? GraphForm::mermaid
                                  : GraphForm::tree;
  inspect_run(call, [wish](Answers& answers, const RunId& run, const At& at) {
    return answers.graph(run, at, wish);
  });
}

void timeline_run(const CallPtr& call) {
  const auto events = call->query.flag("events");
  if (!events.ok()) {
    return call->fail(events.error());
  }
  const auto form = events.value() ? Answers::TimelineForm::events : Answers::TimelineForm::bars;
  inspect_run(call, [form](Answers& answers, const RunId& run, const At& at) {
    return answers.timeline(run, at, form);
  });
}

void diff_run(const CallPtr& call) {
  const auto from = at_of(*call, "from");
  const auto to = at_of(*call, "to");
  if (!from.ok() || !to.ok()) {
    return call->fail(from.ok() ? to.error() : from.error());
  }
  with_run(call, [call, from = from.value(), to = to.value()](const RunId& run) {
    inspect(call, [run, from, to](Answers& answers) { return answers.diff(run, from, to); });
  });
}

void facts_of_run(const CallPtr& call) {
  const auto query = facts_query(*call);
  if (!query.ok()) {
    return call->fail(query.error());
  }
  with_run(call, [call, query = query.value()](const RunId& run) {
    read(call, [call, run, query]() -> Result<void> {
      HOLDFAST_TRY(const std::string text, facts_text(call->service, run, query));
      call->answer_json(text);
      return {};
    });
  });
}

void store_status_now(const CallPtr& call) {
  const auto at = at_of(*call);
  if (!at.ok()) {
    return call->fail(at.error());
  }
  inspect(call, [at = at.value()](Answers& answers) { return answers.status(at); });
}

void doctor_now(const CallPtr& call) {
  const auto at = at_of(*call);
  const auto style = at.ok() ? call->style() : Result<Style>(at.error());
  const Result<void> known = style.ok() ? call->query.finish() : Result<void>(style.error());
  if (!known.ok()) {
    return call->fail(known.error());
  }
  read(call, [call, at = at.value(), style = style.value()]() -> Result<void> {
    Answers answers(call->service.loop.journal(), call->service.clock, call->form(), style);
    HOLDFAST_TRY(auto diagnosed, answers.doctor(at));
    net::Response response;
    if (call->form() == Form::text) {
      response.content_type = "text/plain; charset=utf-8";
    }
    response.headers.push_back({"Holdfast-Verdict", diagnosed.fault ? "fault" : "good"});
    response.body = std::move(diagnosed.text);
    call->answer(std::move(response));
    return {};
  });
}

}  // namespace holdfast
