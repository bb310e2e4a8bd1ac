// The operations of the HTTP API: the one list of the commands and queries on runs. Each names its
// method, path and access, and the types of its request and response; the server routes by this
// list, the client and the CLI call by it, and schema/openapi.json and the tables of
// docs/http-api.md are generated from it (tools/generate_schema/generate_schema.cc). The texts
// about it are in operations.json, beside this file.
//
// To add an operation: its types, an entry here and in kOperations, its text in operations.json,
// and its implementation in apps/server.
#pragma once

#include <tuple>
#include <type_traits>
#include <variant>

#include "access/http_operation.h"
#include "runs/api/query_requests.h"
#include "runs/api/run_requests.h"
#include "runs/api/store_requests.h"
#include "runs/api/work_requests.h"

namespace holdfast {

using ExplanationView = ViewOf<"Explanation">;

// Query parameters of operations that also have a body.
struct WaitRequest {
  NumberUpTo<kLongestWaitMs> wait = {};  // milliseconds

  HOLDFAST_FIELDS(optional(wait));
};

namespace operation {

using Access = Operation::Access;
using Content = Operation::Content;
using Refusals = Operation::Refusals;
using Scope = Operation::Scope;
using Success = Operation::Success;

template <typename Response>
constexpr auto open_to_all(std::string_view id, std::string_view path) {
  return OperationOf<NoParameters, Response>{{id, "GET", path, Access::open}};
}
// A query in JSON.
template <typename Request, typename Response>
constexpr auto get(std::string_view id, std::string_view path, Scope scope = Scope::own) {
  return OperationOf<Request, Response>{
      {id, "GET", path, Access::permitted, Permission::look, scope}};
}
// A query in JSON or as text.
template <typename Request, typename Response>
constexpr auto view(std::string_view id, std::string_view path, Scope scope = Scope::own) {
  auto made = get<Request, Response>(id, path, scope);
  made.content = Content::json_or_text;
  return made;
}
template <typename Request, typename Response, typename Parameters = NoParameters>
constexpr auto post(std::string_view id, std::string_view path, Permission permission,
                    Success success = Success::ok, Refusals refusals = {}) {
  return OperationOf<Request, Response, Parameters>{
      {id, "POST", path, Access::permitted, permission, Scope::own, success, refusals}};
}
// A command on a run. The response explains what the run does next.
template <typename Request>
constexpr auto control(std::string_view id, std::string_view path,
                       Permission permission = Permission::steer) {
  auto made = post<Request, ExplanationView>(id, path, permission, Success::ok, {.conflict = true});
  made.content = Content::json_or_text;
  return made;
}
template <typename Request, typename Response>
constexpr auto administer(std::string_view id, std::string_view method, std::string_view path) {
  return OperationOf<Request, Response>{
      {id, method, path, Access::permitted, Permission::administer, Scope::whole_store}};
}
template <typename Made>
constexpr Made with(Made made, Operation::Content content) {
  made.content = content;
  return made;
}

// The server

inline constexpr auto kGetHealth = open_to_all<HealthResponse>("get_health", "/healthz");
inline constexpr auto kGetReadiness = open_to_all<ReadinessResponse>("get_readiness", "/readyz");
inline constexpr auto kGetOpenapi = open_to_all<ViewOf<"Document">>("get_openapi", "/openapi.json");
inline constexpr auto kGetMetrics =
    with(get<NoParameters, ViewOf<"Metrics">>("get_metrics", "/metrics", Scope::whole_store),
         Content::text);
inline constexpr OperationOf<NoParameters, ServerResponse> kGetServer{
    {"get_server", "GET", "/v1/server", Access::authenticated}};

// Workflows

inline constexpr auto kRegisterWorkflow =
    post<ViewOf<"Definition">, RegisterResponse, RegisterRequest>(
        "register_workflow", "/v1/workflows", Permission::define, Success::ok_or_created,
        {.conflict = true, .too_large = true});
inline constexpr auto kListWorkflows = view<WorkflowsRequest, ViewOf<"WorkflowList">>(
    "list_workflows", "/v1/workflows", Scope::whole_store);
inline constexpr auto kGetWorkflow =
    view<WorkflowRequest, ViewOf<"WorkflowDefinition">>("get_workflow", "/v1/workflows/{workflow}");
inline constexpr auto kListVersions = view<VersionsRequest, ViewOf<"VersionList">>(
    "list_versions", "/v1/workflows/{workflow}/versions");
inline constexpr auto kDiffWorkflow = view<WorkflowDiffRequest, ViewOf<"WorkflowDiff">>(
    "diff_workflow", "/v1/workflows/{workflow}/diff");

// Runs

inline constexpr auto kStartRun =
    post<StartRequest, std::variant<StartResponse, OutcomeResponse>, WaitRequest>(
        "start_run", "/v1/runs", Permission::start, Success::ok_or_created,
        {.not_found = true, .conflict = true, .too_large = true});
inline constexpr auto kListRuns = view<ListRequest, ViewOf<"RunPage">>("list_runs", "/v1/runs");
inline constexpr auto kStartRuns = post<StartBatchRequest, StartBatchResponse>(
    "start_runs", "/v1/runs/batch", Permission::start, Success::ok, {.too_large = true});
inline constexpr auto kBulkRuns = post<BulkRequest, BulkResponse>(
    "bulk_runs", "/v1/runs/bulk", Permission::steer, Success::ok, {.too_large = true});
inline constexpr auto kGetRun = view<ShowRequest, ViewOf<"Snapshot">>("get_run", "/v1/runs/{run}");
inline constexpr auto kExplainRun =
    view<ExplainRequest, ExplanationView>("explain_run", "/v1/runs/{run}/explain");
inline constexpr auto kGetGraph =
    view<GraphRequest, ViewOf<"Graph">>("get_graph", "/v1/runs/{run}/graph");
inline constexpr auto kGetTimeline =
    view<TimelineRequest, ViewOf<"Timeline">>("get_timeline", "/v1/runs/{run}/timeline");
inline constexpr auto kDiffRun =
    view<DiffRequest, ViewOf<"RunDiff">>("diff_run", "/v1/runs/{run}/diff");
inline constexpr auto kGetFacts =
    get<FactsRequest, FactsResponse>("get_facts", "/v1/runs/{run}/facts");
inline constexpr OperationOf<OutcomeRequest, OutcomeResponse> kGetOutcome{
    {"get_outcome", "GET", "/v1/runs/{run}/outcome", Access::permitted, Permission::start}};
inline constexpr auto kStreamRunEvents =
    with(get<EventsRequest, ViewOf<"LiveEvent">>("stream_run_events", "/v1/runs/{run}/events"),
         Content::events);
inline constexpr auto kCancelRun = control<CancelRequest>("cancel_run", "/v1/runs/{run}/cancel");
inline constexpr auto kSignalRun =
    control<SignalRequest>("signal_run", "/v1/runs/{run}/signal", Permission::start);
inline constexpr auto kResumeRun = control<DecisionRequest>("resume_run", "/v1/runs/{run}/resume");
inline constexpr auto kApproveRun =
    control<DecisionRequest>("approve_run", "/v1/runs/{run}/approve");
inline constexpr auto kRejectRun = control<DecisionRequest>("reject_run", "/v1/runs/{run}/reject");
inline constexpr auto kMutateGraph = control<MutateRequest>("mutate_graph", "/v1/runs/{run}/graph");
inline constexpr auto kMigrateRun =
    control<MigrateRequest>("migrate_run", "/v1/runs/{run}/migrate");
inline constexpr auto kRetryRun = control<RetryRequest>("retry_run", "/v1/runs/{run}/retry");
inline constexpr auto kDiscardRun =
    control<DiscardRequest>("discard_run", "/v1/runs/{run}/discard");
inline constexpr auto kReplayRun =
    post<ReplayRequest, StartResponse>("replay_run", "/v1/runs/{run}/replay", Permission::steer,
                                       Success::ok_or_created, {.conflict = true});
inline constexpr auto kSetAttributes =
    control<AttributesRequest>("set_attributes", "/v1/runs/{run}/attributes");
inline constexpr auto kArchiveRun =
    control<ArchiveRequest>("archive_run", "/v1/runs/{run}/archive");
inline constexpr auto kUnarchiveRun =
    control<UnarchiveRequest>("unarchive_run", "/v1/runs/{run}/unarchive");

// The store

inline constexpr auto kGetStatus =
    view<StatusRequest, ViewOf<"Status">>("get_status", "/v1/status", Scope::whole_store);
inline constexpr auto kGetDoctor =
    view<DoctorRequest, ViewOf<"Diagnosis">>("get_doctor", "/v1/doctor", Scope::whole_store);
inline constexpr auto kListQueues =
    get<QueuesRequest, ViewOf<"QueueList">>("list_queues", "/v1/queues", Scope::whole_store);
inline constexpr auto kGetQueue =
    get<NoParameters, ViewOf<"Queue">>("get_queue", "/v1/queues/{queue}", Scope::whole_store);
inline constexpr auto kListWorkers =
    get<WorkersRequest, ViewOf<"WorkerList">>("list_workers", "/v1/workers", Scope::whole_store);
inline constexpr auto kListApprovals =
    get<ApprovalsRequest, ApprovalsResponse>("list_approvals", "/v1/approvals");
inline constexpr auto kListDeadLetters =
    get<DeadLettersRequest, DeadLettersResponse>("list_dead_letters", "/v1/dead-letters");
inline constexpr auto kBulkDeadLetters = post<DeadLetterBulkRequest, DeadLetterBulkResponse>(
    "bulk_dead_letters", "/v1/dead-letters/bulk", Permission::steer);
inline constexpr auto kCloseCircuit = post<CloseCircuitRequest, CloseCircuitResponse>(
    "close_circuit_breaker", "/v1/circuit-breakers/close", Permission::steer, Success::ok,
    {.not_found = true});
inline constexpr auto kListSchedules =
    get<SchedulesRequest, SchedulesResponse>("list_schedules", "/v1/schedules");
inline constexpr auto kPauseSchedule = post<ScheduleRequest, ScheduleResponse>(
    "pause_schedule", "/v1/schedules/{workflow}/{trigger}/pause", Permission::steer);
inline constexpr auto kResumeSchedule = post<ScheduleRequest, ScheduleResponse>(
    "resume_schedule", "/v1/schedules/{workflow}/{trigger}/resume", Permission::steer);
inline constexpr auto kTriggerSchedule = post<TriggerRequest, StartResponse>(
    "trigger_schedule", "/v1/schedules/{workflow}/{trigger}/trigger", Permission::steer,
    Success::ok_or_created, {.conflict = true});
inline constexpr auto kDeliverSchedule = post<DeliverRequest, DeliverResponse>(
    "deliver_schedule", "/v1/schedules/{workflow}/{trigger}/deliver", Permission::start,
    Success::ok_or_created, {.conflict = true});
inline constexpr auto kStreamEvents =
    with(get<EventsRequest, ViewOf<"LiveEvent">>("stream_events", "/v1/events"), Content::events);

// Workers

inline constexpr auto kClaimWork = post<ClaimWorkRequest, ClaimResponse>(
    "claim_work", "/v1/work/claim", Permission::work, Success::ok, {.too_large = true});
inline constexpr auto kHeartbeatWork = post<HeartbeatWorkRequest, HeartbeatResponse>(
    "heartbeat_work", "/v1/work/heartbeat", Permission::work, Success::ok, {.too_large = true});
inline constexpr auto kReportWork = post<ReportWorkRequest, ReportResponse>(
    "report_work", "/v1/work/report", Permission::work, Success::ok, {.too_large = true});
inline constexpr auto kStartChild = post<ChildRequest, StartResponse>(
    "start_child", "/v1/work/child", Permission::work, Success::ok_or_created,
    {.not_found = true, .conflict = true, .too_large = true});

// Administration

inline constexpr auto kListTokens =
    administer<TokensRequest, ViewOf<"TokenList">>("list_tokens", "GET", "/v1/tokens");
inline constexpr OperationOf<CreateTokenRequest, CreateTokenResponse> kCreateToken{
    {"create_token",
     "POST",
     "/v1/tokens",
     Access::permitted,
     Permission::administer,
     Scope::whole_store,
     Success::created,
     {.conflict = true}}};
inline constexpr auto kRevokeToken =
    administer<NoParameters, RevokeTokenResponse>("revoke_token", "DELETE", "/v1/tokens/{token}");
inline constexpr auto kGetBackup = with(
    administer<NoParameters, ViewOf<"Export">>("get_backup", "GET", "/v1/backup"), Content::lines);

}  // namespace operation

// All of them, in the order of the document.
inline constexpr std::tuple kOperations{
    operation::kGetHealth,       operation::kGetReadiness,   operation::kGetOpenapi,
    operation::kGetMetrics,      operation::kGetServer,      operation::kRegisterWorkflow,
    operation::kListWorkflows,   operation::kGetWorkflow,    operation::kListVersions,
    operation::kDiffWorkflow,    operation::kStartRun,       operation::kListRuns,
    operation::kStartRuns,       operation::kBulkRuns,       operation::kGetRun,
    operation::kExplainRun,      operation::kGetGraph,       operation::kGetTimeline,
    operation::kDiffRun,         operation::kGetFacts,       operation::kGetOutcome,
    operation::kStreamRunEvents, operation::kCancelRun,      operation::kSignalRun,
    operation::kResumeRun,       operation::kApproveRun,     operation::kRejectRun,
    operation::kMutateGraph,     operation::kMigrateRun,     operation::kRetryRun,
    operation::kDiscardRun,      operation::kReplayRun,      operation::kSetAttributes,
    operation::kArchiveRun,      operation::kUnarchiveRun,   operation::kGetStatus,
    operation::kGetDoctor,       operation::kListQueues,     operation::kGetQueue,
    operation::kListWorkers,     operation::kListApprovals,  operation::kListDeadLetters,
    operation::kBulkDeadLetters, operation::kCloseCircuit,   operation::kListSchedules,
    operation::kPauseSchedule,   operation::kResumeSchedule, operation::kTriggerSchedule,
    operation::kDeliverSchedule, operation::kStreamEvents,   operation::kClaimWork,
    operation::kHeartbeatWork,   operation::kReportWork,     operation::kStartChild,
    operation::kListTokens,      operation::kCreateToken,    operation::kRevokeToken,
    operation::kGetBackup,
};

// The operation of a query: request types of queries belong to one operation each.
template <typename Request>
constexpr Operation operation_of() {
  Operation found;
  std::apply(
      [&](const auto&... each) {
        ((std::is_same_v<typename std::decay_t<decltype(each)>::Request, Request>
              ? static_cast<void>(found = each)
              : static_cast<void>(0)),
         ...);
      },
      kOperations);
  return found;
}

}  // namespace holdfast
