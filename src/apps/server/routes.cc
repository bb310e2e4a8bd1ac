#include "apps/server/routes.h"

#include <array>

#include "apps/server/server_operations.h"
#include "net/http.h"

namespace holdfast {

namespace {

using Access = Route::Access;
using Scope = Route::Scope;

constexpr Route open_to_all(std::string_view path, std::string_view id,
                            void (*run)(const CallPtr&)) {
  return {"GET", path, id, Access::open, Permission::look, Scope::own, run};
}
constexpr Route get(std::string_view path, std::string_view id, void (*run)(const CallPtr&)) {
  return {"GET", path, id, Access::permitted, Permission::look, Scope::own, run};
}
constexpr Route get_whole(std::string_view path, std::string_view id, void (*run)(const CallPtr&)) {
  return {"GET", path, id, Access::permitted, Permission::look, Scope::whole_store, run};
}
constexpr Route post(std::string_view path, std::string_view id, Permission permission,
                     void (*run)(const CallPtr&)) {
  return {"POST", path, id, Access::permitted, permission, Scope::own, run};
}
constexpr Route administer(std::string_view method, std::string_view path, std::string_view id,
                           void (*run)(const CallPtr&)) {
  return {method, path, id, Access::permitted, Permission::administer, Scope::whole_store, run};
}

constexpr std::array kRoutes{
    open_to_all("/healthz", "get_health", get_health),
    open_to_all("/readyz", "get_readiness", get_readiness),
    open_to_all("/openapi.json", "get_openapi", get_openapi),
    get_whole("/metrics", "get_metrics", get_metrics),
    Route{"GET", "/v1/server", "get_server", Access::authenticated, Permission::look, Scope::own,
          get_server},

    post("/v1/workflows", "register_workflow", Permission::define, register_workflow),
    get_whole("/v1/workflows", "list_workflows", list_workflows),
    get("/v1/workflows/{workflow}", "get_workflow", get_workflow),
    get("/v1/workflows/{workflow}/versions", "list_versions", list_versions),
    get("/v1/workflows/{workflow}/diff", "diff_workflow", diff_workflow),

    post("/v1/runs", "start_run", Permission::start, start_run),
    get("/v1/runs", "list_runs", list_runs_page),
    post("/v1/runs/batch", "start_runs", Permission::start, start_runs),
    post("/v1/runs/bulk", "bulk_runs", Permission::steer, bulk_runs),
    get("/v1/runs/{run}", "get_run", show_run_now),
    get("/v1/runs/{run}/explain", "explain_run", explain_run_now),
    get("/v1/runs/{run}/graph", "get_graph", graph_run),
    get("/v1/runs/{run}/timeline", "get_timeline", timeline_run),
    get("/v1/runs/{run}/diff", "diff_run", diff_run),
    get("/v1/runs/{run}/facts", "get_facts", facts_of_run),
    Route{"GET", "/v1/runs/{run}/outcome", "get_outcome", Access::permitted, Permission::start,
          Scope::own, get_outcome},
    get("/v1/runs/{run}/events", "stream_run_events", stream_run_events),
    post("/v1/runs/{run}/cancel", "cancel_run", Permission::steer, cancel_run),
    post("/v1/runs/{run}/signal", "signal_run", Permission::start, signal_run),
    post("/v1/runs/{run}/resume", "resume_run", Permission::steer, resume_run),
    post("/v1/runs/{run}/approve", "approve_run", Permission::steer, approve_run),
    post("/v1/runs/{run}/reject", "reject_run", Permission::steer, reject_run),
    post("/v1/runs/{run}/replay", "replay_run", Permission::steer, replay_run),
    post("/v1/runs/{run}/attributes", "set_attributes", Permission::steer, set_attributes),
    post("/v1/runs/{run}/archive", "archive_run", Permission::steer, archive_run),
    post("/v1/runs/{run}/unarchive", "unarchive_run", Permission::steer, unarchive_run),

    get_whole("/v1/status", "get_status", store_status_now),
    get_whole("/v1/doctor", "get_doctor", doctor_now),
    get_whole("/v1/queues", "list_queues", list_queues),
    get_whole("/v1/queues/{queue}", "get_queue", get_queue),
    get_whole("/v1/workers", "list_workers", list_workers),
    get("/v1/approvals", "list_approvals", list_approvals),
    get("/v1/schedules", "list_schedules", list_schedules),
    post("/v1/schedules/{workflow}/{trigger}/pause", "pause_schedule", Permission::steer,
         pause_schedule),
    post("/v1/schedules/{workflow}/{trigger}/resume", "resume_schedule", Permission::steer,
         resume_schedule),
    post("/v1/schedules/{workflow}/{trigger}/trigger", "trigger_schedule", Permission::steer,
         trigger_schedule),
    get("/v1/events", "stream_events", stream_events),

    post("/v1/work/claim", "claim_work", Permission::work, claim_work),
    post("/v1/work/heartbeat", "heartbeat_work", Permission::work, heartbeat_work),
    post("/v1/work/report", "report_work", Permission::work, report_work),
    post("/v1/work/child", "start_child", Permission::work, start_child_run),

    administer("GET", "/v1/tokens", "list_tokens", list_tokens),
    administer("POST", "/v1/tokens", "create_token", create_token),
    administer("DELETE", "/v1/tokens/{token}", "revoke_token", revoke_token),
    administer("GET", "/v1/backup", "get_backup", get_backup),
};

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
