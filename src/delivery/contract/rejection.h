// Rejection: why a daemon or a broker does not accept a message. One table has the name on the
// wire (the member "error" of the response) and the HTTP status of each.
//
// A rejection consumes nothing: the same id is accepted later, once the cause is removed.
// The one exception is idempotency_key_reused, which reports an id that was consumed before.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "holdfast/result.h"

namespace holdfast::delivery {

// X(name, HTTP status, error code, line)
#define HOLDFAST_DELIVERY_REJECTIONS(X)                                                           \
  X(invalid_request, 400, invalid_argument, "the request is not valid")                           \
  X(invalid_idempotency_key, 400, invalid_argument, "the message id is not valid")                \
  X(idempotency_key_conflict, 400, invalid_argument, "the request has two different message ids") \
  X(unauthenticated, 401, unauthenticated, "the caller is not authenticated")                     \
  X(not_a_member, 403, permission_denied, "the caller is not a member of the workspace")          \
  X(member_revoked, 403, permission_denied, "the membership of the caller was revoked")           \
  X(not_allowed, 403, permission_denied, "the destination is not open to the member")             \
  X(unknown_workspace, 404, not_found, "no such workspace")                                       \
  X(unknown_destination, 404, not_found, "no such topic, member or queue")                        \
  X(idempotency_key_reused, 409, idempotency_conflict,                                            \
    "the message id was used for another message")                                                \
  X(destination_closed, 410, not_found, "the topic is archived or the recipient was revoked")     \
  X(stale_retry, 410, idempotency_conflict, "the message was first sent too long ago")            \
  X(too_large, 413, too_large, "the message is larger than the limit")                            \
  X(canonical_form_drift, 422, invalid_argument, "the fingerprint does not fit the message")      \
  X(unsupported_version, 426, invalid_argument, "the version of the envelope is not supported")   \
  X(rate_limited, 429, rate_limited, "the workspace has used up its messages of this window")     \
  X(limiter_unavailable, 503, unavailable, "the rate limiter cannot be reached")                  \
  X(broker_busy, 503, busy, "the broker could not finish in time")

enum class Rejection : std::uint8_t {
#define HOLDFAST_ENUMERATOR(name, status, code, line) name,
  HOLDFAST_DELIVERY_REJECTIONS(HOLDFAST_ENUMERATOR)
#undef HOLDFAST_ENUMERATOR
};

struct RejectionInfo {
  Rejection rejection;
  std::string_view name;
  int http_status;
  ErrorCode code;
  std::string_view line;
};

const RejectionInfo& rejection_info(Rejection rejection);
std::optional<Rejection> find_rejection(std::string_view name);

// As an Error: its field "error" has the name, and `detail` follows the line of the table.
Error rejected(Rejection rejection, std::string_view detail);
Error rejected(Rejection rejection);
// Empty for an error that was not made by rejected().
std::optional<Rejection> rejection_of(const Error& error);

}  // namespace holdfast::delivery
