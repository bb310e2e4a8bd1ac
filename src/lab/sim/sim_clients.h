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
#include "runs/inspect/inspector.h"
#include "runs/view/explanation.h"

namespace holdfast::sim {

class Simulation;

using DecideRun = std::function<Result<RunFacts>(RunProjection&, Turn&)>;

// A decision about one run and everything that follows from it, as the embedded engine makes it.
Request::Decision run_decision(const RunId& id, DecideRun decide);
// A fingerprint, or "newest".
Result<std::shared_ptr<const Definition>> named_definition(Turn& turn, const SharedText& workflow,
                                                           const std::string& name);

class Clients {
 public:
  explicit Clients(Simulation& simulation) : simulation_(simulation) {}

  void register_workflows(bool faults_ended);
  // False if the act is not a client's, or if it had no effect.
  bool act(Act act, const Dice& dice);
  // After the faults: follows the advice of each run's explanation until all runs have ended.
  void follow_all_advice();
  [[nodiscard]] bool has_live_runs() const;

  // For an observer: commands that are submitted until they are answered, and with stale clients
  // sometimes again later.
  void send_event(const RunId& run, const SendEvent& event, const Dice& dice);
  void resolve(const RunId& run, const std::string& step, ManualAction action, const Dice& dice);
  void cancel(const RunId& run, OnCancel how, const Dice& dice);

 private:
  // A command in a form that can be submitted again, also to another process.
  struct ClientCommand {
    Answer::What what = Answer::What::start;
    std::string params;
    Request::Decision decision;
    std::uint64_t registration = 0;  // of workflows: not repeated once there is a newer one
  };
  void submit(const ClientCommand& command, const Dice& dice, int tries);
  void submit_until_answered(const ClientCommand& command, const Dice& dice);

  void deliver(const DeliverWindow& window, const Dice& dice);
  bool start(const Dice& dice);
  bool start_again(const Dice& dice);
  bool send_event(const RunProjection& run, const Dice& dice);
  bool resolve(const RunProjection& run, const Dice& dice);
  bool cancel(const Dice& dice);
  bool replay(const RunProjection& run, const Dice& dice);
  bool decide_dead_letter(const RunProjection& run, const Dice& dice);
  bool set_attributes(const RunProjection& run, const Dice& dice);
  bool archive(const RunProjection& run, const Dice& dice);
  bool mutate_graph(const RunProjection& run, const Dice& dice);
  bool register_again(const Dice& dice);
  bool register_newer(const Dice& dice);
  bool migrate(const RunProjection& run, const Dice& dice);
  bool pause_schedule(const Dice& dice);
  bool close_circuit(const Dice& dice);
  bool close_circuit_within(const Dice& dice, int seconds);

  static ClientCommand other_command(const RunId& run, const std::string& member, DecideRun decide);
  ClientCommand registration_command(std::shared_ptr<const Definition> definition) const;
  // Names a definition of the workflow.
  std::string some_definition(std::string_view workflow, const Dice& dice) const;
  static ClientCommand start_command(const RunId& id, const StartRequest& start);
  ClientCommand event_command(const RunId& run, const std::string& event,
                              const std::string& correlation, const std::string& payload,
                              const std::string& key);
  ClientCommand resolve_command(const RunId& run, const std::string& step, ManualAction action,
                                const std::string& key);
  ClientCommand cancel_command(const RunId& run, OnCancel how, const std::string& key);

  const RunProjection* some_run(const Dice& dice) const;
  Inspector& inspector(Process& process);
  void compare_with_anew(Process& process, const RunId& run, const Explanation& why);
  void follow_explanation(const RunId& run);
  bool follow_advice(const RunId& run, const NextAction& advice);

  Simulation& simulation_;
  std::vector<std::pair<RunId, StartRequest>> starts_;
  std::map<std::string, std::vector<std::string>> versions_;  // fingerprints, by workflow
  std::map<RunId, std::string> explained_;  // the explanation on which each run was last advised
  // What each process has read, until it ends.
  struct Reader {
    std::uint64_t incarnation;
    Inspector inspector;
  };
  std::map<std::uint32_t, Reader> readers_;
  // How often the advice was followed since then, and since when.
  std::map<RunId, std::pair<int, std::int64_t>> followed_;
  std::uint64_t draws_ = 0;
  std::uint64_t registrations_ = 0;
  std::int64_t pause_us_ = 1'000'000;
  bool acted_ = false;  // in this round of advice
};

}  // namespace holdfast::sim
