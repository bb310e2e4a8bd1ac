#include "apps/server/routes.h"

#include <array>

#include "apps/server/server_call.h"
#include "net/http.h"

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
    Route{operation::kListSchedules, list_schedules},
    Route{operation::kPauseSchedule, pause_schedule},
    Route{operation::kResumeSchedule, resume_schedule},
    Route{operation::kTriggerSchedule, trigger_schedule},
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

// Removes and returns the part up to the next slash.
std::string_view take_part(std::string_view& path) {
  const std::size_t end = path.find('/');
  const std::string_view part = path.substr(0, end);
  path = end == std::string_view::npos ? std::string_view() : path.substr(end + 1);
  return part;
}

// The path parameters, if the path has this form.
std::optional<std::vector<std::string>> match(std::string_view form, std::string_view path) {
  std::vector<std::string> arguments;
  if (path.ends_with('/')) {
    return std::nullopt;
  }
  while (!form.empty() && !path.empty()) {
    const std::string_view expected = take_part(form);
    const std::string_view given = take_part(path);
    if (expected.starts_with('{')) {
      auto decoded = net::url_decoded(given, net::UrlPart::path);
      if (!decoded.has_value() || decoded->empty()) {
        return std::nullopt;
      }
      arguments.push_back(*std::move(decoded));
    } else if (expected != given) {
      return std::nullopt;
    }
  }
  return form.empty() && path.empty() ? std::optional(std::move(arguments)) : std::nullopt;
}

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
  std::string allowed;
  const bool rooted = path.starts_with('/');
  for (const Route& route : kRoutes) {
    auto arguments = rooted ? match(route.path.substr(1), path.substr(1)) : std::nullopt;
    if (!arguments.has_value()) {
      continue;
    }
    if (route.method == method || (method == "HEAD" && route.method == "GET")) {
      return Match{&route, *std::move(arguments)};
    }
    allowed += (allowed.empty() ? "" : ", ") + std::string(route.method);
  }
  if (!allowed.empty()) {
    return Error{ErrorCode::invalid_argument,
                 std::string(method) + " is not allowed; use " + allowed}
        .with("allowed", allowed);
  }
  return Error{ErrorCode::not_found,
               "unknown path \"" + std::string(path) + "\"; see /openapi.json"};
}

}  // namespace holdfast
