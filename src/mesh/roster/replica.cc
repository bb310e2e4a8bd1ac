#include "mesh/roster/replica.h"

#include <iterator>
#include <utility>

#include "base/blake3.h"
#include "holdfast/assert.h"
#include "mesh/ops/signature.h"

namespace holdfast::mesh {

IntakeResult Replica::ingest(std::span<const std::byte> bytes, std::uint64_t wall_now_ms) {
  const auto operation = decode_operation(bytes);
  if (!operation.ok()) {
    return {Intake::rejected, Reason::malformed};
  }
  const Digest hash = blake3(bytes);
  if (roster_.verdict(hash).has_value() || unknown_.hashes.contains(hash) ||
      future_.hashes.contains(hash)) {
    return {Intake::duplicated, Reason::none};
  }
  if (!operation.value().signature.has_value()) {
    return {Intake::rejected, Reason::unsigned_operation};
  }
  return admit(operation.value(), hash, wall_now_ms);
}

std::optional<PublicKey> Replica::key_of(NodeId node) const {
  const auto found = keys_.find(node);
  return found == keys_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<PublicKey> Replica::key_in(const Operation& operation) {
  const auto* delegation = std::get_if<DelegateUcan>(&operation.payload);
  if (delegation == nullptr) {
    return std::nullopt;
  }
  const auto token = parse_token(delegation->ucan_bytes);
  if (!token.ok() || node_id_of(token.value().audience) != operation.author()) {
    return std::nullopt;
  }
  return token.value().audience;
}

IntakeResult Replica::admit(const Operation& operation, const Digest& hash,
                            std::uint64_t wall_now_ms) {
  const auto* delegation = std::get_if<DelegateUcan>(&operation.payload);
  if (delegation != nullptr && !parse_token(delegation->ucan_bytes).ok()) {
    return {Intake::rejected, Reason::malformed};
  }
  const auto bound = key_of(operation.author());
  const auto key = bound.has_value() ? bound : key_in(operation);
  if (!key.has_value()) {
    put_aside(unknown_, hash, operation);
    return {Intake::parked, Reason::unknown_author};
  }
  if (!verify_operation(operation, *key)) {
    return {Intake::rejected, Reason::bad_signature};
  }
  keys_.emplace(operation.author(), *key);
  const IntakeResult result = place(operation, *key, hash, wall_now_ms);
  if (!bound.has_value()) {
    retry_unknown(wall_now_ms);
  }
  return result;
}

IntakeResult Replica::place(const Operation& operation, const PublicKey& key, const Digest& hash,
                            std::uint64_t wall_now_ms) {
  const VerifiedOperation valid = verified(operation, key);
  const Skew skew = judge_skew(operation.timestamp, wall_now_ms, limits_.skew);
  if (skew == Skew::quarantine) {
    if (valid.token.has_value()) {
      roster_.add_token(*valid.token);
    }
    put_aside(future_, hash, operation);
    return {Intake::quarantined, Reason::future_skew};
  }
  suspicious_ += skew == Skew::suspicious ? 1 : 0;
  time_.receive(operation.timestamp, wall_now_ms);
  return append(valid);
}

IntakeResult Replica::append(const VerifiedOperation& operation) {
  const bool is_new = roster_.add(operation);
  HOLDFAST_ASSERT(is_new);
  advance(frontier_, operation.operation.timestamp);
  const Verdict verdict = *roster_.verdict(operation.hash);
  switch (verdict.outcome) {
    case Outcome::parked:
      return {Intake::parked, verdict.reason};
    case Outcome::rejected:
      return {Intake::rejected, verdict.reason};
    case Outcome::applied:
    case Outcome::noop:
    case Outcome::void_:
    case Outcome::deferred:
      return {Intake::appended, verdict.reason};
  }
  return {Intake::appended, verdict.reason};
}

void Replica::put_aside(Aside& pool, const Digest& hash, const Operation& operation) {
  const std::size_t size = encode_operation(operation).size();
  pool.operations.emplace_back(hash, operation);
  pool.hashes.insert(hash);
  pool.bytes += size;
  while (pool.operations.size() > limits_.max_aside_ops || pool.bytes > limits_.max_aside_bytes) {
    const auto& [oldest, dropped] = pool.operations.front();
    pool.bytes -= encode_operation(dropped).size();
    pool.hashes.erase(oldest);
    losses_.insert(dropped.author());
    pool.operations.pop_front();
  }
}

std::vector<std::pair<Digest, Operation>> Replica::take_all(Aside& pool) {
  Aside taken = std::exchange(pool, {});
  return {std::make_move_iterator(taken.operations.begin()),
          std::make_move_iterator(taken.operations.end())};
}

void Replica::retry_unknown(std::uint64_t wall_now_ms) {
  for (const auto& [hash, operation] : take_all(unknown_)) {
    admit(operation, hash, wall_now_ms);
  }
}

std::size_t Replica::release(std::uint64_t wall_now_ms) {
  std::size_t released = 0;
  for (const auto& [hash, operation] : take_all(future_)) {
    if (admit(operation, hash, wall_now_ms).intake != Intake::quarantined) {
      ++released;
    }
  }
  return released;
}

}  // namespace holdfast::mesh
