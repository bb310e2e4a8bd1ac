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

struct KeyPair {
  std::string ed25519_public = {};  // 64 hex digits
  std::string ed25519_seed = {};

  static void visit(auto& self, auto& v) {
    v.required("ed25519_public", self.ed25519_public);
    v.required("ed25519_seed", self.ed25519_seed);
  }
};

template <HasFields T>
Result<void> write_json(const DaemonFolder& folder, std::string_view name, const T& value,
                        mode_t mode) {
  HOLDFAST_TRY(const JsonText json, to_json(value));
  return folder.write(name, std::string(json.view()) + "\n", mode);
}

// That of an attempt to join before, or a new one.
Result<KeyPair> own_key(const DaemonFolder& folder, Random& random) {
  if (folder.has("keypair.json")) {
    HOLDFAST_TRY(const std::string text, folder.read("keypair.json"));
    return read_answer<KeyPair>(text);
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

Result<MemberCreated> use_link(const std::string& url, const JoinRequest& request,
                               const std::string& tls_ca) {
  net::HttpOptions options;
  options.tls_ca_file = tls_ca;
  options.user_agent = "holdfast-daemon";
  HOLDFAST_TRY(const auto http, net::HttpClient::create(url, options));
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
  for (const std::string_view name :
       {"member.json", "config.json", "keypair.json", "local_token"}) {
    folder.remove(name);
  }
  return {};
}

}  // namespace holdfast::delivery
