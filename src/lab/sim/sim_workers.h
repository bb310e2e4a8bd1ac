// Workers: those who execute attempts. Good ones report once, in time. The others stall past their
// lease, die, report twice, come back after they lost the claim, and show tokens that are not
// theirs.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "lab/sim/sim_process.h"
#include "lab/sim/sim_scenario.h"

namespace holdfast::sim {

class World;

class Workers {
 public:
  explicit Workers(World& world) : world_(world) {}

  // A process that came up gets its workers.
  void hire(Process& process);
  // It went down: those inside it are gone, others may still report elsewhere.
  void fired(Process& process);
  // Somebody is at an attempt and will come to an end with it.
  [[nodiscard]] bool somebody_executes() const;

 private:
  // One attempt in the hands of a worker.
  struct Task {
    Assignment assignment;
    std::uint32_t process = 0;
    std::uint64_t incarnation = 0;
    bool remote = false;  // it lives on when the process dies
    bool lost = false;    // it was told that the claim is not its any more
    bool over = false;
    HandlerAnswer answer = {};
  };
  using TaskPtr = std::shared_ptr<Task>;
  enum class Habit : std::uint8_t {
    good,
    stalls,       // takes longer than the lease, which is renewed meanwhile
    dies,         // never reports
    repeats,      // reports twice
    contradicts,  // reports twice, something else the second time
    comes_late,   // reports after the lease, which nobody renewed
    on_the_dot,   // reports in the moment the lease ends
    forges,       // shows a token that is not its own, then the right one
    hangs,        // holds on for ever, if the step has a timeout against that
  };
  static constexpr std::size_t kHabits = 9;
  static const char* name_of(Habit habit);

  void look_for_work(Process& process);
  void assigned(Process& process, const Assignment& assignment, bool remote);
  [[nodiscard]] Habit habit(const Dice& dice) const;
  [[nodiscard]] bool has_timeout(const Assignment& assignment) const;
  // Nothing went wrong that could have kept its process from renewing the lease.
  [[nodiscard]] bool nothing_in_the_way() const;
  void heartbeat(const TaskPtr& task);
  void report(const TaskPtr& task, Habit habit);
  void report_once(const TaskPtr& task, const HandlerAnswer& answer, const std::string& token,
                   const std::function<void(const Reply&)>& done);
  void finish(const TaskPtr& task);
  Process* process_of(const Task& task, std::string_view why);

  void executed(const TaskPtr& task, Execution how);

  World& world_;
  std::uint64_t claims_ = 0;
  std::map<std::string, TaskPtr> tasks_;  // that are not over, by claim
};

}  // namespace holdfast::sim
