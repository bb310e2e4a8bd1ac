#include "delivery/broker/webhook_endpoints.h"

#include <fmt/format.h>

#include "delivery/broker/workspace_row.h"

namespace holdfast::delivery {

namespace {

using Cells = std::vector<SqlCell>;

std::optional<TimeMs> optional_time(const SqlCell& cell) {
  return cell.null ? std::nullopt : std::optional(TimeMs{cell.integer});
}

std::uint32_t small_number(const SqlCell& cell) { return static_cast<std::uint32_t>(cell.integer); }

WebhookEndpoint endpoint_of(const Cells& row) {
  WebhookEndpoint endpoint;
  endpoint.endpoint_id = row[0].bytes;
  endpoint.mesh_id = row[1].bytes;
  endpoint.settings.url = row[2].bytes;
  endpoint.settings.description = row[3].bytes;
  endpoint.settings.max_in_flight = small_number(row[4]);
  endpoint.settings.rate_per_second = small_number(row[5]);
  endpoint.state = enum_from<WebhookState>(row[6].bytes).value_or(WebhookState::disabled);
  endpoint.disabled = enum_from<DisableReason>(row[7].bytes);
  endpoint.state_at = TimeMs{row[8].integer};
  endpoint.created_at = TimeMs{row[9].integer};
  endpoint.old_secret_until = optional_time(row[10]);
  endpoint.last_success_at = optional_time(row[11]);
  endpoint.last_failure_at = optional_time(row[12]);
  endpoint.last_error = row[13].bytes;
  endpoint.health = health_of(row, 14);
  return endpoint;
}

Result<std::vector<WebhookEndpoint>> read_endpoints(SqlSession& session, std::string_view condition,
                                                    const SqlParams& params) {
  HOLDFAST_TRY(
      const SqlRows rows,
      session.query(fmt::format("SELECT e.endpoint_id, e.mesh_id, e.url, e.description, "
                                "e.max_in_flight, e.rate_per_second, e.state, "
                                "COALESCE(e.disabled_reason, ''), e.state_at, e.created_at, "
                                "e.old_secret_until, e.last_success_at, e.last_failure_at, "
                                "COALESCE(e.last_error, ''), {} FROM @.webhook_endpoint e "
                                "WHERE {} ORDER BY e.created_at, e.endpoint_id",
                                kHealthColumns, condition),
                    params));
  std::vector<WebhookEndpoint> endpoints;
  std::vector<SqlParams> ids;
  for (const Cells& row : rows) {
    endpoints.push_back(endpoint_of(row));
    ids.push_back({row[0].bytes});
  }
  if (endpoints.empty()) {
    return endpoints;
  }
  HOLDFAST_TRY(const auto filters,
               session.query_each("SELECT destination_kind, destination_ref FROM @.webhook_filter "
                                  "WHERE endpoint_id = $1t "
                                  "ORDER BY destination_kind, destination_ref",
                                  ids));
  for (std::size_t i = 0; i < endpoints.size(); ++i) {
    for (const Cells& row : filters.at(i)) {
      endpoints[i].settings.destinations.push_back(
          {enum_from<DestinationKind>(row[0].bytes).value_or(DestinationKind::topic),
           row[1].bytes});
    }
  }
  return endpoints;
}

// A condition on the relation d: the destination is one of endpoint $1t, or it names none.
constexpr std::string_view kOfFilter =
    "(NOT EXISTS (SELECT 1 FROM @.webhook_filter f WHERE f.endpoint_id = $1t) "
    "OR EXISTS (SELECT 1 FROM @.webhook_filter f WHERE f.endpoint_id = $1t "
    "AND f.destination_kind = d.destination_kind AND f.destination_ref = d.destination_ref))";

// A place for every destination of the endpoint that has none: behind `seq`.
Result<void> add_cursors(SqlSession& session, std::string_view endpoint_id,
                         std::string_view mesh_id, std::string_view seq) {
  HOLDFAST_CHECK(session.execute(
      fmt::format("INSERT INTO @.webhook_cursor(endpoint_id, destination_kind, destination_ref, "
                  "last_seq) SELECT $1t, d.destination_kind, d.destination_ref, {} "
                  "FROM @.destination d WHERE d.mesh_id = $2t AND {} ON CONFLICT DO NOTHING",
                  seq, kOfFilter),
      {endpoint_id, mesh_id}));
  return {};
}

Result<void> write_filter(SqlSession& session, std::string_view endpoint_id,
                          const std::vector<Destination>& destinations) {
  HOLDFAST_CHECK(
      session.execute("DELETE FROM @.webhook_filter WHERE endpoint_id = $1t", {endpoint_id}));
  for (const Destination& destination : destinations) {
    HOLDFAST_CHECK(session.execute(
        "INSERT INTO @.webhook_filter(endpoint_id, destination_kind, destination_ref) "
        "VALUES ($1t, $2t, $3t)",
        {endpoint_id, to_text(destination.kind), destination.ref}));
  }
  return {};
}

// Waits for a broker that takes messages over for the endpoint.
Result<void> lock_endpoint(SqlSession& session, std::string_view endpoint_id) {
  HOLDFAST_CHECK(session.query(
      "SELECT 1 FROM @.webhook_endpoint WHERE endpoint_id = $1t #for_update", {endpoint_id}));
  return {};
}

}  // namespace

EndpointHealth health_of(const std::vector<SqlCell>& row, std::size_t first) {
  return {.consecutive_failures = small_number(row.at(first)),
          .failing_since = optional_time(row.at(first + 1)),
          .hold_until = TimeMs{row.at(first + 2).integer},
          .hold_ms = row.at(first + 3).integer};
}

Result<void> create_webhook(SqlSession& session, const WebhookEndpoint& endpoint,
                            const WebhookSecret& secret) {
  // Endpoints of a workspace are made one after the other, for the limit.
  HOLDFAST_CHECK(
      session.query("SELECT 1 FROM @.mesh WHERE mesh_id = $1t #for_update", {endpoint.mesh_id}));
  HOLDFAST_TRY(const SqlRows there,
               session.query("SELECT count(*) FROM @.webhook_endpoint WHERE mesh_id = $1t",
                             {endpoint.mesh_id}));
  if (static_cast<std::uint64_t>(there[0][0].integer) >= kMostWebhooks) {
    return Error{ErrorCode::invalid_argument,
                 fmt::format("a workspace has at most {} webhooks", kMostWebhooks)};
  }
  const WebhookSettings& settings = endpoint.settings;
  const std::string text = secret.text();
  HOLDFAST_CHECK(session.execute(
      "INSERT INTO @.webhook_endpoint(endpoint_id, mesh_id, url, description, secret, state, "
      "state_at, max_in_flight, rate_per_second, created_at, consecutive_failures, hold_until, "
      "hold_ms, lease_until) VALUES ($1t, $2t, $3t, $4t, $5t, 'active', $6i, $7i, $8i, $6i, 0, 0, "
      "0, 0)",
      {endpoint.endpoint_id, endpoint.mesh_id, settings.url, settings.description, text,
       endpoint.created_at.value, std::int64_t{settings.max_in_flight},
       std::int64_t{settings.rate_per_second}}));
  HOLDFAST_CHECK(write_filter(session, endpoint.endpoint_id, settings.destinations));
  return add_cursors(session, endpoint.endpoint_id, endpoint.mesh_id, "d.last_seq");
}

Result<std::vector<WebhookEndpoint>> list_webhooks(SqlSession& session, std::string_view mesh_id) {
  return read_endpoints(session, "e.mesh_id = $1t", {mesh_id});
}

Result<std::optional<WebhookEndpoint>> find_webhook(SqlSession& session, std::string_view mesh_id,
                                                    std::string_view endpoint_id) {
  HOLDFAST_TRY(auto found, read_endpoints(session, "e.mesh_id = $1t AND e.endpoint_id = $2t",
                                          {mesh_id, endpoint_id}));
  return found.empty() ? std::nullopt : std::optional(std::move(found.front()));
}

Result<void> change_webhook(SqlSession& session, const WebhookEndpoint& endpoint,
                            const WebhookSettings& settings) {
  const std::string& id = endpoint.endpoint_id;
  HOLDFAST_CHECK(lock_endpoint(session, id));
  if (settings.destinations != endpoint.settings.destinations) {
    // What the endpoint has had until now keeps its place, also one before the first message.
    HOLDFAST_CHECK(add_cursors(session, id, endpoint.mesh_id, "0"));
    HOLDFAST_CHECK(write_filter(session, id, settings.destinations));
    HOLDFAST_CHECK(add_cursors(session, id, endpoint.mesh_id, "d.last_seq"));
    HOLDFAST_CHECK(session.execute(
        fmt::format("DELETE FROM @.webhook_cursor WHERE endpoint_id = $1t AND "
                    "(destination_kind, destination_ref) IN (SELECT d.destination_kind, "
                    "d.destination_ref FROM @.webhook_cursor d WHERE d.endpoint_id = $1t "
                    "AND NOT {})",
                    kOfFilter),
        {id}));
  }
  HOLDFAST_CHECK(session.execute(
      "UPDATE @.webhook_endpoint SET url = $2t, description = $3t, max_in_flight = $4i, "
      "rate_per_second = $5i WHERE endpoint_id = $1t",
      {id, settings.url, settings.description, std::int64_t{settings.max_in_flight},
       std::int64_t{settings.rate_per_second}}));
  return {};
}

Result<void> delete_webhook(SqlSession& session, std::string_view endpoint_id) {
  HOLDFAST_CHECK(
      session.execute("DELETE FROM @.webhook_endpoint WHERE endpoint_id = $1t", {endpoint_id}));
  return {};
}

Result<void> enable_webhook(SqlSession& session, std::string_view endpoint_id,
                            WebhookBacklog backlog, TimeMs now) {
  HOLDFAST_CHECK(lock_endpoint(session, endpoint_id));
  HOLDFAST_CHECK(session.execute(
      "UPDATE @.webhook_endpoint SET state_at = CASE WHEN state = 'active' THEN state_at "
      "ELSE $2i END, state = 'active', disabled_reason = NULL, consecutive_failures = 0, "
      "failing_since = NULL, hold_until = 0, hold_ms = 0 WHERE endpoint_id = $1t",
      {endpoint_id, now.value}));
  if (backlog == WebhookBacklog::keep) {
    HOLDFAST_CHECK(
        session.execute("UPDATE @.webhook_delivery SET next_attempt_at = $2i "
                        "WHERE endpoint_id = $1t AND state = 'queued' "
                        "AND next_attempt_at > $2i",
                        {endpoint_id, now.value}));
    return {};
  }
  HOLDFAST_CHECK(
      session.execute("DELETE FROM @.webhook_delivery WHERE endpoint_id = $1t AND state = 'queued'",
                      {endpoint_id}));
  HOLDFAST_CHECK(
      session.execute("DELETE FROM @.webhook_cursor WHERE endpoint_id = $1t", {endpoint_id}));
  HOLDFAST_TRY(const SqlRows of,
               session.query("SELECT mesh_id FROM @.webhook_endpoint WHERE endpoint_id = $1t",
                             {endpoint_id}));
  return of.empty() ? Result<void>()
                    : add_cursors(session, endpoint_id, of[0][0].bytes, "d.last_seq");
}

Result<void> disable_webhook(SqlSession& session, std::string_view endpoint_id,
                             DisableReason reason, TimeMs now) {
  HOLDFAST_CHECK(session.execute(
      "UPDATE @.webhook_endpoint SET state = 'disabled', disabled_reason = $2t, state_at = $3i "
      "WHERE endpoint_id = $1t AND state = 'active'",
      {endpoint_id, to_text(reason), now.value}));
  return {};
}

Result<void> rotate_webhook_secret(SqlSession& session, std::string_view endpoint_id,
                                   const WebhookSecret& secret, TimeMs old_until) {
  const std::string text = secret.text();
  HOLDFAST_CHECK(session.execute(
      "UPDATE @.webhook_endpoint SET old_secret = secret, old_secret_until = $3i, secret = $2t "
      "WHERE endpoint_id = $1t",
      {endpoint_id, text, old_until.value}));
  return {};
}

Result<std::vector<WebhookTarget>> read_targets(SqlSession& session, std::string_view owner) {
  static const std::string text = fmt::format(
      "SELECT {}, e.endpoint_id, e.state, e.rate_per_second FROM @.webhook_endpoint e "
      "JOIN @.mesh w ON w.mesh_id = e.mesh_id WHERE e.owner = $1t",
      kWorkspaceColumns);
  HOLDFAST_TRY(const SqlRows rows, session.query(text, {owner}));
  std::vector<WebhookTarget> targets;
  for (const Cells& row : rows) {
    constexpr std::size_t kFirst = kWorkspaceColumnCount;
    targets.push_back({.endpoint_id = row[kFirst].bytes,
                       .rate_per_second = small_number(row[kFirst + 2]),
                       .active = row[kFirst + 1].bytes == to_text(WebhookState::active),
                       .workspace = workspace_of(row)});
  }
  return targets;
}

}  // namespace holdfast::delivery
