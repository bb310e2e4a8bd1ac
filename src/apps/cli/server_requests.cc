#include "apps/cli/server_requests.h"

#include "apps/cli/argument_values.h"
#include "apps/client/operation_call.h"
#include "runs/api/public_requests.h"
#include "runs/inspect/moment.h"

namespace holdfast::cli {

using client::path_of;

namespace {

enum class Repeat : std::uint8_t { no, yes };

Repeat repeat_if(bool harmless) { return harmless ? Repeat::yes : Repeat::no; }

// A command, with the parameters of its path.
template <typename Request, typename Response, typename Parameters>
Result<ServerRequest> post(const OperationOf<Request, Response, Parameters>& operation,
                           std::initializer_list<std::string_view> path,
                           const std::type_identity_t<Request>& request, Repeat repeat) {
  HOLDFAST_TRY(std::string body, request_json(request));
  return ServerRequest{operation.method, path_of(operation, path), std::move(body), Form::json,
                       repeat == Repeat::yes};
}

// The values that a store would refuse are refused here, with the names of the options.
Result<void> check(const ListRequest& request, TimeMs now) {
  HOLDFAST_CHECK(At::parse(request.at));
  if (!request.since.empty()) {
    HOLDFAST_CHECK(time_argument("since", request.since, now));
  }
  if (!request.until.empty()) {
    HOLDFAST_CHECK(time_argument("until", request.until, now));
  }
  HOLDFAST_CHECK(attributes_argument(request.attributes));
  return {};
}

struct CommandRequest {
  Result<ServerRequest> operator()(const CancelRun& command) const {
    return post(operation::kCancelRun, {command.run}, cancel_request(command.options),
                repeat_if(!command.options.idempotency_key.empty()));
  }
  Result<ServerRequest> operator()(const SignalRun& command) const {
    HOLDFAST_TRY(const SignalRequest request,
                 signal_request(command.event, command.data, command.options));
    return post(operation::kSignalRun, {command.run}, request,
                repeat_if(!request.idempotency_key.empty()));
  }
  Result<ServerRequest> operator()(const DecideRun& command) const {
    HOLDFAST_TRY(const DecisionRequest request, decision_request(command.options));
    const Repeat repeat = repeat_if(!request.idempotency_key.empty());
    switch (command.decision) {
      case DecideRun::Decision::approve:
        return post(operation::kApproveRun, {command.run}, request, repeat);
      case DecideRun::Decision::reject:
        return post(operation::kRejectRun, {command.run}, request, repeat);
      case DecideRun::Decision::resume:
        break;
    }
    return post(operation::kResumeRun, {command.run}, request, repeat);
  }
  Result<ServerRequest> operator()(const MutateRun& command) const {
    HOLDFAST_TRY(const MutateRequest request, mutate_request(command.mutation, command.options));
    return post(operation::kMutateGraph, {command.run}, request, Repeat::yes);
  }
  Result<ServerRequest> operator()(const MigrateRun& command) const {
    return post(operation::kMigrateRun, {command.run}, migrate_request(command.options),
                Repeat::yes);
  }
  Result<ServerRequest> operator()(const RetryRun& command) const {
    HOLDFAST_TRY(const RetryRequest request, retry_request(command.options));
    return post(operation::kRetryRun, {command.run}, request,
                repeat_if(!request.idempotency_key.empty()));
  }
  Result<ServerRequest> operator()(const DiscardRun& command) const {
    return post(operation::kDiscardRun, {command.run}, discard_request(command.options),
                repeat_if(!command.options.idempotency_key.empty()));
  }
  Result<ServerRequest> operator()(const StartRun& command) const {
    HOLDFAST_TRY(const StartRequest request,
                 start_request(command.workflow, command.input, command.options));
    return post(operation::kStartRun, {}, request,
                repeat_if(!request.run_id.empty() || !request.idempotency_key.empty()));
  }
  Result<ServerRequest> operator()(const ReplayRun& command) const {
    HOLDFAST_TRY(const ReplayRequest request, replay_request(command.options));
    return post(operation::kReplayRun, {command.run}, request, repeat_if(!request.run_id.empty()));
  }
  Result<ServerRequest> operator()(const CreateToken& command) const {
    return post(operation::kCreateToken, {},
                {command.name, command.role, NonEmptyNames(command.queues),
                 NonEmptyNames(command.workflows), command.expires_at},
                Repeat::no);
  }
  Result<ServerRequest> operator()(const RevokeToken& command) const {
    return ServerRequest{operation::kRevokeToken.method,
                         path_of(operation::kRevokeToken, {command.id}), "", Form::json, true};
  }
  Result<ServerRequest> operator()(const RegisterWorkflow& command) const {
    return ServerRequest{
        operation::kRegisterWorkflow.method,
        path_of(operation::kRegisterWorkflow, {}) + (command.dry_run ? "?dry_run=true" : ""),
        std::string(command.definition->spec().view()), Form::json, true};
  }
  Result<ServerRequest> operator()(const DeliverSchedule& command) const {
    const DeliverRequest& request = command.request;
    return post(operation::kDeliverSchedule, {command.workflow, command.trigger}, request,
                repeat_if(!request.signal_id.empty() || request.intended_window.has_value()));
  }
  // Closing what is closed changes nothing.
  Result<ServerRequest> operator()(const CloseCircuitRequest& command) const {
    return post(operation::kCloseCircuit, {}, command, Repeat::yes);
  }
  // What was decided is not selected again.
  Result<ServerRequest> operator()(const DeadLetterBulkRequest& command) const {
    return post(operation::kBulkDeadLetters, {}, command, repeat_if(command.dry_run));
  }
  Result<ServerRequest> operator()(const ChangeSchedule& command) const {
    const std::initializer_list<std::string_view> path{command.workflow, command.trigger};
    if (command.action == "trigger") {
      TriggerRequest request;
      request.input = Payload::trusted(command.input);
      request.actor = command.actor;
      request.comment = command.comment;
      return post(operation::kTriggerSchedule, path, request, Repeat::no);
    }
    return post(command.action == "pause" ? operation::kPauseSchedule : operation::kResumeSchedule,
                path, {command.actor, command.comment}, Repeat::no);
  }
};

}  // namespace

Result<ServerRequest> server_request(const Query& query, TimeMs now) {
  if (const auto* const list = std::get_if<ListRequest>(&query)) {
    HOLDFAST_CHECK(check(*list, now));
  }
  ServerRequest request;
  request.path = std::visit([](const auto& one) { return client::target_of(one); }, query);
  return request;
}

Result<ServerRequest> server_request(const RunControl& command) {
  return std::visit(CommandRequest{}, command);
}

Result<ServerRequest> server_request(const RunStart& command) {
  return std::visit(CommandRequest{}, command);
}

Result<ServerRequest> server_request(const AdminCommand& command) {
  return std::visit(CommandRequest{}, command);
}

}  // namespace holdfast::cli
