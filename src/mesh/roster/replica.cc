#include "mesh/roster/replica.h"

#include <algorithm>
#include <utility>

#include "base/blake3.h"
#include "holdfast/assert.h"
#include "mesh/ops/signature.h"
#include "mesh/roster/judge.h"

namespace holdfast::mesh {

Replica::Replica(const PublicKey& user, NodeId self, const ReplicaLimits& limits)
    : self_(self),
      limits_(limits),
      time_(self),
      roster_(user, limits.rules),
      aside_(limits.aside),
      unknown_(limits.unknown) {}

IntakeResult Replica::ingest(std::span<const std::byte> bytes, std::uint64_t wall_now_ms,
                             IngestSource source) {
  // Known bytes were decoded before: what repeats costs one hash.
  const Digest hash = blake3(bytes);
  if (find(hash) != nullptr) {
    return {Intake::duplicated, Reason::none};
  }
  auto operation = decode_operation(bytes);
  if (!operation.ok()) {
    return {Intake::rejected, Reason::malformed};
  }
  if (operation.value().signature.has_value()) {
    return admit(std::move(operation).value(), hash, wall_now_ms);
  }
  return operation.value().sanitised.has_value() && source == IngestSource::fetched
             ? take_sanitised(operation.value(), hash)
             : IntakeResult{Intake::rejected, Reason::unsigned_operation};
}

std::optional<PublicKey> Replica::key_of(NodeId node) const {
  const auto found = keys_.find(node);
  return found == keys_.end() ? std::nullopt : std::optional(found->second);
}

const Operation* Replica::find(const Digest& hash) const {
  if (const auto waiting = waiting_.find(hash); waiting != waiting_.end()) {
    return &waiting->second.operation;
  }
  if (const Operation* known = roster_.find_bytes(hash); known != nullptr) {
    return known;
  }
  const auto copy = sanitised_ids_.find(hash);
  return copy == sanitised_ids_.end() ? nullptr : find_sanitised(copy->second);
}

const Operation* Replica::find_sanitised(const OpId& id) const {
  const auto copy = sanitised_.find(id);
  return copy == sanitised_.end() ? nullptr : &copy->second.second;
}

std::vector<std::pair<const Operation*, Place>> Replica::waiting_about(const JobId& job) const {
  std::vector<std::pair<const Operation*, Place>> found;
  for (const auto& [hash, waiting] : waiting_) {
    if (job_of(waiting.operation.payload) == job) {
      found.emplace_back(&waiting.operation, waiting.place);
    }
  }
  std::sort(found.begin(), found.end(), [](const auto& left, const auto& right) {
    return left.first->timestamp < right.first->timestamp;
  });
  return found;
}

std::optional<PublicKey> Replica::key_for(const VerifiedOperation& candidate) const {
  if (const auto bound = key_of(candidate.operation.author()); bound.has_value()) {
    return bound;
  }
  const bool self_addressed = candidate.token.has_value() &&
                              node_id_of(candidate.token->audience) == candidate.operation.author();
  return self_addressed ? std::optional(candidate.token->audience) : std::nullopt;
}

IntakeResult Replica::admit(Operation operation, const Digest& hash, std::uint64_t wall_now_ms) {
  VerifiedOperation candidate = with_token(std::move(operation), hash);
  if (std::holds_alternative<DelegateUcan>(candidate.operation.payload) &&
      !candidate.token.has_value()) {
    return {Intake::rejected, Reason::malformed};
  }
  const auto key = key_for(candidate);
  if (!key.has_value()) {
    hold(unknown_, hash, candidate.operation, Place::unknown);
    return {Intake::parked, Reason::unknown_author};
  }
  if (!verify_operation(candidate.operation, *key)) {
    return {Intake::rejected, Reason::bad_signature};
  }
  candidate.author = *key;
  const NodeId author = candidate.operation.author();
  const bool is_new = keys_.emplace(author, *key).second;
  if (is_new && unknown_lost_) {
    losses_.insert(author);
  }
  const IntakeResult result = place(std::move(candidate), wall_now_ms);
  if (is_new) {
    std::vector<Digest> ready;
    for (const auto& [other, waiting] : waiting_) {
      if (waiting.place == Place::unknown && waiting.operation.author() == author) {
        ready.push_back(other);
      }
    }
    readmit(ready, wall_now_ms);
  }
  return result;
}

IntakeResult Replica::place(VerifiedOperation valid, std::uint64_t wall_now_ms) {
  const Skew skew = judge_skew(valid.operation.timestamp, wall_now_ms, limits_.skew);
  if (skew == Skew::quarantine) {
    if (valid.token.has_value()) {
      roster_.add_token(*valid.token);
      note_logged();
    }
    hold(aside_, valid.hash, valid.operation, Place::future);
    return {Intake::quarantined, Reason::future_skew};
  }
  suspicious_ += skew == Skew::suspicious ? 1 : 0;
  time_.receive(valid.operation.timestamp, wall_now_ms);
  return append(std::move(valid));
}

IntakeResult Replica::append(VerifiedOperation valid) {
  const Digest hash = valid.hash;
  const bool is_new = roster_.add(std::move(valid));
  HOLDFAST_ASSERT(is_new);
  const Operation& operation = *roster_.find_bytes(hash);
  if (const Operation* copy = find_sanitised(operation.id);
      copy != nullptr && copy->timestamp == operation.timestamp) {
    drop_sanitised(copy->id);
  }
  note_logged();
  const Verdict verdict = *roster_.verdict(hash);
  if (roster_.is_on_log(hash)) {
    return {Intake::appended, verdict.reason};
  }
  hold(aside_, hash, operation, Place::aside);
  return {verdict.outcome == Outcome::rejected ? Intake::rejected : Intake::parked, verdict.reason};
}

// Operations that now belong on the log: the one that was just added, and those that had waited
// aside for what it brings.
void Replica::note_logged() {
  for (const Digest& hash : roster_.take_logged()) {
    aside_.remove(hash);
    const Timestamp& logged = roster_.find_bytes(hash)->timestamp;
    advance(frontier_, logged);
    note(hash, logged.node, Place::log);
  }
}

void Replica::wait_in(AsidePool& pool, const Digest& hash, const Operation& operation,
                      Place place) {
  pool.add(hash, operation.author(), encode_operation(operation).size());
  if (place != Place::aside) {
    Waiting waiting{operation, place, std::nullopt, next_order_++};
    const auto* delegation = std::get_if<DelegateUcan>(&operation.payload);
    if (place == Place::future && delegation != nullptr) {
      waiting.token = parse_token(delegation->ucan_bytes).value();
    }
    waiting_.emplace(hash, std::move(waiting));
  }
}

void Replica::hold(AsidePool& pool, const Digest& hash, const Operation& operation, Place place) {
  note(hash, operation.author(), place);
  wait_in(pool, hash, operation, place);
  while (const auto leaving = pool.overflow()) {
    pool.remove(*leaving);
    if (may_leave(*leaving)) {
      forget(*leaving);
    }
  }
}

// Not when its token is valid: how many those are is decided by the issuers of tokens.
bool Replica::may_leave(const Digest& hash) const {
  const auto waiting = waiting_.find(hash);
  if (waiting == waiting_.end()) {
    return roster_.is_removable(hash);
  }
  const auto& token = waiting->second.token;
  return !token.has_value() ||
         roster_.tokens().structure(token->cid) != TokenGraph::Structure::valid;
}

void Replica::forget(const Digest& hash) {
  const NodeId author = find(hash)->author();
  if (const auto waiting = waiting_.find(hash); waiting != waiting_.end()) {
    const auto token = std::move(waiting->second.token);
    waiting_.erase(waiting);
    if (token.has_value()) {
      roster_.remove_token(*token);
    }
  } else {
    roster_.remove(hash);
  }
  note(hash, author, Place::gone);
  ++lost_;
  if (!roster_.has_author(author) && !aside_.has_author(author)) {
    keys_.erase(author);
  }
  if (keys_.contains(author)) {
    losses_.insert(author);
  } else {
    losses_.erase(author);
    unknown_lost_ = true;
  }
}

// In the order in which they arrived.
void Replica::readmit(const std::vector<Digest>& hashes, std::uint64_t wall_now_ms) {
  std::map<std::uint64_t, std::pair<Digest, Waiting>> taken;
  for (const Digest& hash : hashes) {
    auto node = waiting_.extract(hash);
    unknown_.remove(hash);
    aside_.remove(hash);
    taken.emplace(node.mapped().order, std::pair(hash, std::move(node.mapped())));
  }
  for (auto& [order, one] : taken) {
    auto& [hash, waiting] = one;
    const NodeId author = waiting.operation.author();
    if (admit(std::move(waiting.operation), hash, wall_now_ms).reason == Reason::bad_signature) {
      note(hash, author, Place::gone);
    }
    if (waiting.token.has_value()) {
      roster_.remove_token(*waiting.token);  // the operation carries it now
    }
  }
}

std::size_t Replica::release(std::uint64_t wall_now_ms) {
  std::vector<Digest> ready;
  for (const auto& [hash, waiting] : waiting_) {
    if (waiting.place == Place::future &&
        judge_skew(waiting.operation.timestamp, wall_now_ms, limits_.skew) != Skew::quarantine) {
      ready.push_back(hash);
    }
  }
  readmit(ready, wall_now_ms);
  return ready.size();
}

IntakeResult Replica::take_sanitised(const Operation& operation, const Digest& hash) {
  const SanitisedMark& mark = *operation.sanitised;
  const auto own_key = key_of(self_);
  const Resource resource = required_pair(operation.payload).resource;
  if (!own_key.has_value() ||
      !roster_.tokens().sanitises(mark.delegation, *own_key, resource, mark.rules)) {
    return {Intake::rejected, Reason::unsigned_operation};
  }
  const auto known = roster_.find_at(operation.timestamp);
  if (std::any_of(known.begin(), known.end(),
                  [&](const Operation* one) { return one->id == operation.id; })) {
    return {Intake::duplicated, Reason::none};
  }
  drop_sanitised(operation.id);
  if (sanitised_.size() >= limits_.sanitised_ops) {
    drop_sanitised(sanitised_.begin()->first);
    ++lost_;
  }
  sanitised_.emplace(operation.id, std::pair(hash, operation));
  sanitised_ids_.emplace(hash, operation.id);
  note(hash, operation.author(), Place::sanitised);
  return {Intake::appended, Reason::none};
}

void Replica::drop_sanitised(const OpId& id) {
  if (const auto copy = sanitised_.find(id); copy != sanitised_.end()) {
    note(copy->second.first, copy->second.second.author(), Place::gone);
    sanitised_ids_.erase(copy->second.first);
    sanitised_.erase(copy);
  }
}

std::vector<PlaceChange> Replica::take_changes() { return std::exchange(changes_, {}); }

}  // namespace holdfast::mesh
