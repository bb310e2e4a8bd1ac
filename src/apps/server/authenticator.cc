#include "apps/server/authenticator.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>

namespace holdfast {

namespace {

constexpr std::string_view kBearer = "bearer ";

Error unknown_caller(const std::string& message) {
  return Error{ErrorCode::unauthenticated, message};
}

std::string user_name(unsigned uid) {
  std::array<char, 1024> room{};
  passwd entry{};
  passwd* found = nullptr;
  const bool known = getpwuid_r(uid, &entry, room.data(), room.size(), &found) == 0;
  return known && found != nullptr ? std::string(entry.pw_name) : "uid " + std::to_string(uid);
}

// host, host:port, [v6]:port
std::string_view host_of(std::string_view authority) {
  if (authority.starts_with('[')) {
    return authority.substr(0, authority.find(']') + 1);
  }
  return authority.substr(0, authority.find(':'));
}

std::string lower(std::string_view text) {
  std::string small(text);
  std::transform(small.begin(), small.end(), small.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return small;
}

bool names_this_machine(std::string_view authority) {
  const std::string host = lower(authority);
  return host == "localhost" || host == "127.0.0.1" || host == "[::1]" ||
         host.ends_with(".localhost");
}

// Without tokens everybody on this machine is let in, and so would be every page that a browser
// on it shows. A browser says where a request comes from, and a name that somebody else made point
// here is in Host.
Result<void> check_no_browser_was_led_here(const net::Request& request) {
  const std::string_view origin = request.header("Origin");
  const std::size_t scheme = origin.find("://");
  const bool foreign = !origin.empty() && (scheme == std::string_view::npos ||
                                           !names_this_machine(host_of(origin.substr(scheme + 3))));
  const std::string_view host = request.header("Host");
  if (foreign || (!host.empty() && !names_this_machine(host_of(host)))) {
    return Error{ErrorCode::permission_denied,
                 "without tokens only programs on this machine are let in, under the name "
                 "localhost; `holdfast token create` makes tokens"};
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

Authenticator::Authenticator(Clock& clock, std::uint64_t max_rate) : clock_(clock), max_rate_(max_rate) {}

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
    return unknown_caller("the socket admits the user the server runs as; others need a token");
  }
  if (!tokens.empty()) {
    return unknown_caller("a token is needed: Authorization: Bearer hf_…");
  }
  if (!request.peer.loopback) {
    return unknown_caller("a token is needed, and the store has none; `holdfast token create`");
  }
  HOLDFAST_CHECK(check_no_browser_was_led_here(request));
  Caller caller;
  caller.role = Role::admin;
  return caller;
}

Result<Caller> Authenticator::by_token(std::string_view header, const Tokens& tokens) {
  const auto bearer = lower(header.substr(0, kBearer.size())) == kBearer
                          ? parse_bearer(header.substr(kBearer.size()))
                          : std::nullopt;
  const Token* token = bearer.has_value() ? tokens.find(bearer->token_id) : nullptr;
  // The same answer whatever is wrong: nobody learns which tokens there are.
  if (token == nullptr || !fits(*token, bearer->secret) || !token->valid(clock_.now())) {
    return unknown_caller("the token is not valid here: it is not known, revoked or over");
  }
  Caller caller;
  caller.kind = Caller::Kind::token;
  caller.name = token->created.name.str();
  caller.role = token->created.role;
  caller.token_id = token->created.token_id.str();
  caller.queues = token->created.queues;
  caller.workflows = token->created.workflows;
  HOLDFAST_CHECK(take_turn(caller.token_id));
  return caller;
}

// A bucket of one second's turns that fills as time goes by.
Result<void> Authenticator::take_turn(const std::string& token_id) {
  if (max_rate_ == 0) {
    return {};
  }
  const TimeMs now = clock_.now();
  const auto full = static_cast<double>(max_rate_);
  const std::scoped_lock lock(mutex_);
  const auto [bucket, fresh] = buckets_.try_emplace(token_id, Bucket{full, now});
  Bucket& turns = bucket->second;
  const auto passed = static_cast<double>(std::max<std::int64_t>(0, now.value - turns.at.value));
  turns.left = std::min(full, turns.left + passed * full / 1000);
  turns.at = now;
  if (turns.left < 1) {
    return Error{ErrorCode::rate_limited,
                 "the token asks more than " + std::to_string(max_rate_) + " times a second"};
  }
  turns.left -= 1;
  return {};
}

}  // namespace holdfast
