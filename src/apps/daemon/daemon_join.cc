#include "apps/daemon/daemon_join.h"

#include <fmt/format.h>
#include <sodium.h>

#include <array>

#include "apps/client/client_problem.h"
#include "apps/daemon/broker_link.h"
#include "base/encoding.h"
#include "base/json_writer.h"
#include "delivery/api/directory_requests.h"
#include "delivery/daemon/outbox.h"
#include "net/http_client.h"

namespace holdfast::delivery {

namespace {

constexpr std::string_view kJoinPart = "/join#";
constexpr int kFirstRefused = 300;

template <HasFields T>
Result<void> write_json(const DaemonFolder& folder, std::string_view name, const T& value,
                        mode_t mode) {
  HOLDFAST_TRY(const JsonText json, to_json(value));
  return folder.write(name, std::string(json.view()) + "\n", mode);
}

// That of an attempt to join before, or a new one.
Result<KeyPair> own_key(const DaemonFolder& folder, Random& random) {
  if (folder.has("keypair.json")) {
    return read_key_pair(folder);
  }
  if (::sodium_init() < 0) {
    return Error{ErrorCode::io_error, "the cryptographic library cannot be used"};
  }
  std::array<std::byte, crypto_sign_SEEDBYTES> seed{};
  std::array<std::byte, crypto_sign_PUBLICKEYBYTES> shown{};
  std::array<std::byte, crypto_sign_SECRETKEYBYTES> secret{};
  random.fill(seed);
  const auto bytes = [](auto& array) { return reinterpret_cast<unsigned char*>(array.data()); };
  ::crypto_sign_seed_keypair(bytes(shown), bytes(secret), bytes(seed));
  const KeyPair pair{to_hex(shown), to_hex(seed)};
  HOLDFAST_CHECK(write_json(folder, "keypair.json", pair, 0600));
  ::sodium_memzero(secret.data(), secret.size());
  return pair;
}

Result<std::unique_ptr<net::HttpClient>> broker_client(const std::string& url,
                                                       const std::string& tls_ca,
                                                       const std::string& token) {
  net::HttpOptions options;
  options.tls_ca_file = tls_ca;
  options.token = token;
  options.user_agent = "holdfast-daemon";
  return net::HttpClient::create(url, options);
}

// unavailable when no broker answers. A member that the broker does not know, or has revoked, has
// no membership to end.
Result<void> end_membership(const DaemonFolder& folder) {
  HOLDFAST_TRY(const DaemonConfig config, read_daemon_config(folder));
  HOLDFAST_TRY(const DaemonMember member, read_daemon_member(folder));
  Error failure{ErrorCode::unavailable, "no broker is configured"};
  for (const std::string& url : config.brokers) {
    HOLDFAST_TRY(const auto http, broker_client(url, config.tls_ca, member.token));
    net::HttpCall call;
    call.method = "DELETE";
    call.target = "/v1/membership";
    call.repeatable = true;
    const net::HttpOutcome outcome = http->send(call);
    if (outcome.kind != net::HttpOutcome::Kind::answered) {
      failure = client::error_without_response(outcome);
      continue;
    }
    constexpr int kUnauthorized = 401;
    constexpr int kForbidden = 403;
    if (outcome.status < kFirstRefused || outcome.status == kUnauthorized ||
        outcome.status == kForbidden) {
      return {};
    }
    failure = client::error_of_response(outcome);
  }
  return failure;
}

Result<MemberCreated> use_link(const std::string& url, const JoinRequest& request,
                               const std::string& tls_ca) {
  HOLDFAST_TRY(const auto http, broker_client(url, tls_ca, ""));
  HOLDFAST_TRY(const JsonText body, to_json(request));
  net::HttpCall call;
  call.method = "POST";
  call.target = "/v1/join";
  call.body = body.view();
  call.content_type = "application/json";
  const net::HttpOutcome outcome = http->send(call);
  if (outcome.kind != net::HttpOutcome::Kind::answered) {
    return client::error_without_response(outcome);
  }
  if (outcome.status >= kFirstRefused) {
    return client::error_of_response(outcome);
  }
  return read_answer<MemberCreated>(outcome.body);
}

}  // namespace

Result<KeyPair> read_key_pair(const DaemonFolder& folder) {
  HOLDFAST_TRY(const std::string text, folder.read("keypair.json"));
  return read_answer<KeyPair>(text);
}

Result<DaemonConfig> join_workspace(const DaemonFolder& folder, const JoinOptions& options,
                                    Random& random) {
  if (folder.has("member.json")) {
    return Error{ErrorCode::already_exists,
                 fmt::format("{} belongs to a member already; `holdfast daemon leave` ends that, "
                             "and --home names another folder",
                             folder.path())};
  }
  const std::size_t at = options.link.find(kJoinPart);
  if (at == std::string::npos || at == 0 || at + kJoinPart.size() == options.link.size()) {
    return Error{ErrorCode::invalid_argument,
                 "the link is not one of `holdfast broker member invite`: URL/join#SECRET"};
  }
  const std::string url = options.link.substr(0, at);
  HOLDFAST_TRY(const KeyPair key, own_key(folder, random));
  HOLDFAST_TRY(
      const MemberCreated made,
      use_link(url, {options.link.substr(at + kJoinPart.size()), options.name, key.ed25519_public},
               options.tls_ca));
  DaemonConfig config;
  config.brokers = {url};
  config.workspace = made.workspace;
  config.tls_ca = options.tls_ca;
  HOLDFAST_CHECK(write_json(folder, "config.json", config, 0644));
  // Last: with it the folder belongs to the member.
  HOLDFAST_CHECK(
      write_json(folder, "member.json", DaemonMember{made.name, made.pubkey, made.token}, 0600));
  return config;
}

Result<void> leave_workspace(const DaemonFolder& folder, LeaveMode mode, Clock& clock,
                             Random& random) {
  if (folder.has("outbox.db") && mode == LeaveMode::careful) {
    HOLDFAST_TRY(const auto outbox, Outbox::open(folder.file("outbox.db"), {}, {}, clock, random));
    if (outbox->waiting() > 0) {
      return Error{ErrorCode::conflict,
                   fmt::format("{} messages wait in the outbox, and would not be sent; --force "
                               "leaves them there",
                               outbox->waiting())};
    }
  }
  if (const auto ended = end_membership(folder); !ended.ok() && mode == LeaveMode::careful) {
    return ended;
  }
  for (const std::string_view name :
       {"member.json", "config.json", "keypair.json", "local_token", "names.json"}) {
    folder.remove(name);
  }
  return {};
}

}  // namespace holdfast::delivery
