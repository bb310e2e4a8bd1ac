#include "apps/cli/server_backend.h"

#include <fmt/format.h>

#include <algorithm>

#include "apps/client/client_api.h"
#include "base/json_value.h"

namespace holdfast::cli {

using net::HttpOutcome;

namespace {

constexpr std::uint64_t kMaxWidth = 1000;  // that a server draws

Result<StartedRun> read_started(const std::string& body) {
  HOLDFAST_TRY(const Json json, Json::parse(body));
  const auto run_id = json.find("run_id");
  const auto text = run_id.has_value() ? run_id->string() : std::nullopt;
  if (!text.has_value()) {
    return Error{ErrorCode::io_error,
                 "the response of the server has no run_id; is it a holdfast server of this "
                 "version?"};
  }
  StartedRun started;
  started.run_id = *text;
  const auto existed = json.find("existed");
  started.existed = existed.has_value() && existed->boolean().value_or(false);
  return started;
}

}  // namespace

Result<std::unique_ptr<ServerBackend>> ServerBackend::open(const NamedServer& server,
                                                           Context& context) {
  HOLDFAST_TRY(auto calls, ServerCalls::open(server));
  return std::unique_ptr<ServerBackend>(new ServerBackend(std::move(calls), context));
}

Result<Backend::Answer> ServerBackend::send(ServerRequest request, Form form) {
  if (form == Form::text) {
    client::Query query;
    query.add("width", std::min<std::uint64_t>(style().width, kMaxWidth))
        .add("colour", style().colour ? "1" : "");
    std::string more = query.text();
    if (request.path.find('?') != std::string::npos) {
      more.front() = '&';
    }
    request.path += more;
  }
  ServerCalls::Call call;
  call.method = request.method;
  call.path = std::move(request.path);
  call.body = std::move(request.body);
  call.form = form;
  call.repeatable = request.repeatable;
  HOLDFAST_TRY(HttpOutcome outcome, calls_->send(call));
  const bool fault = outcome.header("holdfast-verdict") == "fault";
  if (!outcome.body.ends_with('\n')) {
    outcome.body += '\n';
  }
  return Answer{std::move(outcome.body), fault};
}

Result<Backend::Answer> ServerBackend::answer(const Query& query, Form form) {
  HOLDFAST_TRY(ServerRequest request, server_request(query, context_.clock.now()));
  return send(std::move(request), form);
}

Result<std::string> ServerBackend::control(const RunControl& command) {
  HOLDFAST_TRY(Answer done, send(server_request(command), form()));
  return std::move(done.text);
}

Result<StartedRun> ServerBackend::start(const RunStart& command) {
  const auto* const start = std::get_if<StartRun>(&command);
  if (start != nullptr && start->definition != nullptr) {
    HOLDFAST_CHECK(register_workflow(*start->definition));
  }
  HOLDFAST_TRY(const Answer started, send(server_request(command), Form::json));
  return read_started(started.text);
}

Result<std::string> ServerBackend::administer(const AdminCommand& command) {
  HOLDFAST_TRY(Answer done, send(server_request(command), Form::json));
  return std::move(done.text);
}

Result<void> ServerBackend::register_workflow(const Definition& definition) {
  HOLDFAST_CHECK(
      send({"POST", "/v1/workflows", std::string(definition.spec().view()), true}, Form::json));
  return {};
}

Result<void> ServerBackend::backup(std::ostream& out, const Progress& progress) {
  return calls_->download("/v1/backup", out, progress);
}

}  // namespace holdfast::cli
