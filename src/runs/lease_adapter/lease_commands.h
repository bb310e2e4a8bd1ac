// The commands of the lease adapter, decided in the engine's loop: which attempts of a queue are
// alive, what a worker needs to know about them, and what signals of workers mean. Each turns into
// dispatch facts through the same rules as the calls of any other worker.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runs/engine/step_chain.h"
#include "runs/lease_adapter/lease_rules.h"

namespace holdfast {

// The attempts of the queue that workers execute and that have not ended.
std::vector<LiveItem> live_items(Turn& turn, const SharedText& queue);
// Those of these keys that are alive.
std::vector<LiveItem> live_items(Turn& turn, const SharedText& queue,
                                 const std::vector<SharedText>& keys);

// The attempts of these keys that are alive, without their claims. Large inputs are not read yet.
Result<std::vector<Assignment>> offers(Turn& turn, const SharedText& queue,
                                       const std::vector<SharedText>& keys);
// Reads the input and makes the item.
Result<WorkItem> item_of(Journal& journal, Assignment offer, TimeMs visible_at);

// What is to be done in the backend about a signal, once its facts are durable.
struct SignalOutcome {
  SignalAction action = SignalAction::ignore;
  std::optional<LeaseAnswer> answer = std::nullopt;
  bool remove = false;                              // the attempt has ended
  std::optional<TimeMs> visible_at = std::nullopt;  // take the item back; visible from then on
  bool held_back = false;                           // because of an open circuit breaker
};

// One outcome for each signal, in the same order. Errors are those of the store.
Result<std::vector<SignalOutcome>> carry_out(Turn& turn, const SharedText& queue,
                                             const std::vector<LeaseSignal>& signals,
                                             const EngineApplicant& engine);

}  // namespace holdfast
