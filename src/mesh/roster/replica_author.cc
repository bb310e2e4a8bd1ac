// What a replica authors itself, and how it is loaded from a store.
#include <algorithm>
#include <utility>

#include "base/blake3.h"
#include "holdfast/assert.h"
#include "mesh/audit/snapshot.h"
#include "mesh/ops/signature.h"
#include "mesh/roster/replica.h"

namespace holdfast::mesh {

namespace {

Error refusal_of(const Verdict& verdict) {
  const bool authority = verdict.outcome == Outcome::parked || verdict.outcome == Outcome::rejected;
  return Error{authority ? ErrorCode::permission_denied : ErrorCode::conflict,
               "the operation would be " + to_text(verdict)}
      .with("reason", to_text(verdict.reason));
}

}  // namespace

Result<Operation> Replica::author(Draft draft, const SigningKey& key, std::uint64_t wall_now_ms) {
  HOLDFAST_ASSERT(key.node_id() == self_);
  const auto at = time_.tick(wall_now_ms);
  if (!at.has_value()) {
    return Error{ErrorCode::unavailable, "the logical clock is at its end until wall time advances"}
        .with("reason", to_text(Reason::clock_overflow));
  }
  Operation operation;
  operation.id = make_op_id(at->wall_ms, draft.random);
  operation.timestamp = *at;
  operation.causal_deps = std::move(draft.causal_deps);
  operation.payload = std::move(draft.payload);
  if (is_snapshot(operation.payload)) {
    std::get<CreateArtifact>(operation.payload).artifact_id = {operation.id.bytes};
  }
  HOLDFAST_CHECK(check_operation(operation));
  operation = sign_operation(std::move(operation), key);
  const VerifiedOperation valid = verified(operation, key.public_key());
  const bool is_new = roster_.add(valid);
  HOLDFAST_ASSERT(is_new);
  const Verdict verdict = *roster_.verdict(valid.hash);
  if (!verdict.is_effective() && verdict.outcome != Outcome::deferred) {
    static_cast<void>(roster_.take_logged());
    roster_.remove(valid.hash);
    return refusal_of(verdict);
  }
  keys_.emplace(self_, key.public_key());
  note_logged();
  if (!roster_.is_on_log(valid.hash)) {
    hold(aside_, valid.hash, operation, Place::aside);
  }
  return operation;
}

Result<void> Replica::restore(Operation operation, const Digest& hash, Place place) {
  switch (place) {
    case Place::log:
    case Place::aside: {
      const auto key = keys_.find(operation.author());
      if (key == keys_.end()) {
        return Error{ErrorCode::not_found, "no key of " + node_name(operation.author())};
      }
      if (place == Place::log) {
        advance(frontier_, operation.timestamp);
      } else {
        restored_aside_.push_back(hash);
      }
      VerifiedOperation stored = with_token(std::move(operation), hash);
      stored.author = key->second;
      roster_.insert(std::move(stored), place == Place::log ? LogState::on_log : LogState::not_yet);
      return {};
    }
    case Place::unknown:
      wait_in(unknown_, hash, operation, place);
      return {};
    case Place::future:
      wait_in(aside_, hash, operation, place);
      if (const auto& token = waiting_.at(hash).token; token.has_value()) {
        roster_.add_token(*token);
      }
      return {};
    case Place::sanitised:
      sanitised_ids_.emplace(hash, operation.id);
      sanitised_.emplace(operation.id, std::pair(hash, operation));
      return {};
    case Place::gone:
      return {};
  }
  return {};
}

void Replica::settle(const Timestamp& persisted, std::uint64_t wall_now_ms) {
  roster_.settle();
  note_logged();
  // Everything was judged for the first time.
  static_cast<void>(roster_.take_regressed());
  static_cast<void>(roster_.take_integrity_events());
  Timestamp newest;
  for (const auto& [node, at] : frontier_) {
    newest = std::max(newest, at);
  }
  for (const Digest& hash : std::exchange(restored_aside_, {})) {
    const Operation& operation = *roster_.find_bytes(hash);
    newest = std::max(newest, operation.timestamp);
    if (roster_.is_removable(hash)) {
      wait_in(aside_, hash, operation, Place::aside);
    }
  }
  // Quarantined operations of others must not move the clock; its own timestamps are used up.
  for (const auto& [hash, waiting] : waiting_) {
    if (waiting.place == Place::future && waiting.operation.author() == self_) {
      newest = std::max(newest, waiting.operation.timestamp);
    }
  }
  time_ = HybridTime::restore(self_, persisted, newest, wall_now_ms);
}

}  // namespace holdfast::mesh
