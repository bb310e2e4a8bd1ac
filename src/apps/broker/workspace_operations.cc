#include "apps/broker/directory_calls.h"
#include "delivery/api/broker_views.h"

namespace holdfast::delivery {

namespace {

Workspace workspace_from(const CreateWorkspaceRequest& request, std::string mesh_id) {
  return {.mesh_id = std::move(mesh_id),
          .slug = request.name,
          .body_form = request.body_form,
          .dedupe = {request.dedupe_mode, request.dedupe_retention_days},
          .message_retention_days = request.message_retention_days,
          .rate_limit_per_window = request.rate_limit_per_window,
          .window_seconds = request.window_seconds,
          .max_inline_bytes = request.max_inline_bytes};
}

// Numbers become integers of a database.
Result<void> check_numbers(const CreateWorkspaceRequest& request) {
  constexpr std::uint64_t kMost = 1'000'000'000'000;
  if (request.rate_limit_per_window > kMost || request.max_inline_bytes > kMostBodyBytes) {
    return Error{
        ErrorCode::invalid_argument,
        "rate_limit_per_window is at most 1000000000000, max_inline_bytes at most 1048576"};
  }
  return {};
}

}  // namespace

Result<BrokerReply> list_all_workspaces(BrokerCall& call) {
  HOLDFAST_CHECK(call.query.finish());
  HOLDFAST_TRY(const auto entries,
               call.read<std::vector<WorkspaceEntry>>(
                   [](SqlSession& session, std::vector<WorkspaceEntry>& found) -> Result<void> {
                     HOLDFAST_TRY(found, list_workspaces(session));
                     return {};
                   }));
  return reply_with(WorkspaceList{views_of(entries)});
}

Result<BrokerReply> add_workspace(BrokerCall& call) {
  HOLDFAST_TRY(const auto request, read_body<CreateWorkspaceRequest>(call));
  HOLDFAST_CHECK(check_numbers(request));
  const WorkspaceEntry entry{workspace_from(request, new_id(call.service)),
                             call.service.clock.now()};
  const auto made = call.service.store.write([&](SqlSession& session) {
    return create_workspace(session, entry.workspace, entry.created_at);
  });
  if (!made.ok()) {
    if (made.error().code() == ErrorCode::invalid_argument) {
      call.service.metrics.count_misconfig();
    }
    return made.error();
  }
  return reply_with(view_of(entry), kStatusCreated);
}

Result<BrokerReply> get_workspace(BrokerCall& call) {
  HOLDFAST_CHECK(call.query.finish());
  HOLDFAST_TRY(
      const auto entry,
      call.read<WorkspaceEntry>([&](SqlSession& session, WorkspaceEntry& found) -> Result<void> {
        HOLDFAST_TRY(found, get_workspace_named(session, call.arguments.at(0)));
        return {};
      }));
  return reply_with(view_of(entry));
}

Result<BrokerReply> remove_workspace(BrokerCall& call) {
  HOLDFAST_CHECK(call.query.finish());
  HOLDFAST_CHECK(call.service.store.write([&](SqlSession& session) -> Result<void> {
    HOLDFAST_TRY(const auto entry, get_workspace_named(session, call.arguments.at(0)));
    return delete_workspace(session, entry.workspace.mesh_id);
  }));
  return reply_with(DeletedResponse{call.arguments.at(0)});
}

}  // namespace holdfast::delivery
