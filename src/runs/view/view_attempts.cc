#include "runs/view/view_attempts.h"

#include <algorithm>

namespace holdfast {

namespace {

KnownAttempt whole(const RunSource& source, const Attempt& attempt, const SharedText& queue) {
  if (!attempt.outcome || !attempt.outcome->stored || source.read_outcome == nullptr) {
    return {&attempt, queue};
  }
  const auto copy = std::make_shared<Attempt>(attempt);
  source.read_outcome(queue, *copy->outcome);
  return {copy.get(), queue, copy};
}

}  // namespace

std::vector<KnownAttempt> attempts_of(const RunSource& source) {
  std::vector<KnownAttempt> known;
  for (const DispatchProjection* queue : source.queues) {
    for (const Attempt* attempt : queue->attempts_of(source.run->run_id())) {
      known.push_back(whole(source, *attempt, queue->queue()));
    }
  }
  std::stable_sort(known.begin(), known.end(),
                   [](const KnownAttempt& left, const KnownAttempt& right) {
                     return left.attempt->scheduled_at < right.attempt->scheduled_at;
                   });
  return known;
}

std::optional<OpenCircuit> open_circuit_of(const DispatchProjection& queue, const Attempt& attempt,
                                           TimeMs now) {
  const Circuit* circuit = queue.open_circuit(attempt);
  if (circuit == nullptr) {
    return std::nullopt;
  }
  const Attempt* probe = queue.live_probe(*circuit, now);
  return OpenCircuit{*circuit, queue.held_back_until(attempt, now),
                     probe == nullptr ? RunId() : probe->run_id};
}

std::optional<OpenCircuit> open_circuit_of(const RunSource& source, const Attempt& attempt,
                                           const SharedText& queue) {
  if (!attempt.circuit.is_set() ||
      !(is_visible(attempt, source.now) || is_expired(attempt, source.now))) {
    return std::nullopt;
  }
  if (source.find_circuit != nullptr) {
    return source.find_circuit(queue, attempt);
  }
  for (const DispatchProjection* known : source.queues) {
    if (known->queue() == queue) {
      return open_circuit_of(*known, attempt, source.now);
    }
  }
  return std::nullopt;
}

bool is_held(const Attempt& attempt, TimeMs now) {
  return attempt.status == AttemptStatus::claimed && attempt.claim->lease_until > now;
}

bool is_expired(const Attempt& attempt, TimeMs now) {
  return attempt.status == AttemptStatus::claimed && attempt.claim->lease_until <= now;
}

bool is_visible(const Attempt& attempt, TimeMs now) {
  return !attempt.ended() && attempt.status != AttemptStatus::claimed && attempt.visible_at <= now;
}

bool is_scheduled(const Attempt& attempt, TimeMs now) {
  return !attempt.ended() && attempt.status != AttemptStatus::claimed && attempt.visible_at > now;
}

bool is_unapplied(const Attempt& attempt) {
  return attempt.status == AttemptStatus::completed && !attempt.applied;
}

}  // namespace holdfast
