// The attempts of a run, from all queues, and what each means at a moment.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "runs/view/run_source.h"

namespace holdfast {

struct KnownAttempt {
  const Attempt* attempt = nullptr;
  SharedText queue = {};
  std::shared_ptr<const Attempt> read = nullptr;  // owns it, when a part of it had to be read
};

// As they were scheduled, queue by queue.
std::vector<KnownAttempt> attempts_of(const RunSource& source);

// The open circuit breaker without which a worker could claim the attempt.
std::optional<OpenCircuit> open_circuit_of(const RunSource& source, const Attempt& attempt,
                                           const SharedText& queue);

// Of attempts that have not ended: a worker holds it; its lease has expired; a worker may claim it;
// no worker may claim it yet.
bool is_held(const Attempt& attempt, TimeMs now);
bool is_expired(const Attempt& attempt, TimeMs now);
bool is_visible(const Attempt& attempt, TimeMs now);
bool is_scheduled(const Attempt& attempt, TimeMs now);
// Its result, or its failure, is not part of the run yet.
bool is_unapplied(const Attempt& attempt);

}  // namespace holdfast
