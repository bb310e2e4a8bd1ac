// StepRunner: one step at a time, in the thread that asks. The report of a step goes to the loop
// together with the wish for the next one, so a chain of steps costs one commit per step. Claims
// are kept alive while their handlers run.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>

#include "runs/engine/worker_pool.h"

namespace holdfast {

// What one process can execute now.
struct Hands {
  std::shared_ptr<const HandlerTable> handlers;
  std::shared_ptr<const Skills> skills;
};

struct ClaimedStep {
  Assignment assignment;
  std::stop_source stop;  // stopped when the claim is lost
};

// How a step ended, on its way to the journal.
struct StepReport {
  ClaimProof proof;
  std::shared_ptr<const AttemptOutcome> outcome;
};

struct ReportedStep {
  bool counted = false;  // the claim was still good
  std::string run_status;
};

class StepRunner {
 public:
  // The loop must outlive the runner.
  StepRunner(Loop& loop, Hands hands) : loop_(loop), hands_(std::move(hands)) {}

  // Stores the report, if there is one, and claims the next step; empty when there is none for
  // that long. An error is what stopped the engine.
  Result<std::optional<ClaimedStep>> next(const std::optional<StepReport>& report,
                                          std::chrono::milliseconds wait_up_to);
  // Calls the handler.
  StepReport execute(const ClaimedStep& step) const;
  Result<ReportedStep> store(const StepReport& report);

 private:
  struct Slot;

  [[nodiscard]] ClaimRequestPtr claim_request(const std::shared_ptr<Slot>& slot) const;

  Loop& loop_;
  Hands hands_;
};

// Executes with several threads until nothing was there for idle_for; max_steps 0: no limit.
struct DrainPlan {
  std::size_t threads = 1;
  std::chrono::milliseconds idle_for{0};
  std::uint64_t max_steps = 0;
};
Result<std::uint64_t> drain_steps(Loop& loop, const Hands& hands, const DrainPlan& plan);

}  // namespace holdfast
