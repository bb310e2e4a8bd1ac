// Consequences: what the facts of one run mean for everything else: attempts for its queues,
// children and successors to start, a parent that waited for its end, children that end with it.
// All of it is one commit with the facts themselves.
#pragma once

#include <set>
#include <vector>

#include "runs/engine/turn.h"
#include "runs/run/run_decide.h"

namespace holdfast {

// What decisions see of the engine.
class EngineSurroundings final : public Surroundings {
 public:
  explicit EngineSurroundings(Turn& turn) : turn_(turn) {}
  [[nodiscard]] std::shared_ptr<const Definition> current(std::string_view workflow) const override;
  [[nodiscard]] bool is_claimed(std::string_view runnable_key) const override;

 private:
  Turn& turn_;
};

// What new runs of a workflow follow: what this process has registered, else what the journal
// says. unknown_workflow.
Result<std::shared_ptr<const Definition>> current_definition(Turn& turn, std::string_view workflow);

// Whether the id may be in use already: one the caller made up, or one that was just drawn.
enum class IdOrigin : std::uint8_t { given, fresh };
struct Started {
  RunId run_id;
  bool existed = false;
};

class Consequences {
 public:
  explicit Consequences(Turn& turn) : turn_(turn), around_(turn) {}

  // Writes facts that the run has applied already, and schedules the attempts of planned runnables.
  Result<void> record(const RunId& run, const RunFacts& facts);
  Result<Started> start(const StartRun& command, IdOrigin id);
  // Carries out what recorded facts mean for other runs, and what that means, until nothing is
  // left.
  Result<void> settle();

 private:
  struct Effect {
    enum class Kind : std::uint8_t {
      start_child,
      continue_run,
      close_children,
      notify_parent
    } kind;
    RunId run;
    std::optional<ChildRunStarted> link = {};
    // Only the children that these runnables waited for; empty: all.
    std::set<SharedText> released = {};
  };

  class TakeFact;

  Result<void> note(const RunId& run, const RunFact& fact);
  Result<void> schedule(const Runnable& runnable);
  Result<void> carry_out(const Effect& effect);
  Result<void> start_child(const ChildRunStarted& link);
  Result<void> continue_run(const RunId& run);
  void release_children(const RunId& run, std::set<SharedText> runnables);
  Result<void> close_children(const RunId& run, const std::set<SharedText>& released);
  Result<void> close_child(const RunId& child, const CommandSource& source);
  Result<void> notify_parent(const RunId& run);

  Turn& turn_;
  EngineSurroundings around_;
  std::vector<Effect> effects_;
};

}  // namespace holdfast
