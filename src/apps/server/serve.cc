#include <algorithm>

#include "apps/server/server_call.h"
#include "apps/server/server_problem.h"
#include "apps/server/service.h"

namespace holdfast {

namespace {

constexpr int kMethodNotAllowed = 405;

constexpr std::size_t kMostDelayed = 1000;

void log_failures(Service& service, const std::vector<AuthFailures::Line>& lines) {
  for (const AuthFailures::Line& line : lines) {
    service.log.write(LogLevel::warning, "authentication failed",
                      {{"address", line.address.empty() ? "others" : line.address},
                       {"count", std::to_string(line.failures)}});
  }
}

// Failures that were not logged yet are logged at the end of the interval.
void log_rest_later(Service& service) {
  if (!service.failures_to_log.exchange(true)) {
    service.alarm.after(service.auth_failures.log_every(), [&service] {
      service.failures_to_log = false;
      log_failures(service, service.auth_failures.take_unlogged());
    });
  }
}

// The response may be delayed; the thread does not wait.
void reject_unauthenticated(Service& service, const net::ExchangePtr& exchange,
                            std::string_view operation, const Error& error) {
  const AuthFailures::Verdict verdict = service.auth_failures.failed(exchange->request().peer);
  log_failures(service, verdict.lines);
  log_rest_later(service);
  const bool delayed = verdict.delay.count() > 0;
  const bool limited = verdict.retry_after_s > 0 || (delayed && service.delayed >= kMostDelayed);
  service.metrics.authentication_failed(limited);
  net::Response response = problem_response(
      limited ? Error{ErrorCode::rate_limited,
                      "too many failed authentications from this address; use a valid token"}
                    .with("retry_after_s", std::max<std::uint64_t>(verdict.retry_after_s, 1))
              : error);
  service.metrics.answered(operation, response.status, 0);
  if (limited || !delayed) {
    exchange->reply(std::move(response));
    return;
  }
  ++service.delayed;
  service.alarm.after(verdict.delay, [&service, exchange, response = std::move(response)] {
    --service.delayed;
    exchange->reply(response);
  });
}

// For requests that reach no operation.
void reject(Service& service, const net::ExchangePtr& exchange, std::string_view operation,
            const Error& error) {
  const std::string_view allowed = error.field("allowed");
  net::Response response = problem_response(error, allowed.empty() ? 0 : kMethodNotAllowed);
  if (!allowed.empty()) {
    response.headers.push_back({"Allow", std::string(allowed)});
  }
  service.metrics.answered(operation, response.status, 0);
  if (service.log.enabled(LogLevel::info) && error.code() == ErrorCode::permission_denied) {
    service.log.write(LogLevel::info, "permission denied",
                      {{"operation", std::string(operation)},
                       {"peer", exchange->request().peer.address},
                       {"code", std::string(error_info(error.code()).name)}});
  }
  exchange->reply(std::move(response));
}

Result<void> check_permission(const Route& route, const Caller& caller) {
  if (route.access != Route::Access::permitted) {
    return {};
  }
  if (!allows(caller.role, route.permission)) {
    return Error{ErrorCode::permission_denied, "role \"" + std::string(to_text(caller.role)) +
                                                   "\" does not have permission \"" +
                                                   std::string(to_text(route.permission)) + "\""}
        .with("role", to_text(caller.role))
        .with("permission", to_text(route.permission));
  }
  if (route.scope == Route::Scope::whole_store && !caller.workflows.empty()) {
    return Error{ErrorCode::permission_denied,
                 "token \"" + caller.name +
                     "\" is limited to some workflows, and this operation covers the whole store"};
  }
  return {};
}

Result<void> check_not_draining(const Service& service, const Route& route) {
  const bool allowed = route.method == "GET" || route.id == "report_work" ||
                       route.id == "heartbeat_work" || route.id == "claim_work";
  if (service.draining && !allowed) {
    constexpr std::string_view kWhy = "the server is stopping; try again in a moment";
    return Error{ErrorCode::unavailable, std::string(kWhy)}.with("detail", kWhy);
  }
  return {};
}

}  // namespace

void serve(Service& service, const net::ExchangePtr& exchange) {
  const net::Request& request = exchange->request();
  auto match = find_route(request.method, request.path);
  if (!match.ok()) {
    return reject(service, exchange, "none", match.error());
  }
  const Route& route = *match.value().route;
  Caller caller;
  if (route.access != Route::Access::open) {
    auto known = service.authenticator.authenticate(request, *service.loop.tokens());
    if (!known.ok() && known.error().code() == ErrorCode::unauthenticated) {
      return reject_unauthenticated(service, exchange, route.id, known.error());
    }
    Result<void> allowed =
        known.ok() ? check_permission(route, known.value()) : Result<void>(known.error());
    allowed = allowed.ok() ? check_not_draining(service, route) : allowed;
    if (!allowed.ok()) {
      return reject(service, exchange, route.id, allowed.error());
    }
    caller = std::move(known).value();
  }
  auto query = Query::parse(request.query);
  if (!query.ok()) {
    return reject(service, exchange, route.id, query.error());
  }
  route.run(std::make_shared<Call>(service, exchange, route, std::move(match.value().arguments),
                                   std::move(query).value(), std::move(caller)));
}

}  // namespace holdfast
