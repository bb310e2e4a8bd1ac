// Scenario: everything outside the engine in a simulation: the workflows, the results and durations
// of their handlers, the runs that clients start, and the decisions of operators. All of it is
// drawn from dice.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "lab/sim/sim_dice.h"
#include "runs/engine/claim_request.h"
#include "runs/engine/schedule_delivery.h"
#include "runs/run/run_decide.h"

namespace holdfast::sim {

class Simulation;
struct Item;
struct Reply;

// The outcome of an attempt.
struct HandlerAnswer {
  std::variant<Completion, Failure> outcome;
  std::int64_t takes_us = 1000;
  bool never = false;     // it hangs: there is no answer
  bool done = true;       // the outside effect of the handler really happened
  std::string name = {};  // the declared outcome; empty: none was declared
};

struct StartRequest {
  std::string workflow;
  std::string input = "{}";
  std::string trigger = {};  // empty: the first trigger of the workflow
};

// How the execution of an attempt ended.
enum class Execution : std::uint8_t { reports, dies, killed_with_process };

// Observes a simulation from outside, acts in it, and reports violations of its own invariants.
class Observer {
 public:
  virtual ~Observer() = default;
  // A fact became durable.
  virtual void stored(const EntryView& fact) = 0;
  // A worker starts to execute an attempt. late_us: how long it will stall.
  virtual void execution_started(const Assignment& attempt, const HandlerAnswer& answer,
                                 std::int64_t late_us) = 0;
  // The worker has executed it; done: whether the outside effect happened.
  virtual void executed(const Assignment& attempt, const HandlerAnswer& answer, Execution how,
                        bool done) = 0;
  // The reply to its report.
  virtual void reported(const Assignment& attempt, const Reply& reply) = 0;
  virtual void process_changed(const std::string& process, bool up, const std::string& why) = 0;
  // A fault is injected.
  virtual void fault_injected(const Item& item) = 0;
  // After the faults: nothing more will happen, however much time passes.
  [[nodiscard]] virtual bool is_idle() const = 0;
  // The simulation has ended; some runs may not have.
  virtual void simulation_ended() = 0;
};

class Scenario {
 public:
  virtual ~Scenario() = default;
  // Texts of definitions. faults_ended: only definitions that start no runs by themselves.
  [[nodiscard]] virtual std::vector<std::string> definitions(bool faults_ended) const = 0;
  // Another definition of one of them; empty: there is none.
  [[nodiscard]] virtual std::optional<std::string> other_definition(const Dice& dice) const;
  [[nodiscard]] virtual StartRequest start(const Dice& dice) const = 0;
  // Workflows and their cron triggers.
  [[nodiscard]] virtual std::vector<std::pair<std::string, std::string>> schedules() const;
  // A window that a scheduler delivers, instead of a start; empty: none.
  [[nodiscard]] virtual std::optional<DeliverWindow> delivery(const Dice& dice) const;
  // The same attempt gets the same answer, whichever worker executes it and however often.
  [[nodiscard]] virtual HandlerAnswer answer(const Assignment& attempt) const = 0;
  // The decision of an operator; empty: not yet. faults_ended: operators no longer hesitate.
  [[nodiscard]] virtual std::optional<ManualAction> decide(const ManualState& at, const Dice& dice,
                                                           bool faults_ended) const = 0;
  [[nodiscard]] virtual std::string event_payload(std::string_view event, const Dice& dice) const;
  // With an observer, the simulator does not follow the advice of explanations: the observer sends
  // commands and checks how runs end.
  [[nodiscard]] virtual std::unique_ptr<Observer> observer(Simulation& simulation) const;
  // The longest time that everything may take after the faults.
  [[nodiscard]] virtual std::int64_t longest_end_us() const;
};

inline std::string Scenario::event_payload(std::string_view event, const Dice& /*dice*/) const {
  return R"({"said":")" + std::string(event) + R"("})";
}

inline std::vector<std::pair<std::string, std::string>> Scenario::schedules() const { return {}; }

inline std::optional<std::string> Scenario::other_definition(const Dice& /*dice*/) const {
  return std::nullopt;
}

inline std::optional<DeliverWindow> Scenario::delivery(const Dice& /*dice*/) const {
  return std::nullopt;
}

inline std::unique_ptr<Observer> Scenario::observer(Simulation& /*world*/) const { return nullptr; }

inline std::int64_t Scenario::longest_end_us() const { return 90LL * 24 * 3600 * 1'000'000; }

// Random workflows with every kind of step.
std::unique_ptr<Scenario> make_generated_scenario(std::uint64_t seed);

}  // namespace holdfast::sim
