#include "apps/server/routes.h"

#include <array>

#include "apps/server/server_call.h"

namespace holdfast {

namespace {

constexpr std::array kRoutes{
    Route{operation::kGetHealth, get_health},
    Route{operation::kGetReadiness, get_readiness},
    Route{operation::kGetOpenapi, get_openapi},
    Route{operation::kGetMetrics, get_metrics},
    Route{operation::kGetServer, get_server},
    Route{operation::kRegisterWorkflow, register_workflow},
    Route{operation::kListWorkflows, list_workflows},
    Route{operation::kGetWorkflow, get_workflow},
    Route{operation::kListVersions, list_versions},
    Route{operation::kDiffWorkflow, diff_workflow},
    Route{operation::kStartRun, start_run},
    Route{operation::kListRuns, list_runs_page},
    Route{operation::kStartRuns, start_runs},
    Route{operation::kBulkRuns, bulk_runs},
    Route{operation::kGetRun, show_run_now},
    Route{operation::kExplainRun, explain_run_now},
    Route{operation::kGetGraph, graph_run},
    Route{operation::kGetTimeline, timeline_run},
    Route{operation::kDiffRun, diff_run},
    Route{operation::kGetFacts, facts_of_run},
    Route{operation::kGetOutcome, get_outcome},
    Route{operation::kStreamRunEvents, stream_run_events},
    Route{operation::kCancelRun, cancel_run},
    Route{operation::kSignalRun, signal_run},
    Route{operation::kResumeRun, resume_run},
    Route{operation::kApproveRun, approve_run},
    Route{operation::kRejectRun, reject_run},
    Route{operation::kMutateGraph, mutate_graph},
    Route{operation::kMigrateRun, migrate_run},
    Route{operation::kRetryRun, retry_run},
    Route{operation::kDiscardRun, discard_run},
    Route{operation::kReplayRun, replay_run},
    Route{operation::kSetAttributes, set_attributes},
    Route{operation::kArchiveRun, archive_run},
    Route{operation::kUnarchiveRun, unarchive_run},
    Route{operation::kGetStatus, store_status_now},
    Route{operation::kGetDoctor, doctor_now},
    Route{operation::kListQueues, list_queues},
    Route{operation::kGetQueue, get_queue},
    Route{operation::kListWorkers, list_workers},
    Route{operation::kListApprovals, list_approvals},
    Route{operation::kListDeadLetters, list_dead_letters},
    Route{operation::kBulkDeadLetters, bulk_dead_letters},
    Route{operation::kCloseCircuit, close_circuit_breaker},
    Route{operation::kListSchedules, list_schedules},
    Route{operation::kPauseSchedule, pause_schedule},
    Route{operation::kResumeSchedule, resume_schedule},
    Route{operation::kTriggerSchedule, trigger_schedule},
    Route{operation::kDeliverSchedule, deliver_schedule},
    Route{operation::kStreamEvents, stream_events},
    Route{operation::kClaimWork, claim_work},
    Route{operation::kHeartbeatWork, heartbeat_work},
    Route{operation::kReportWork, report_work},
    Route{operation::kStartChild, start_child_run},
    Route{operation::kListTokens, list_tokens},
    Route{operation::kCreateToken, create_token},
    Route{operation::kRevokeToken, revoke_token},
    Route{operation::kGetBackup, get_backup},
};
static_assert(kRoutes.size() == std::tuple_size_v<decltype(kOperations)>,
              "an operation has no implementation");

}  // namespace

void OperationRunner::operator()(const CallPtr& call) const {
  if (run_ != nullptr) {
    return run_(call);
  }
  if (const Result<void> done = checked_(call); !done.ok()) {
    call->fail(done.error());
  }
}

std::span<const Route> routes() { return kRoutes; }

Result<Match> find_route(std::string_view method, std::string_view path) {
  return find_among(routes(), method, path);
}

}  // namespace holdfast
