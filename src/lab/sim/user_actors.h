// UserActors: the operators and clients of a world file, who decide, send events and cancel.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "lab/sim/invariant_checker.h"
#include "lab/sim/user_scenario.h"

namespace holdfast::sim {

class UserActors {
 public:
  UserActors(const UserSetting& setting, Simulation& simulation, const Dice& dice)
      : setting_(setting), simulation_(simulation), dice_(dice) {}

  void run_started(const RunRecord& run);
  void run_pauses(const RunRecord& run, const ManualStepPaused& at);
  void run_waits(const RunRecord& run, const ExternalEventWaitOpened& at);
  // The time of the last action that is scheduled so far.
  [[nodiscard]] std::int64_t last_due_us() const { return last_due_us_; }

 private:
  void act_later(std::int64_t delay_us, const std::function<void()>& what);
  void send(const RunRecord& run, const EventSource& source, const std::string& correlation,
            const std::string& key);

  const UserSetting& setting_;
  Simulation& simulation_;
  Dice dice_;
  std::int64_t last_due_us_ = 0;
  std::map<std::pair<RunId, SharedText>, std::uint32_t> parked_;  // how often a step was parked
};

}  // namespace holdfast::sim
