#include "apps/server/authenticator.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "net/http_text.h"

namespace holdfast {

namespace {

constexpr std::string_view kBearer = "bearer ";

Error unknown_caller(const std::string& message) {
  return Error{ErrorCode::unauthenticated, message};
}

std::string user_name(unsigned uid) {
  std::array<char, 1024> buffer{};
  passwd entry{};
  passwd* found = nullptr;
  const bool known = getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found) == 0;
  return known && found != nullptr ? std::string(entry.pw_name) : "uid " + std::to_string(uid);
}

// host, host:port, [v6]:port
std::string_view host_of(std::string_view authority) {
  if (authority.starts_with('[')) {
    return authority.substr(0, authority.find(']') + 1);
  }
  return authority.substr(0, authority.find(':'));
}

bool names_this_machine(std::string_view authority) {
  const std::string host = net::lowered(authority);
  return host == "localhost" || host == "127.0.0.1" || host == "[::1]" ||
         host.ends_with(".localhost");
}

// Without tokens every program on this machine is accepted, and so would be every web page in a
// browser on it. Browsers send the origin of a page, and a foreign name that resolves to this
// machine (DNS rebinding) appears in Host.
Result<void> check_same_origin(const net::Request& request) {
  const std::string_view origin = request.header("Origin");
  const std::size_t scheme = origin.find("://");
  const bool foreign = !origin.empty() && (scheme == std::string_view::npos ||
                                           !names_this_machine(host_of(origin.substr(scheme + 3))));
  const std::string_view host = request.header("Host");
  if (foreign || (!host.empty() && !names_this_machine(host_of(host)))) {
    return Error{ErrorCode::permission_denied,
                 "without tokens, only programs on this machine may connect, under the name "
                 "localhost; create a token with `holdfast token create`"};
  }
  return {};
}

}  // namespace

bool Caller::may_see(std::string_view workflow) const {
  return workflows.empty() ||
         std::any_of(workflows.begin(), workflows.end(),
                     [&](const SharedText& allowed) { return allowed.view() == workflow; });
}

std::string Caller::actor(std::string_view named) const {
  if (kind == Kind::token) {
    return named.empty() || named == name ? name : std::string(named) + " via " + name;
  }
  return named.empty() ? name : std::string(named);
}

Authenticator::Authenticator(Clock& clock, std::uint64_t max_rate)
    : clock_(clock), max_rate_(max_rate) {}

Result<Caller> Authenticator::authenticate(const net::Request& request, const Tokens& tokens) {
  const std::string_view authorization = request.header("Authorization");
  if (!authorization.empty()) {
    return by_token(authorization, tokens);
  }
  if (request.peer.uid.has_value()) {
    if (*request.peer.uid == geteuid() || *request.peer.uid == 0) {
      Caller caller;
      caller.kind = Caller::Kind::socket_owner;
      caller.name = user_name(*request.peer.uid);
      caller.role = Role::admin;
      return caller;
    }
    return unknown_caller(
        "the socket accepts only the user that runs the server; other users need a token");
  }
  if (!tokens.empty()) {
    return unknown_caller("authentication required; send the header Authorization: Bearer hf_…");
  }
  if (!request.peer.loopback) {
    return unknown_caller(
        "authentication required, and the store has no tokens; create one with `holdfast token "
        "create`");
  }
  HOLDFAST_CHECK(check_same_origin(request));
  Caller caller;
  caller.role = Role::admin;
  return caller;
}

Result<Caller> Authenticator::by_token(std::string_view header, const Tokens& tokens) {
  const auto bearer = net::lowered(header.substr(0, kBearer.size())) == kBearer
                          ? parse_bearer(header.substr(kBearer.size()))
                          : std::nullopt;
  const Token* token = bearer.has_value() ? tokens.find(bearer->token_id) : nullptr;
  // One message for all reasons, so that callers cannot find out which tokens exist.
  if (token == nullptr || !fits(*token, bearer->secret) || !token->valid(clock_.now())) {
    return unknown_caller("the token is invalid: it is unknown, revoked or expired");
  }
  Caller caller;
  caller.kind = Caller::Kind::token;
  caller.name = token->created.name.str();
  caller.role = token->created.role;
  caller.token_id = token->created.token_id.str();
  caller.queues = token->created.queues;
  caller.workflows = token->created.workflows;
  HOLDFAST_CHECK(count_request(caller.token_id));
  return caller;
}

// A token bucket that holds the requests of one second.
Result<void> Authenticator::count_request(const std::string& token_id) {
  if (max_rate_ == 0) {
    return {};
  }
  const TimeMs now = clock_.now();
  const auto full = static_cast<double>(max_rate_);
  const std::scoped_lock lock(mutex_);
  const auto [bucket, fresh] = buckets_.try_emplace(token_id, Bucket{full, now});
  Bucket& budget = bucket->second;
  const auto passed = static_cast<double>(std::max<std::int64_t>(0, now.value - budget.at.value));
  budget.left = std::min(full, budget.left + passed * full / 1000);
  budget.at = now;
  if (budget.left < 1) {
    return Error{ErrorCode::rate_limited,
                 "the token exceeds " + std::to_string(max_rate_) + " requests per second"};
  }
  budget.left -= 1;
  return {};
}

}  // namespace holdfast
