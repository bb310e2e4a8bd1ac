#include "apps/daemon/push_link.h"

#include <fmt/format.h>
#include <sodium.h>

#include <array>
#include <span>

#include "base/encoding.h"
#include "delivery/api/push_frames.h"
#include "delivery/contract/hello.h"

namespace holdfast::delivery {

namespace {

constexpr std::chrono::seconds kGreetingTimeout{10};
constexpr std::uint64_t kWindow = 512;

Result<std::string> signature_of(const MemberProof& proof, std::string_view text) {
  HOLDFAST_TRY(const auto seed, from_hex(proof.seed));
  if (seed.size() != crypto_sign_SEEDBYTES || ::sodium_init() < 0) {
    return Error{ErrorCode::invalid_argument,
                 "keypair.json has no key; move it away to use the token instead"};
  }
  std::array<std::byte, crypto_sign_PUBLICKEYBYTES> shown{};
  std::array<std::byte, crypto_sign_SECRETKEYBYTES> secret{};
  std::array<std::byte, crypto_sign_BYTES> signature{};
  const auto bytes = [](auto& array) { return reinterpret_cast<unsigned char*>(array.data()); };
  ::crypto_sign_seed_keypair(bytes(shown), bytes(secret),
                             reinterpret_cast<const unsigned char*>(seed.data()));
  ::crypto_sign_detached(bytes(signature), nullptr,
                         reinterpret_cast<const unsigned char*>(text.data()), text.size(),
                         bytes(secret));
  ::sodium_memzero(secret.data(), secret.size());
  if (to_hex(shown) != proof.pubkey) {
    return Error{ErrorCode::invalid_argument,
                 "the key of keypair.json is not the one of member.json"};
  }
  return to_hex(signature);
}

template <HasFields T>
Result<void> send_frame(net::WsClient& socket, const T& frame) {
  HOLDFAST_TRY(const JsonText json, to_json(frame));
  return socket.send(json.view());
}

}  // namespace

Result<std::unique_ptr<PushLink>> PushLink::open(const BrokerSettings& settings,
                                                 const std::string& url, const MemberProof& proof,
                                                 TimeMs broker_now, Random& random) {
  HOLDFAST_TRY(net::Url parsed, net::parse_url(url));
  net::WsClientOptions options;
  options.target = "/v1/ws";
  options.http.tls_ca_file = settings.tls_ca;
  options.http.user_agent = "holdfast-daemon";
  HOLDFAST_TRY(auto socket, net::WsClient::connect(std::move(parsed), std::move(options), random));
  std::unique_ptr<PushLink> link(new PushLink(std::move(socket)));
  HOLDFAST_CHECK(link->greet(proof, broker_now));
  HOLDFAST_CHECK(link->negotiate_features());
  return link;
}

Result<std::string> PushLink::expect(std::string_view type) {
  for (;;) {
    net::WsIncoming incoming = socket_->receive(kGreetingTimeout);
    switch (incoming.kind) {
      case net::WsIncoming::Kind::woken:
      case net::WsIncoming::Kind::silent:
        return Error{ErrorCode::unavailable, "the broker did not answer the hello in time"};
      case net::WsIncoming::Kind::closed:
        return ended(incoming);
      case net::WsIncoming::Kind::text:
        break;
    }
    HOLDFAST_TRY(const Json json, Json::parse(incoming.text));
    if (json.text("type") == "error") {
      heard(std::string(json.text("detail")));
    } else if (json.text("type") == type) {
      return std::move(incoming.text);
    }
  }
}

Result<void> PushLink::greet(const MemberProof& proof, TimeMs broker_now) {
  HOLDFAST_TRY(const std::string text, expect("challenge"));
  HOLDFAST_TRY(const auto challenge, read_answer<ChallengeFrame>(text));
  HelloFrame hello;
  hello.type = "hello";
  hello.mesh = proof.mesh;
  hello.window = kWindow;
  hello.presence = true;
  if (proof.seed.empty()) {
    hello.token = proof.token;
  } else {
    hello.pubkey = proof.pubkey;
    hello.timestamp = broker_now;
    HOLDFAST_TRY(hello.signature, signature_of(proof, hello_text(hello.mesh, hello.pubkey,
                                                                 broker_now, challenge.nonce)));
  }
  HOLDFAST_CHECK(send_frame(*socket_, hello));
  HOLDFAST_CHECK(expect("hello_ack"));
  return {};
}

Result<void> PushLink::negotiate_features() {
  const NegotiationRequest& needed = needed_features();
  HOLDFAST_CHECK(send_frame(
      *socket_, NegotiationFrame{"feature_negotiation_request", needed.require, needed.optional}));
  HOLDFAST_TRY(const std::string text, expect("feature_negotiation_response"));
  HOLDFAST_TRY(const auto response, read_answer<NegotiationResponse>(text));
  const auto checked = check_negotiation(needed, response);
  if (const auto* refusal = std::get_if<NegotiationRefusal>(&checked)) {
    return negotiation_error(*refusal);
  }
  return {};
}

Result<void> PushLink::acknowledge(const std::vector<std::uint64_t>& delivery_ids) {
  constexpr std::size_t kMostIds = 1000;
  for (std::size_t from = 0; from < delivery_ids.size(); from += kMostIds) {
    const auto part = std::span(delivery_ids).subspan(from);
    const auto ids = part.first(std::min(part.size(), kMostIds));
    HOLDFAST_CHECK(send_frame(*socket_, ClientAckFrame{"client_ack", {ids.begin(), ids.end()}}));
  }
  return {};
}

Result<void> PushLink::resume(const std::vector<InboxCursor>& cursors) {
  ResumeFrame frame{"resume", {}};
  for (const InboxCursor& cursor : cursors) {
    frame.cursor.push_back({cursor.destination, cursor.history_seq});
  }
  return send_frame(*socket_, frame);
}

Error PushLink::ended(const net::WsIncoming& closed) const {
  const bool refused =
      closed.code == push_close::kUnauthenticated || closed.code == push_close::kRevoked;
  return Error{refused ? ErrorCode::unauthenticated : ErrorCode::unavailable,
               fmt::format("the broker ended the connection ({}): {}", closed.code,
                           detail_.empty() ? closed.text : detail_)}
      .with("close_code", std::to_string(closed.code));
}

}  // namespace holdfast::delivery
