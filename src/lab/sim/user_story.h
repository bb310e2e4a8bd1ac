// UserStory: describes what happens in a simulation in the terms of the workflow.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "lab/sim/sim_plan.h"
#include "lab/sim/sim_request.h"
#include "lab/sim/sim_scenario.h"

namespace holdfast::sim {

class UserStory {
 public:
  using AddLine = std::function<void(const std::string& run, const std::string& line)>;
  explicit UserStory(AddLine add_line) : add_line_(std::move(add_line)) {}

  void run_started(const std::string& run, const RunStarted& fact);
  void execution_started(const std::string& run, const Assignment& attempt, int time, bool never,
                         std::int64_t late_us);
  void executed(const std::string& run, const Assignment& attempt, const HandlerAnswer& answer,
                Execution how, bool done);
  void reported(const std::string& run, const Assignment& attempt, const Reply& reply);
  void attempt_failed(const std::string& run, const std::string& step, const AttemptFailed& fact,
                      TimeMs at);
  void applied(const std::string& run, const std::string& step, const RunnableApplied& fact,
               const TransitionTaken& transition, bool failed, bool deferred);
  void pauses(const std::string& run, const ManualStepPaused& fact);
  void resolved(const std::string& run, const ManualStepResolved& fact);
  void waits(const std::string& run, const ExternalEventWaitOpened& fact);
  void wait_ended(const std::string& run, const ExternalEventWaitResolved& fact);
  void buffered(const std::string& run, const ExternalEventBuffered& fact);
  void withdrawn(const std::string& run, const std::string& step);
  void child(const std::string& run, const ChildRunStarted& fact);
  void compensates(const std::string& run, const CompensationStarted& fact);
  void ends(const std::string& run, const RunTerminal& fact);
  void process_changed(const std::string& process, bool up, const std::string& why);
  void fault_injected(Act act);

 private:
  AddLine add_line_;
  std::map<std::string, std::string> awaited_;  // names of events, by run and wait
};

}  // namespace holdfast::sim
