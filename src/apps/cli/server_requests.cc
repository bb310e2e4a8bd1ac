#include "apps/cli/server_requests.h"

#include <fmt/format.h>

#include "apps/cli/argument_values.h"
#include "apps/client/client_api.h"
#include "base/json_writer.h"
#include "net/http.h"
#include "runs/inspect/moment.h"

namespace holdfast::cli {

using net::url_encoded;

namespace {

std::string run_path(const std::string& run, std::string_view rest = {}) {
  return fmt::format("/v1/runs/{}{}", net::url_encoded(run), rest);
}

std::string workflow_path(const std::string& name, std::string_view rest = {}) {
  return fmt::format("/v1/workflows/{}{}", net::url_encoded(name), rest);
}

client::Query at_query(const std::string& at) {
  client::Query query;
  query.add("at", at);
  return query;
}

// An object whose empty members are left out.
class Body {
 public:
  Body() { json_.begin_object(); }

  Body& text(std::string_view name, std::string_view value) {
    if (!value.empty()) {
      json_.member(name, value);
    }
    return *this;
  }
  Body& object(std::string_view name, const std::string& value) {
    if (!value.empty()) {
      json_.member(name, JsonText::trusted(value));
    }
    return *this;
  }
  Body& names(std::string_view name, const std::vector<std::string>& values) {
    if (!values.empty()) {
      json_.key(name).begin_array();
      for (const std::string& value : values) {
        json_.string(value);
      }
      json_.end_array();
    }
    return *this;
  }
  JsonWriter& json() { return json_; }
  std::string take() {
    json_.end_object();
    return std::move(json_).take();
  }

 private:
  JsonWriter json_;
};

ServerRequest post(std::string path, Body& body, bool repeatable) {
  return {"POST", std::move(path), body.take(), repeatable};
}

struct QueryPath {
  TimeMs now;

