// Clients: programs that start and control runs, and operators who decide. They submit commands to
// any process that is up, repeat a command while its outcome is in doubt, and sometimes send
// invalid commands.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "lab/sim/sim_plan.h"
#include "lab/sim/sim_process.h"
#include "lab/sim/sim_scenario.h"
#include "runs/view/explanation.h"

namespace holdfast::sim {

class World;

class Clients {
 public:
  explicit Clients(World& world) : world_(world) {}

  void register_workflows(bool calm);
  // False if the act is not a client's, or if it had no effect.
  bool act(Act act, const Dice& dice);
  // After the faults: follows the advice of each run's explanation until all runs have ended.
  void help_runs();
  [[nodiscard]] bool somebody_lives() const;

  // For an observer: commands that are submitted until they are answered, and with stale clients
  // sometimes again later.
  void send_event(const RunId& run, const SendEvent& event, const Dice& dice);
  void resolve(const RunId& run, const std::string& step, ManualAction action, const Dice& dice);
  void cancel(const RunId& run, OnCancel how, const Dice& dice);

 private:
  // A command in a form that can be submitted again, also to another process.
  struct Wish {
    Answer::What what = Answer::What::start;
    std::string params;
    Request::Question question;
    std::uint64_t registration = 0;  // of workflows: not repeated once there is a newer one
  };
  void ask(const Wish& wish, const Dice& dice, int tries);
  void insist(const Wish& wish, const Dice& dice);

  bool start(const Dice& dice);
  bool start_again(const Dice& dice);
  bool send_event(const Dice& dice);
  bool resolve(const Dice& dice);
  bool cancel(const Dice& dice);
  bool replay(const Dice& dice);
  bool set_attributes(const Dice& dice);
  bool archive(const Dice& dice);
  bool mutate_graph(const Dice& dice);
  bool register_again(const Dice& dice);

  static Wish start_wish(const RunId& id, const StartWish& wanted);
  Wish event_wish(const RunId& run, const std::string& event, const std::string& correlation,
                  const std::string& payload, const std::string& key);
  Wish resolve_wish(const RunId& run, const std::string& step, ManualAction action,
                    const std::string& key);
  Wish cancel_wish(const RunId& run, OnCancel how, const std::string& key);

  const RunProjection* some_run(const Dice& dice) const;
  void help(const RunId& run);
  bool follow(const RunId& run, const NextAction& advice);

  World& world_;
  std::vector<std::pair<RunId, StartWish>> starts_;
  std::map<RunId, std::string> helped_;  // the explanation on which each run was last advised
  // How often the advice was followed since then, and since when.
  std::map<RunId, std::pair<int, std::int64_t>> in_vain_;
  std::uint64_t asked_ = 0;
  std::uint64_t registrations_ = 0;
  std::int64_t pause_us_ = 1'000'000;
  bool acted_ = false;  // in this round of advice
};

}  // namespace holdfast::sim
