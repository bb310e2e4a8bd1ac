#include "apps/cli/server_backend.h"

#include <fmt/format.h>

#include <algorithm>

#include "apps/client/operation_call.h"
#include "apps/client/work_messages.h"

namespace holdfast::cli {

using net::HttpOutcome;

namespace {

constexpr std::uint64_t kMaxWidth = 1000;  // that a server draws

}  // namespace

Result<std::unique_ptr<ServerBackend>> ServerBackend::open(const NamedServer& server,
                                                           Context& context) {
  HOLDFAST_TRY(auto calls, ServerCalls::open(server));
  return std::unique_ptr<ServerBackend>(new ServerBackend(std::move(calls), context));
}

Result<Backend::Answer> ServerBackend::send(ServerRequest request, Form form) {
  if (form == Form::text) {
    request.path += request.path.find('?') == std::string::npos ? '?' : '&';
    request.path += fmt::format("width={}", std::min<std::uint64_t>(style().width, kMaxWidth));
    request.path += style().colour ? "&colour=1" : "";
  }
  request.form = form;
  HOLDFAST_TRY(HttpOutcome outcome, calls_->send(request));
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
  HOLDFAST_TRY(const ServerRequest request, server_request(command));
  HOLDFAST_TRY(Answer done, send(request, form()));
  return std::move(done.text);
}

Result<StartedRun> ServerBackend::start(const RunStart& command) {
  const auto* const start = std::get_if<StartRun>(&command);
  if (start != nullptr && start->definition != nullptr) {
    HOLDFAST_CHECK(register_workflow(*start->definition));
  }
  HOLDFAST_TRY(const ServerRequest request, server_request(command));
  HOLDFAST_TRY(const Answer started, send(request, Form::json));
  HOLDFAST_TRY(StartResponse response, client::read_response<StartResponse>(started.text));
  return StartedRun{std::move(response.run_id), response.existed};
}

Result<std::string> ServerBackend::administer(const AdminCommand& command) {
  HOLDFAST_TRY(const ServerRequest request, server_request(command));
  HOLDFAST_TRY(Answer done, send(request, Form::json));
  return std::move(done.text);
}

Result<void> ServerBackend::register_workflow(const Definition& definition) {
  HOLDFAST_CHECK(send({"POST", client::path_of(operation::kRegisterWorkflow),
                       std::string(definition.spec().view()), Form::json, true},
                      Form::json));
  return {};
}

Result<void> ServerBackend::backup(std::ostream& out, const Progress& progress) {
  return calls_->download(client::path_of(operation::kGetBackup), out, progress);
}

}  // namespace holdfast::cli
