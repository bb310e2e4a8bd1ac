#include "apps/server/server_call.h"

#include <algorithm>

#include "apps/server/server_problem.h"
#include "runs/run/run_fact.h"

namespace holdfast {

namespace {

bool is_json_type(std::string_view type) {
  return type.empty() || type.substr(0, type.find(';')) == "application/json";
}

// The workflow of a run, from its first facts.
Result<std::string> workflow_of(Journal& journal, const RunId& run) {
  constexpr std::size_t kFirstFacts = 4;
  HOLDFAST_TRY(const auto entries, journal.load(run_thread(run), Revision{0}, kFirstFacts));
  for (const Entry& entry : entries) {
    if (entry.kind == RunStarted::kKind) {
      const auto started = from_json<RunStarted>(entry.data);
      if (started.ok()) {
        return started.value().workflow.str();
      }
    }
  }
  return run_not_found(run);
}

}  // namespace

Call::Call(Service& of, net::ExchangePtr over, const Route& matched,
           std::vector<std::string> path_arguments, Query url_query, Caller who)
    : service(of),
      exchange(std::move(over)),
      route(matched),
      arguments(std::move(path_arguments)),
      query(std::move(url_query)),
      caller(std::move(who)) {}

Query::PathParameters Call::path_parameters() const {
  Query::PathParameters named;
  std::string_view form = route.path;
  for (const std::string& argument : arguments) {
    form.remove_prefix(form.find('{') + 1);
    named.emplace_back(form.substr(0, form.find('}')), argument);
  }
  return named;
}

Form Call::form() const {
  const std::string_view accept = request().header("Accept");
  return accept.starts_with("text/plain") ? Form::text : Form::json;
}

Result<Style> Call::style() {
  constexpr std::uint64_t kWidest = 1000;
  constexpr std::uint64_t kNarrowest = 40;
  Style style;
  HOLDFAST_TRY(const auto width, query.number("width", 0, kWidest));
  if (width.has_value()) {
    style.width = static_cast<std::size_t>(std::max(kNarrowest, *width));
  }
  HOLDFAST_TRY(style.colour, query.flag("colour"));
  // Appended to suggested commands, so that they work for this caller.
  style.command_suffix = std::string(request().header("Holdfast-Command-Suffix"));
  return style;
}

void Call::note(int status, const std::string& why) {
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin_;
  service.metrics.answered(route.id, status, taken.count());
  const LogLevel level = status >= 500 ? LogLevel::warning : LogLevel::debug;
  if (service.log.enabled(level)) {
    ServerLog::Fields fields{
        {"operation", std::string(route.id)},
        {"status", std::to_string(status)},
        {"caller", caller.name},
        {"ms", std::to_string(static_cast<std::int64_t>(taken.count() * 1000))}};
    if (!why.empty()) {
      fields.emplace_back("why", why);
    }
    service.log.write(level, "request", fields);
  }
}

void Call::answer(net::Response response) {
  note(response.status);
  exchange->reply(std::move(response));
}

void Call::answer_json(std::string_view json, int status) {
  net::Response response;
  response.status = status;
  response.body.reserve(json.size() + 1);
  response.body = json;
  if (!json.ends_with('\n')) {
    response.body += '\n';
  }
  answer(std::move(response));
}

void Call::answer_text(std::string text) {
  net::Response response;
  response.content_type = "text/plain; charset=utf-8";
  response.body = std::move(text);
  answer(std::move(response));
}

void Call::answer_view(const View& view, const Style& style) {
  net::Response response;
  if (form() == Form::text) {
    response.content_type = "text/plain; charset=utf-8";
  }
  if (std::holds_alternative<Diagnosis>(view)) {
    response.headers.push_back({"Holdfast-Verdict", is_fault(view) ? "fault" : "good"});
  }
  response.body = render_view(view, form(), style);
  answer(std::move(response));
}

void Call::fail(const Error& error) {
  Error sent = error;
  if (error.what_next() == WhatNext::in_doubt) {
    if (route.method == "GET") {
      // A query has no effect that could be in doubt.
      static_cast<void>(std::move(sent).with(WhatNext::retry));
    }
    for (const auto& [name, value] : identity_) {
      static_cast<void>(std::move(sent).with(name, value));
    }
  }
  net::Response response = problem_response(sent);
  note(response.status, error.text());
  exchange->reply(std::move(response));
}

void Call::identify(std::string_view name, std::string_view value) {
  identity_.emplace_back(name, value);
  exchange->identify(name, value);
}

Result<JsonText> json_body(const Call& call) {
  const net::Request& request = call.request();
  if (!is_json_type(request.header("Content-Type"))) {
    return Error{ErrorCode::invalid_argument, "the body must be application/json"}.with(
        "field", "Content-Type");
  }
  if (request.body.empty()) {
    return JsonText();
  }
  auto json = JsonText::parse(request.body);
  if (!json.ok()) {
    return std::move(json).error().in("the body");
  }
  if (!json.value().is_object()) {
    return Error{ErrorCode::invalid_argument, "the body must be a JSON object"}.with("field",
                                                                                     "body");
  }
  return json;
}

void read(const CallPtr& call, std::function<Result<void>()> work) {
  const Result<void> taken = call->service.readers.run([call, work = std::move(work)] {
    const Result<void> done = work();
    if (!done.ok()) {
      call->fail(done.error());
    }
  });
  if (!taken.ok()) {
    call->fail(taken.error());
  }
}

void inspect(const CallPtr& call, std::function<Result<View>(RunQueries&)> query) {
  const auto style = call->style();
  const Result<void> known = style.ok() ? call->query.finish() : Result<void>(style.error());
  if (!known.ok()) {
    call->fail(known.error());
    return;
  }
  read(call, [call, style = style.value(), query = std::move(query)]() -> Result<void> {
    RunQueries queries(call->service.loop.journal(), call->service.clock, call->form());
    HOLDFAST_TRY(const View view, query(queries));
    call->answer_view(view, style);
    return {};
  });
}

Error run_not_found(const RunId& run) {
  return Error{ErrorCode::run_not_found, "run " + to_string(run) + " does not exist"}.with(
      "run_id", to_string(run));
}

Result<void> check_workflow(const Caller& caller, std::string_view workflow) {
  if (caller.may_see(workflow)) {
    return {};
  }
  return Error{ErrorCode::permission_denied,
               "token \"" + caller.name + "\" is limited to other workflows"}
      .with("workflow", workflow);
}

void with_run(const CallPtr& call, std::function<void(const RunId& run)> then) {
  const std::string& name = call->arguments.front();
  const auto id = parse_run_id(name);
  if (id.ok() && call->caller.workflows.empty()) {
    then(id.value());
    return;
  }
  read(call, [call, name, id, then = std::move(then)]() -> Result<void> {
    Journal& journal = call->service.loop.journal();
    RunId run = id.ok() ? id.value() : RunId{};
    if (!id.ok()) {
      HOLDFAST_TRY(run, Inspector(journal, call->service.clock).find(name));
    }
    if (!call->caller.workflows.empty()) {
      HOLDFAST_TRY(const std::string workflow, workflow_of(journal, run));
      HOLDFAST_CHECK(check_workflow(call->caller, workflow));
    }
    then(run);
    return {};
  });
}

}  // namespace holdfast
