// RunCommands: the commands on runs, as functions that the loop decides. Arguments are checked when
// a function is created. Any thread may then call it, and the loop may call it again when another
// process committed first: it decides the same command each time.
#pragma once

#include <functional>
#include <string_view>

#include "base/clock.h"
#include "base/random.h"
#include "runs/api/run_requests.h"
#include "runs/engine/engine_command.h"
#include "runs/engine/schedule_delivery.h"
#include "runs/engine/step_chain.h"

namespace holdfast {

template <typename T>
using TurnFunction = std::function<Result<T>(Turn&)>;

class RunCommands {
 public:
  // Both must outlive it. source: recorded as the origin of every command.
  RunCommands(Clock& clock, Random& random, SharedText source)
      : clock_(clock), random_(random), source_(std::move(source)) {}

  // Errors are those of the same members of Engine (holdfast/engine.h). trace: the W3C trace
  // context of the caller, an object; empty: none.
  struct Start {
    RunId run_id;  // of the run, unless it exists already
    TurnFunction<Started> decide;
  };
  Result<Start> start(const StartRequest& request, const Payload& trace = {});
  // invalid_argument when a time of the window is none.
  Result<TurnFunction<Delivered>> deliver(std::string_view workflow, std::string_view trigger,
                                          const DeliverRequest& request);
  TurnFunction<Done> cancel(const RunId& run, const CancelRequest& request);
  TurnFunction<Done> resolve(const RunId& run, ManualAction action, const DecisionRequest& request);
  TurnFunction<Done> retry(const RunId& run, const RetryRequest& request);
  // A parked step, or the dead letter of a run that has ended.
  TurnFunction<Done> discard(const RunId& run, const DiscardRequest& request);
  // The dead letter of a run that has ended: starts the run that repeats it, once. The input cannot
  // be changed.
  TurnFunction<Started> redrive(const RunId& run, const RetryRequest& request);
  TurnFunction<Done> signal(const RunId& run, const SignalRequest& request);
  TurnFunction<Done> mutate_graph(const RunId& run, const MutateRequest& request);
  TurnFunction<Done> migrate(const RunId& run, const MigrateRequest& request);
  Result<Start> replay(const RunId& run, const ReplayRequest& request);
  static TurnFunction<Done> continue_as_new(const RunId& run, const ContinueRequest& request);
  TurnFunction<Done> set_attributes(const RunId& run, const AttributesRequest& request);
  static TurnFunction<Done> archive(const RunId& run, const ArchiveRequest& request);
  static TurnFunction<Done> unarchive(const RunId& run);

 private:
  std::string key_or_new(const std::string& key);

  Clock& clock_;
  Random& random_;
  SharedText source_;
};

DeliverResponse deliver_response(const Delivered& delivered);

}  // namespace holdfast
