#include "delivery/broker/refusal_detail.h"

#include <fmt/format.h>

#include "base/quote.h"
#include "holdfast/assert.h"

namespace holdfast::delivery {

std::string destination_detail(Rejection rejection, const Destination& to) {
  const std::string name = quote(to.ref);
  const bool member = to.kind == DestinationKind::dm;
  if (rejection == Rejection::unknown_destination) {
    return member ? fmt::format("there is no member with the public key {}", name)
                  : fmt::format(
                        "there is no {0} {1}; an administrator creates it with `holdfast "
                        "broker {0} create`",
                        to_text(to.kind), name);
  }
  if (rejection == Rejection::destination_closed) {
    return member ? fmt::format("the member with the public key {} was revoked", name)
                  : fmt::format("the topic {} is archived", name);
  }
  if (member) {
    return "members read the messages to themselves only";
  }
  return fmt::format(
      "the topic {} is closed and you are not subscribed to it, or your subscription is for "
      "reading only; an administrator changes that with `holdfast broker topic subscribe`",
      name);
}

std::string refusal_detail(Rejection rejection, const RefusedMessage& refused) {
  const Workspace& workspace = refused.workspace;
  switch (rejection) {
    case Rejection::unauthenticated:
      return "no member has this token";
    case Rejection::unknown_workspace:
      return fmt::format("mesh is {}", quote(refused.slug));
    case Rejection::not_a_member:
      return fmt::format("mesh is {}, and your token is that of another workspace",
                         quote(refused.slug));
    case Rejection::member_revoked:
      return "an administrator can invite you again";
    case Rejection::too_large:
      HOLDFAST_ASSERT(refused.message != nullptr);
      return fmt::format("the body has {} bytes, and the workspace {} accepts {}",
                         refused.message->envelope.body.size(), quote(workspace.slug),
                         workspace.max_inline_bytes);
    case Rejection::stale_retry:
      return fmt::format(
          "the workspace remembers ids for {} days, so this message may have been accepted and "
          "forgotten; look for it, or send it under a new id",
          workspace.dedupe.retention_days);
    case Rejection::rate_limited:
      return fmt::format("{} accepts {} messages per {} s", quote(workspace.slug),
                         workspace.rate_limit_per_window, workspace.window_seconds);
    case Rejection::idempotency_key_reused:
      HOLDFAST_ASSERT(refused.message != nullptr);
      return fmt::format("you sent other content as {}; use a new id for a new message",
                         quote(refused.message->id.text()));
    case Rejection::unknown_destination:
    case Rejection::destination_closed:
    case Rejection::not_allowed:
      HOLDFAST_ASSERT(refused.message != nullptr);
      return destination_detail(rejection, refused.message->envelope.destination);
    case Rejection::invalid_request:
    case Rejection::invalid_idempotency_key:
    case Rejection::idempotency_key_conflict:
    case Rejection::canonical_form_drift:
    case Rejection::unsupported_version:
    case Rejection::limiter_unavailable:
    case Rejection::broker_busy:
      return {};
  }
  HOLDFAST_ASSERT(false);
  return {};
}

}  // namespace holdfast::delivery
