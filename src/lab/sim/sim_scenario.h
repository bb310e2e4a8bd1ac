// Scenario: everything outside of the engine in a simulation: which workflows there are, what
// their handlers answer and how long they take, what clients start and what people decide. All of
// it follows from dice.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "lab/sim/sim_dice.h"
#include "runs/engine/claim_request.h"
#include "runs/run/run_decide.h"

namespace holdfast::sim {

class World;
struct Item;
struct Reply;

// What an attempt comes to.
struct HandlerAnswer {
  std::variant<Completion, Failure> outcome;
  std::int64_t takes_us = 1000;
  bool never = false;     // it hangs: there is no answer at all
  bool done = true;       // what the handler does outside has really happened
  std::string name = {};  // which of the declared outcomes it is; empty: none was declared
};

struct StartWish {
  std::string workflow;
  std::string input = "{}";
  std::string trigger = {};  // empty: the first of the workflow
};

// How a worker came to the end of an execution.
enum class Execution : std::uint8_t { reports, dies, killed_with_process };

// Somebody who watches a simulation from outside, acts in it, and says when something happened
// that must not happen.
class Witness {
 public:
  virtual ~Witness() = default;
  // A fact became durable.
  virtual void stored(const EntryView& fact) = 0;
  // A worker begins to execute an attempt. late_us: how long it will stand still meanwhile.
  virtual void begins(const Assignment& attempt, const HandlerAnswer& answer,
                      std::int64_t late_us) = 0;
  // It has executed it; done: as far as the outside is concerned.
  virtual void executed(const Assignment& attempt, const HandlerAnswer& answer, Execution how,
                        bool done) = 0;
  // What it was told about its report.
  virtual void reported(const Assignment& attempt, const Reply& reply) = 0;
  virtual void process_changed(const std::string& process, bool up, const std::string& why) = 0;
  // A fault strikes.
  virtual void strikes(const Item& item) = 0;
  // After the faults: nothing more will happen by itself, whatever time passes.
  [[nodiscard]] virtual bool nothing_more() const = 0;
  // All has come to rest; some runs may not have ended.
  virtual void at_rest() = 0;
};

class Scenario {
 public:
  virtual ~Scenario() = default;
  // Texts of definitions. After the end of all faults the ones that start nothing by themselves.
  [[nodiscard]] virtual std::vector<std::string> definitions(bool calm) const = 0;
  [[nodiscard]] virtual StartWish start(const Dice& dice) const = 0;
  // The same attempt gets the same answer, whoever carries it out and however often.
  [[nodiscard]] virtual HandlerAnswer answer(const Assignment& attempt) const = 0;
  // Of a person; empty: not yet. calm: nobody hesitates any more.
  [[nodiscard]] virtual std::optional<ManualAction> decide(const ManualState& at, const Dice& dice,
                                                           bool calm) const = 0;
  [[nodiscard]] virtual std::string event_payload(std::string_view event, const Dice& dice) const;
  // With a witness runs are not helped to their end: it sends what is sent, and judges the end.
  [[nodiscard]] virtual std::unique_ptr<Witness> witness(World& world) const;
  // How long after the faults everything may take.
  [[nodiscard]] virtual std::int64_t longest_rest_us() const;
};

inline std::string Scenario::event_payload(std::string_view event, const Dice& /*dice*/) const {
  return R"({"said":")" + std::string(event) + R"("})";
}

inline std::unique_ptr<Witness> Scenario::witness(World& /*world*/) const { return nullptr; }

inline std::int64_t Scenario::longest_rest_us() const { return 90LL * 24 * 3600 * 1'000'000; }

// Random workflows of every kind of step.
std::unique_ptr<Scenario> make_generated_scenario(std::uint64_t seed);

}  // namespace holdfast::sim
