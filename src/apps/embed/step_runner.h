// StepRunner: executes one step at a time, in the calling thread. The report of a step is submitted
// together with the claim request for the next one, so a chain of steps costs one commit per step.
// The leases of claims are extended while their handlers run.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>

#include "runs/engine/worker_pool.h"

namespace holdfast {

// What this process can execute.
struct WorkerSkills {
  std::shared_ptr<const HandlerTable> handlers;
  std::shared_ptr<const Skills> skills;
};

struct ClaimedStep {
  Assignment assignment;
  std::stop_source stop;  // stopped when the claim is lost
};

// The outcome of a step that is to be stored.
struct StepReport {
  ClaimProof proof;
  std::shared_ptr<const AttemptOutcome> outcome;
};

struct ReportedStep {
  bool counted = false;  // the claim was still valid
  std::string run_status;
};

class StepRunner {
 public:
  // The loop must outlive the runner.
  StepRunner(Loop& loop, WorkerSkills skills) : loop_(loop), skills_(std::move(skills)) {}

  // Stores the report, if any, and claims the next step; empty when none becomes ready in that
  // time. An error is the one that stopped the engine.
  Result<std::optional<ClaimedStep>> next(const std::optional<StepReport>& report,
                                          std::chrono::milliseconds wait_up_to);
  // Calls the handler.
  StepReport execute(const ClaimedStep& step) const;
  Result<ReportedStep> store(const StepReport& report);

 private:
  struct Slot;

  [[nodiscard]] ClaimRequestPtr claim_request(const std::shared_ptr<Slot>& slot) const;

  Loop& loop_;
  WorkerSkills skills_;
};

// Executes steps with several threads until none was ready for idle_for. max_steps 0: no limit.
struct DrainPlan {
  std::size_t threads = 1;
  std::chrono::milliseconds idle_for{0};
  std::uint64_t max_steps = 0;
};
Result<std::uint64_t> drain_steps(Loop& loop, const WorkerSkills& skills, const DrainPlan& plan);

}  // namespace holdfast
