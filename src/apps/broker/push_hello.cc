#include "apps/broker/push_hello.h"

#include <sodium.h>

#include "base/encoding.h"
#include "delivery/broker/push_rows.h"
#include "delivery/contract/envelope.h"
#include "delivery/contract/hello.h"
#include "delivery/contract/rejection.h"

namespace holdfast::delivery {

namespace {

bool is_signed(const HelloFrame& hello, std::string_view nonce) {
  const auto key = from_hex(hello.pubkey);
  const auto signature = from_hex(hello.signature);
  if (!key.ok() || key.value().size() != crypto_sign_PUBLICKEYBYTES || !signature.ok() ||
      signature.value().size() != crypto_sign_BYTES || sodium_init() < 0) {
    return false;
  }
  const std::string text = hello_text(hello.mesh, hello.pubkey, hello.timestamp, nonce);
  return crypto_sign_verify_detached(
             reinterpret_cast<const unsigned char*>(signature.value().data()),
             reinterpret_cast<const unsigned char*>(text.data()), text.size(),
             reinterpret_cast<const unsigned char*>(key.value().data())) == 0;
}

Result<void> check_signature(const HelloFrame& hello, std::string_view nonce, TimeMs now) {
  if (!is_public_key(hello.pubkey)) {
    return rejected(Rejection::invalid_request, "pubkey must have 64 hex digits in lower case");
  }
  if (!is_hello_in_time(hello.timestamp, now)) {
    return rejected(Rejection::unauthenticated,
                    "the timestamp is more than 60 s from the clock of the broker");
  }
  return is_signed(hello, nonce)
             ? Result<void>()
             : rejected(Rejection::unauthenticated, "the signature does not fit the key");
}

}  // namespace

Result<GreetedMember> authenticate_hello(BrokerService& service, const HelloFrame& hello,
                                         std::string_view nonce) {
  const bool by_token = !hello.token.empty();
  if (by_token == !hello.pubkey.empty()) {
    return rejected(Rejection::invalid_request,
                    "a hello has either a token, or pubkey, timestamp and signature");
  }
  if (!by_token) {
    HOLDFAST_CHECK(check_signature(hello, nonce, service.clock.now()));
  }
  GreetedMember greeted;
  HOLDFAST_CHECK(service.store.read([&](SqlSession& session) -> Result<void> {
    if (by_token) {
      HOLDFAST_TRY(greeted.caller, find_caller(session, sha256(hello.token)));
    } else {
      HOLDFAST_TRY(greeted.caller, find_member_by_key(session, hello.mesh, hello.pubkey));
    }
    HOLDFAST_TRY(greeted.name, read_display_name(session, greeted.caller.member_id));
    return {};
  }));
  switch (greeted.caller.caller) {
    case CallerState::member:
      break;
    case CallerState::revoked:
      return rejected(Rejection::member_revoked);
    case CallerState::unauthenticated:
    case CallerState::no_workspace:
    case CallerState::stranger:
      return rejected(Rejection::unauthenticated,
                      by_token ? "no member has this token" : "no member has this key");
  }
  if (greeted.caller.workspace.slug != hello.mesh) {
    return rejected(Rejection::not_a_member);
  }
  return greeted;
}

}  // namespace holdfast::delivery
