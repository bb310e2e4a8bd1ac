// LoopRequest: one operation that a caller hands to the loop. The loop carries requests out in the
// order in which they were submitted, on the thread that decides; functions inside requests are
// called there and must not block.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <variant>

#include "runs/engine/claim_request.h"
#include "runs/engine/engine_command.h"
#include "runs/engine/run_waits.h"

namespace holdfast {

struct CoreStats;

// Withdraws a claim request. `done` gets the number of attempts that will not be claimed for it any
// more: 0 if the request is complete. Claims that were under way are still assigned, unless the
// commit fails: then `done` is called again, with their number.
struct WithdrawClaim {
  ClaimRequestPtr request;
  std::function<void(std::size_t withdrawn)> done;
};
// No more heartbeats for a claim.
struct DropClaim {
  SharedText claim_id;
};
// Stores a handler's progress with the next heartbeat of its claim. Read when the request is
// carried out, so that one request carries the newest progress.
struct SetProgress {
  SharedText claim_id;
  std::function<Payload()> progress;
};
// Other processes may have written: folds what they wrote. With a position: only if the core is
// still there; otherwise it has seen the changes already.
struct CheckForChanges {
  std::optional<Position> at = std::nullopt;
};
// Folds changes by other processes now and as they appear, until as many UnwatchChanges came.
struct WatchChanges {};
struct UnwatchChanges {};
// Notifies a caller when the run ends.
struct AddRunWait {
  RunWaitPtr wait;
};
struct RemoveRunWait {
  RunWaitPtr wait;
};
// New runs of the workflow use this definition in this process.
struct AddDefinition {
  std::shared_ptr<const Definition> definition;
  std::function<void()> done;
};
// Work that waited for a definition may be possible now.
struct DefinitionsChanged {};
struct ReadStats {
  std::function<void(const CoreStats&)> done;
};

using LoopRequest = std::variant<CommandPtr, ClaimRequestPtr, WithdrawClaim, DropClaim, SetProgress,
                                 CheckForChanges, WatchChanges, UnwatchChanges, AddRunWait,
                                 RemoveRunWait, AddDefinition, DefinitionsChanged, ReadStats>;

}  // namespace holdfast