  Result<std::string> operator()(const ListRuns& request) const {
    HOLDFAST_CHECK(At::parse(request.at));
    client::Query query = at_query(request.at);
    query.add("workflow", request.workflow);
    for (const std::string& status : request.statuses) {
      query.add("status", status);
    }
    if (!request.since.empty()) {
      HOLDFAST_CHECK(time_argument("since", request.since, now));
    }
    if (!request.until.empty()) {
      HOLDFAST_CHECK(time_argument("until", request.until, now));
    }
    query.add("since", request.since).add("until", request.until);
    HOLDFAST_CHECK(attributes_argument(request.attributes));
    for (const std::string& attribute : request.attributes) {
      query.add("attribute", attribute);
    }
    if (request.limit.has_value()) {
      query.add("limit", *request.limit);
    }
    query.add("cursor", request.cursor).add("order", request.oldest_first ? "oldest" : "");
    query.add("archived", request.archived ? "true" : "");
    return "/v1/runs" + query.text();
  }
  Result<std::string> operator()(const ShowRun& request) const {
    return run_path(request.run, at_query(request.at).text());
  }
  Result<std::string> operator()(const ExplainRun& request) const {
    return run_path(request.run, "/explain" + at_query(request.at).text());
  }
  Result<std::string> operator()(const ShowGraph& request) const {
    client::Query query = at_query(request.at);
    query.add("history", request.history ? "true" : "");
    query.add("form", request.dot ? "dot" : request.mermaid ? "mermaid" : "");
    return run_path(request.run, "/graph" + query.text());
  }
  Result<std::string> operator()(const ShowTimeline& request) const {
    client::Query query = at_query(request.at);
    query.add("events", request.events ? "1" : "");
    return run_path(request.run, "/timeline" + query.text());
  }
  Result<std::string> operator()(const DiffRun& request) const {
    client::Query query;
    query.add("from", request.from).add("to", request.to);
    return run_path(request.run, "/diff" + query.text());
  }
  Result<std::string> operator()(const ShowStatus& request) const {
    return "/v1/status" + at_query(request.at).text();
  }
  Result<std::string> operator()(const Diagnose& request) const {
    return "/v1/doctor" + at_query(request.at).text();
  }
  Result<std::string> operator()(const ListWorkflows&) const {
    return std::string("/v1/workflows");
  }
  Result<std::string> operator()(const ShowWorkflow& request) const {
    return workflow_path(request.name);
  }
  Result<std::string> operator()(const ListWorkflowVersions& request) const {
    return workflow_path(request.name, "/versions");
  }
  Result<std::string> operator()(const ListTokens&) const { return std::string("/v1/tokens"); }
  Result<std::string> operator()(const ListServerState& request) const {
    return "/v1/" + request.name;
  }
};

std::string_view name_of(CancelMode mode) {
  switch (mode) {
    case CancelMode::stop:
      return "stop";
    case CancelMode::compensate:
      return "compensate";
    case CancelMode::as_defined:
      break;
  }
  return "as_defined";
}

std::string_view path_of(DecideRun::Decision decision) {
  switch (decision) {
    case DecideRun::Decision::approve:
      return "/approve";
    case DecideRun::Decision::reject:
      return "/reject";
    case DecideRun::Decision::resume:
      break;
  }
  return "/resume";
}

struct ControlRequest {
  ServerRequest operator()(const CancelRun& command) const {
    const CancelOptions& options = command.options;
    Body body;
    body.text("mode", name_of(options.mode))
        .text("actor", options.actor)
        .text("comment", options.comment)
        .text("idempotency_key", options.idempotency_key);
    return post(run_path(command.run, "/cancel"), body, !options.idempotency_key.empty());
  }
  ServerRequest operator()(const SignalRun& command) const {
    const SignalOptions& options = command.options;
    Body body;
    body.json().member("event", command.event);
    body.object("data", command.data)
        .text("correlation", options.correlation)
        .text("actor", options.actor)
        .text("idempotency_key", options.idempotency_key);
    return post(run_path(command.run, "/signal"), body, !options.idempotency_key.empty());
  }
  ServerRequest operator()(const DecideRun& command) const {
    const DecisionOptions& options = command.options;
    Body body;
    body.text("step", options.step)
        .text("actor", options.actor)
        .text("comment", options.comment)
        .text("idempotency_key", options.idempotency_key);
    return post(run_path(command.run, path_of(command.decision)), body,
                !options.idempotency_key.empty());
  }
};

struct StartRequest {
  ServerRequest operator()(const StartRun& command) const {
    const StartOptions& options = command.options;
    Body body;
    body.json().member("workflow", command.workflow);
    body.object("input", command.input)
        .text("run_id", options.run_id)
        .text("idempotency_key", options.idempotency_key)
        .text("queue", options.queue)
        .text("trigger", options.trigger)
        .object("search_attributes", options.search_attributes)
        .text("actor", options.actor)
        .text("comment", options.comment);
    return post("/v1/runs", body, !options.run_id.empty() || !options.idempotency_key.empty());
  }
  ServerRequest operator()(const ReplayRun& command) const {
    const ReplayOptions& options = command.options;
    Body body;
    body.text("from_step", options.from_step).object("input", options.input);
    if (options.allow_irreversible) {
      body.json().member("allow_irreversible", true);
    }
    body.text("run_id", options.run_id)
        .text("actor", options.actor)
        .text("comment", options.comment);
    return post(run_path(command.run, "/replay"), body, !options.run_id.empty());
  }
};

struct AdminRequest {
  ServerRequest operator()(const CreateToken& command) const {
    Body body;
    body.json().member("name", command.name).member("role", to_text(command.role));
    body.names("queues", command.queues).names("workflows", command.workflows);
    if (command.expires_at.has_value()) {
      body.json().member("expires_at", command.expires_at->value);
    }
    return post("/v1/tokens", body, false);
  }
  ServerRequest operator()(const RevokeToken& command) const {
    return {"DELETE", "/v1/tokens/" + net::url_encoded(command.id), "", true};
  }
  ServerRequest operator()(const ChangeSchedule& command) const {
    Body body;
    body.object("input", command.input)
        .text("actor", command.actor)
        .text("comment", command.comment);
    return post(fmt::format("/v1/schedules/{}/{}/{}", net::url_encoded(command.workflow),
                            net::url_encoded(command.trigger), command.action),
                body, false);
  }
};

}  // namespace

Result<ServerRequest> server_request(const Query& query, TimeMs now) {
  ServerRequest request;
  HOLDFAST_TRY(request.path, std::visit(QueryPath{now}, query));
  return request;
}

ServerRequest server_request(const RunControl& command) {
  return std::visit(ControlRequest{}, command);
}

ServerRequest server_request(const RunStart& command) {
  return std::visit(StartRequest{}, command);
}

ServerRequest server_request(const AdminCommand& command) {
  return std::visit(AdminRequest{}, command);
}

}  // namespace holdfast::cli
