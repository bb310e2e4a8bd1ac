// Why a daemon refuses what a broker knows nothing of. The member "error" of the response names the
// refusal, as the rejections of delivery/contract/ do. A refusal changes nothing.
//
//   outbox_full          429  too many messages wait
//   outbox_low_on_space  507  the file of the outbox has reached its limit
//   row_inflight         409  the message is being sent
//   row_ended            409  the message was delivered or retired before
//   broker_unsure        503  the broker cannot say whether it has the message already
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/fields.h"
#include "holdfast/result.h"

namespace holdfast::delivery {

HOLDFAST_ENUM(OutboxRefusal, outbox_full, outbox_low_on_space, row_inflight, row_ended,
              broker_unsure);

inline ErrorCode code_of_refusal(OutboxRefusal refusal) {
  switch (refusal) {
    case OutboxRefusal::outbox_full:
      return ErrorCode::rate_limited;
    case OutboxRefusal::outbox_low_on_space:
      return ErrorCode::disk_full;
    case OutboxRefusal::row_inflight:
    case OutboxRefusal::row_ended:
      return ErrorCode::conflict;
    case OutboxRefusal::broker_unsure:
      return ErrorCode::unavailable;
  }
  HOLDFAST_ASSERT(false);
  return ErrorCode::invalid_argument;
}

inline Error outbox_refused(OutboxRefusal refusal, const std::string& message) {
  Error error{code_of_refusal(refusal), message};
  Error named = std::move(error).with("error", to_text(refusal));
  if (error_info(named.code()).http_status >= 500) {
    // The texts of other failures with such a status are not shown to callers. Nothing was done.
    return std::move(named).with("detail", message).with(WhatNext::retry);
  }
  return named;
}

}  // namespace holdfast::delivery
