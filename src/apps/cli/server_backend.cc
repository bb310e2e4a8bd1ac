#include "apps/cli/server_backend.h"

#include <fmt/format.h>

#include <algorithm>

#include "apps/cli/arguments.h"
#include "base/json_slice.h"
#include "net/http.h"
#include "runs/facts/ids.h"

namespace holdfast {

using client::Query;
using net::HttpOutcome;
using net::url_encoded;

namespace {

using Answer = Backend::Answer;

constexpr std::uint64_t kWidest = 1000;  // that a server draws

std::string run_path(const std::string& run, std::string_view rest = {}) {
  return fmt::format("/v1/runs/{}{}", url_encoded(run), rest);
}

std::string workflow_path(const std::string& name, std::string_view rest = {}) {
  return fmt::format("/v1/workflows/{}{}", url_encoded(name), rest);
}

Query at_query(const std::string& at) {
  Query query;
  query.add("at", at);
  return query;
}

Error strange_answer(std::string_view what) {
  return Error{ErrorCode::io_error, fmt::format("the server's answer has no {}: is it a holdfast "
                                                "server of this version?",
                                                what)};
}

Result<std::string> text_member(const Json& json, std::string_view name) {
  const auto found = json.find(name);
  const auto text = found.has_value() ? found->string() : std::nullopt;
  return text.has_value() ? Result<std::string>(std::string(*text))
                          : Result<std::string>(strange_answer(name));
}

// What is not given is not sent.
void add_text(JsonWriter& json, std::string_view name, std::string_view value) {
  if (!value.empty()) {
    json.member(name, value);
  }
}

void add_object(JsonWriter& json, std::string_view name, const std::string& value) {
  if (!value.empty()) {
    json.member(name, JsonText::trusted(value));
  }
}

std::string_view path_of(ResolveOptions::Verb verb) {
  switch (verb) {
    case ResolveOptions::Verb::resume:
      break;
    case ResolveOptions::Verb::approve:
      return "/approve";
    case ResolveOptions::Verb::reject:
      return "/reject";
  }
  return "/resume";
}

}  // namespace

Result<std::unique_ptr<ServerBackend>> ServerBackend::open(const NamedServer& server,
                                                           Context& context) {
  HOLDFAST_TRY(auto calls, ServerCalls::open(server));
  return std::unique_ptr<ServerBackend>(new ServerBackend(std::move(calls), context));
}

Result<Answer> ServerBackend::query_server(const std::string& path, Query query) {
  if (form() == Form::text) {
    query.add("width", std::min<std::uint64_t>(style().width, kWidest))
        .add("colour", style().colour ? "1" : "");
  }
  ServerCalls::Call call;
  call.path = path + query.text();
  call.form = form();
  HOLDFAST_TRY(HttpOutcome answer, calls_->send(call));
  const bool fault = answer.header("holdfast-verdict") == "fault";
  if (!answer.body.ends_with('\n')) {
    answer.body += '\n';
  }
  return Answer{std::move(answer.body), fault};
}

Result<Answer> ServerBackend::inspect(const ListRunsOptions& options) {
  HOLDFAST_CHECK(At::parse(options.at));
  Query query = at_query(options.at);
  const TimeMs now = context_.clock.now();
  query.add("workflow", options.workflow);
  for (const std::string& status : options.statuses) {
    query.add("status", status);
  }
  if (!options.since.empty()) {
    HOLDFAST_CHECK(time_argument("since", options.since, now));
  }
  if (!options.until.empty()) {
    HOLDFAST_CHECK(time_argument("until", options.until, now));
  }
  query.add("since", options.since).add("until", options.until);
  HOLDFAST_CHECK(attributes_argument(options.attributes));
  for (const std::string& attribute : options.attributes) {
    query.add("attribute", attribute);
  }
  if (options.limit.has_value()) {
    query.add("limit", *options.limit);
  }
  query.add("cursor", options.cursor).add("order", options.oldest_first ? "oldest" : "");
  query.add("archived", options.archived ? "true" : "");
  return query_server("/v1/runs", std::move(query));
}

Result<Answer> ServerBackend::inspect(const ShowRunOptions& options) {
  return query_server(run_path(options.run), at_query(options.at));
}

Result<Answer> ServerBackend::inspect(const ExplainOptions& options) {
  return query_server(run_path(options.run, "/explain"), at_query(options.at));
}

Result<Answer> ServerBackend::inspect(const GraphOptions& options) {
  Query query = at_query(options.at);
  query.add("history", options.history ? "true" : "");
  query.add("form", options.dot ? "dot" : options.mermaid ? "mermaid" : "");
  return query_server(run_path(options.run, "/graph"), std::move(query));
}

Result<Answer> ServerBackend::inspect(const TimelineOptions& options) {
  Query query = at_query(options.at);
  query.add("events", options.events ? "1" : "");
  return query_server(run_path(options.run, "/timeline"), std::move(query));
}

Result<Answer> ServerBackend::inspect(const DiffOptions& options) {
  Query query;
  query.add("from", options.from).add("to", options.to);
  return query_server(run_path(options.run, "/diff"), std::move(query));
}

Result<Answer> ServerBackend::inspect(const StatusOptions& options) {
  return query_server("/v1/status", at_query(options.at));
}

Result<Answer> ServerBackend::inspect(const DoctorOptions& options) {
  return query_server("/v1/doctor", at_query(options.at));
}

Result<Answer> ServerBackend::workflows() { return query_server("/v1/workflows", {}); }

Result<Answer> ServerBackend::workflow(const std::string& name) {
  return query_server(workflow_path(name), {});
}

Result<std::shared_ptr<const Definition>> ServerBackend::definition(const std::string& name) {
  HOLDFAST_TRY(const std::string body, calls_->get(workflow_path(name)));
  JsonSlicer slicer(body);
  while (const auto member = slicer.next()) {
    if (member->name == "definition") {
      return Definition::parse(member->value);
    }
  }
  return strange_answer("definition");
}

Result<std::vector<KnownWorkflow>> ServerBackend::versions(const std::string& name) {
  HOLDFAST_TRY(const std::string body, calls_->get(workflow_path(name, "/versions")));
  HOLDFAST_TRY(const Json json, Json::parse(body));
  const auto list = json.find("versions");
  std::vector<KnownWorkflow> versions;
  for (std::size_t i = 0; list.has_value() && i < list->size(); ++i) {
    const Json item = list->item(i);
    KnownWorkflow known;
    HOLDFAST_TRY(known.workflow, text_member(item, "workflow"));
    HOLDFAST_TRY(known.version, text_member(item, "version"));
    HOLDFAST_TRY(known.fingerprint, text_member(item, "fingerprint"));
    const auto at = item.find("registered_at");
    known.registered_at.value = at.has_value() ? at->integer().value_or(0) : 0;
    versions.push_back(std::move(known));
  }
  return versions;
}

Result<std::string> ServerBackend::run_id(const std::string& run) {
  HOLDFAST_TRY(const std::string body, calls_->get(run_path(run, "/outcome")));
  HOLDFAST_TRY(const Json json, Json::parse(body));
  return text_member(json, "run_id");
}

Result<std::string> ServerBackend::send_command(const std::string& run, std::string_view command,
                                                JsonWriter body, bool repeatable) {
  body.end_object();
  Query query;
  if (form() == Form::text) {
    query.add("width", std::min<std::uint64_t>(style().width, kWidest))
        .add("colour", style().colour ? "1" : "");
  }
  ServerCalls::Call call;
  call.method = "POST";
  call.path = run_path(run, command) + query.text();
  call.body = std::move(body).take();
  call.form = form();
  call.repeatable = repeatable;
  HOLDFAST_TRY(HttpOutcome answer, calls_->send(call));
  if (!answer.body.ends_with('\n')) {
    answer.body += '\n';
  }
  return std::move(answer.body);
}

Result<std::string> ServerBackend::control(const CancelRunOptions& options) {
  JsonWriter body;
  body.begin_object().member("mode", options.stop         ? "stop"
                                     : options.compensate ? "compensate"
                                                          : "as_defined");
  add_text(body, "actor", options.actor);
  add_text(body, "comment", options.comment);
  add_text(body, "idempotency_key", options.key);
  return send_command(options.run, "/cancel", std::move(body), !options.key.empty());
}

Result<std::string> ServerBackend::control(const SignalRunOptions& options) {
  JsonWriter body;
  body.begin_object().member("event", options.event);
  add_object(body, "data", options.data);
  add_text(body, "correlation", options.correlation);
  add_text(body, "actor", options.actor);
  add_text(body, "idempotency_key", options.key);
  return send_command(options.run, "/signal", std::move(body), !options.key.empty());
}

Result<std::string> ServerBackend::control(const ResolveOptions& options) {
  JsonWriter body;
  body.begin_object();
  add_text(body, "step", options.step);
  add_text(body, "actor", options.actor);
  add_text(body, "comment", options.comment);
  add_text(body, "idempotency_key", options.key);
  return send_command(options.run, path_of(options.verb), std::move(body), !options.key.empty());
}

Result<StartedRun> ServerBackend::start_at(const std::string& path, JsonWriter body,
                                           bool repeatable) {
  body.end_object();
  ServerCalls::Call call;
  call.method = "POST";
  call.path = path;
  call.body = std::move(body).take();
  call.repeatable = repeatable;
  HOLDFAST_TRY(const HttpOutcome answer, calls_->send(call));
  HOLDFAST_TRY(const Json json, Json::parse(answer.body));
  StartedRun started;
  HOLDFAST_TRY(started.run_id, text_member(json, "run_id"));
  const auto existed = json.find("existed");
  started.existed = existed.has_value() && existed->boolean().value_or(false);
  return started;
}

Result<StartedRun> ServerBackend::replay(const ReplayRunOptions& options) {
  JsonWriter body;
  body.begin_object();
  add_text(body, "from_step", options.from_step);
  add_object(body, "input", options.input);
  if (options.allow_irreversible) {
    body.member("allow_irreversible", true);
  }
  add_text(body, "run_id", options.id);
  add_text(body, "actor", options.actor);
  add_text(body, "comment", options.comment);
  return start_at(run_path(options.run, "/replay"), std::move(body), !options.id.empty());
}

Result<void> ServerBackend::register_workflow(const Definition& definition) {
  ServerCalls::Call call;
  call.method = "POST";
  call.path = "/v1/workflows";
  call.body = definition.spec().view();
  call.repeatable = true;
  HOLDFAST_CHECK(calls_->send(call));
  return {};
}

Result<StartedRun> ServerBackend::start(const Start& start) {
  if (start.definition != nullptr) {
    HOLDFAST_CHECK(register_workflow(*start.definition));
  }
  JsonWriter body;
  body.begin_object().member("workflow", start.workflow);
  add_object(body, "input", start.input);
  add_text(body, "run_id", start.options.run_id);
  add_text(body, "idempotency_key", start.options.idempotency_key);
  add_text(body, "queue", start.options.queue);
  add_text(body, "trigger", start.options.trigger);
  add_object(body, "search_attributes", start.options.search_attributes);
  add_text(body, "actor", start.options.actor);
  add_text(body, "comment", start.options.comment);
  const bool repeatable = !start.options.run_id.empty() || !start.options.idempotency_key.empty();
  return start_at("/v1/runs", std::move(body), repeatable);
}

Result<std::string> ServerBackend::snapshot(const std::string& run_id) {
  return calls_->get(run_path(run_id));
}

Result<std::string> ServerBackend::create_token(const CreateToken& token) {
  JsonWriter body;
  body.begin_object().member("name", token.name).member("role", to_text(token.role));
  const auto add_names = [&](std::string_view name, const std::vector<std::string>& names) {
    if (!names.empty()) {
      body.key(name).begin_array();
      for (const std::string& one : names) {
        body.string(one);
      }
      body.end_array();
    }
  };
  add_names("queues", token.queues);
  add_names("workflows", token.workflows);
  if (token.expires_at.has_value()) {
    body.member("expires_at", token.expires_at->value);
  }
  body.end_object();
  return calls_->post("/v1/tokens", std::move(body).take());
}

Result<std::string> ServerBackend::tokens() { return calls_->get("/v1/tokens"); }

Result<void> ServerBackend::revoke_token(const std::string& token_id) {
  ServerCalls::Call call;
  call.method = "DELETE";
  call.path = "/v1/tokens/" + url_encoded(token_id);
  call.repeatable = true;
  HOLDFAST_CHECK(calls_->send(call));
  return {};
}

Result<std::string> ServerBackend::server_json(std::string_view path, std::string_view) {
  return calls_->get(path);
}

Result<std::string> ServerBackend::post_to_server(std::string_view path, std::string_view body,
                                                  std::string_view) {
  return calls_->post(path, body);
}

Result<void> ServerBackend::backup(std::ostream& out, const Progress& progress) {
  return calls_->download("/v1/backup", out, progress);
}

}  // namespace holdfast
