// What the core does when its store fails: it waits until the store can be reached again, with
// everything it has decided, or it stops.
#include <algorithm>

#include "runs/engine/engine_core.h"

namespace holdfast {

namespace {

bool is_one_of(ErrorCode code, std::initializer_list<ErrorCode> codes) {
  return std::find(codes.begin(), codes.end(), code) != codes.end();
}

// The store cannot be reached, or cannot be used as it is now.
bool is_unavailable(const Error& failure) {
  return is_one_of(failure.code(), {ErrorCode::unavailable, ErrorCode::io_error,
                                    ErrorCode::log_stopped, ErrorCode::disk_full, ErrorCode::busy});
}

}  // namespace

bool may_return(const Error& failure) {
  // The others are of a database that is being restored, or whose accounts are being changed.
  return is_unavailable(failure) ||
         is_one_of(failure.code(),
                   {ErrorCode::conflict, ErrorCode::permission_denied, ErrorCode::not_found});
}

void Core::store_failed(const Error& why, TimeMs now) {
  if (!journal_.can_recover() || !is_unavailable(why)) {
    stop(why);
    return;
  }
  if (!outage_.has_value()) {
    outage_ = StoreOutage{why, now};
  }
  // The group that was written may be there: it stays as it is until that is known.
  take_back(Groups::building);
}

void Core::store_returned(const JournalRecovery& recovery, TimeMs now) {
  HOLDFAST_ASSERT(outage_.has_value());  // E3
  outage_.reset();
  rejecting_ = false;
  ++stats_.recoveries;
  rebuild_ = rebuild_ || recovery.rewound;
  busy_tries_ = 0;
  check_changes_ = true;
  if (std::exchange(open_write_, std::nullopt).has_value()) {
    // Without an outcome it was refused before it was written.
    finish_write(recovery.open.value_or(Error{ErrorCode::conflict, "it was not written"}), now);
  }
}

// Its commands fail with the error of the store. After an outage the write was tried again: even if
// it was refused at first, it may be in the log.
void Core::end_open_write() {
  Error error = *std::exchange(open_write_, std::nullopt);
  if (outage_.has_value()) {
    error = Error(error).with(WhatNext::in_doubt);
  }
  for (const CommandPtr& command : std::exchange(writing_->commands, {})) {
    effects_.emplace_back([command, error] { command->settle(error); });
  }
  take_back();
}

void Core::stop(const Error& why) {
  if (stopped_.has_value()) {
    return;
  }
  if (open_write_.has_value()) {
    end_open_write();
  }
  if (writing_ != nullptr) {
    stopping_ = why;
    return;
  }
  outage_.reset();
  stopped_ = Error{ErrorCode::engine_stopped, "the engine stopped: " + why.text()};
  take_back();
  for (const CommandPtr& command : std::exchange(inbox_, {})) {
    effects_.emplace_back([command, error = *stopped_] { command->settle(error); });
  }
  for (const Line& line : std::exchange(lines_, {})) {
    for (const ClaimRequestPtr& request : line.requests) {
      refuse(request);
    }
  }
  run_waits_.stop(effects_);
  heartbeats_.clear();
  for (const auto& [claim_id, claim] : std::exchange(held_, {})) {
    effects_.emplace_back(
        [lost = claim.lost, id = claim_id, why_lost = *stopped_] { lost(id, why_lost); });
  }
}

// Not why: that names hosts, and goes to the log.
Error Core::unavailable() const {
  return Error{ErrorCode::unavailable, "the store cannot be reached; nothing was done"};
}

bool Core::patience_expired(TimeMs now) const {
  return !rejecting_ && now.value - outage_->since.value >= options_.store_patience_ms;
}

void Core::reject_waiting() {
  rejecting_ = true;
  std::deque<CommandPtr> waiting;
  for (CommandPtr& command : std::exchange(inbox_, {})) {
    if (command->waits_for_store()) {
      waiting.push_back(std::move(command));
    } else {
      effects_.emplace_back([command, error = unavailable()] { command->settle(error); });
    }
  }
  inbox_ = std::move(waiting);
}

}  // namespace holdfast
