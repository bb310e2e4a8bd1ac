// RunDraft: builds the facts of one decision about a run. The projection folds each fact at once,
// so that the next rule sees it; finish() returns them all, in order.
//
// It implements how a run advances: which steps begin when another is done or has failed, what the
// engine executes itself (waits, approvals, children, loops over lists), compensation, and the end
// of the run. The commands (run_decide_*.cc) state what happened, the draft what follows.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runs/facts/execution_opts.h"
#include "runs/run/run_decide.h"
#include "runs/run/timer_action.h"

namespace holdfast {

// The context of a run with one more result on top.
class ContextView final : public DataView {
 public:
  explicit ContextView(const RunProjection& run) : run_(run) {}
  // The members of `result`, or under a key the result itself.
  ContextView(const RunProjection& run, const SharedText& key, const Payload& result);
  // One more member; the value is JSON.
  void put(std::string_view name, std::string_view value) { added_.emplace_back(name, value); }

  [[nodiscard]] std::optional<std::string_view> member(std::string_view name) const override;
  [[nodiscard]] std::string whole() const override;

 private:
  const RunProjection& run_;
  std::vector<std::pair<std::string, std::string>> added_;
};

// How a step ended that is done.
struct StepEnd {
  Payload result;
  Payload execution_opts = {};
};

class RunDraft {
 public:
  // The run must have its definition attached before anything follows a step.
  RunDraft(RunProjection& run, const Surroundings& around, TimeMs now)
      : run_(run), around_(around), now_(now), anomalies_(run.anomalies().size()) {}

  [[nodiscard]] RunProjection& run() { return run_; }
  [[nodiscard]] const Definition& definition() const { return *run_.definition(); }
  [[nodiscard]] TimeMs now() const { return now_; }

  void add(RunFact fact);
  // Plans that come one after the other become one fact.
  void plan(Runnable runnable);

  // The first steps of the run, and the timer of its end.
  void begin_run();
  // The same for a run that has adopted steps of another: it begins in the middle.
  void begin_adopted();
  // Every step that waits for nothing and has not begun.
  void begin_ready();
  // Begins a step on the path of another; path: the step that began it.
  void begin(StepIndex step, const SharedText& path, TimeMs visible_at);
  // A runnable ended well, or badly and there is no retry.
  void done(const PlannedRunnable& planned, const StepEnd& end);
  void failed(const PlannedRunnable& planned, const Payload& error);
  // The same of a parked one that an operator has discarded: it is not a dead letter.
  void give_up(const PlannedRunnable& planned, const Payload& error);
  // The last attempt failed: the run waits with the error until an operator decides.
  void park(const PlannedRunnable& planned, const Payload& error);
  // What an operator decided about a parked one: it is attempted again, or what the definition has
  // a fault in is carried out again. With this input, unless it is empty.
  void retry(const PlannedRunnable& parked, const Payload& input);
  // The transition that now fits the result of a step that was parked because none did; empty:
  // none.
  [[nodiscard]] Payload transition_after(const PlannedRunnable& parked) const;
  // The same for one that is applied already, but was waited at.
  void continue_after(const PlannedRunnable& planned);
  // Plans the nodes of a changed graph that wait for nothing more.
  void plan_nodes();
  // Carries out what the engine does by itself for a planned runnable whose time has come.
  void carry_out(const PlannedRunnable& planned);
  // The wait of an await_event step has ended.
  void received(const EventWait& wait, const ExternalEventBuffered& event);
  void timed_out(const EventWait& wait);
  // A timer that begins a step, or ends the run.
  void fire(const PlannedRunnable& timer);
  void fail_run(const Payload& error);
  // Compensates, then ends with `outcome`.
  void compensate(TerminalStatus outcome, const Payload& error);
  // An attempt of a child step failed: retries it if the policy allows it.
  void child_failed(const PlannedRunnable& planned, const Payload& error);

  // Everything that follows, up to where the run waits or ends. An error when a fact would have
  // broken a rule; then everything must be taken back.
  Result<RunFacts> finish();

 private:
  struct Task {
    enum class Kind : std::uint8_t { begin, carry_out, next_items } kind = Kind::begin;
    StepIndex step = 0;
    SharedText path;  // or the runnable key, or the visit
    TimeMs visible_at;
  };

  void flush();
  void drop_tasks() {
    tasks_.clear();
    next_task_ = 0;
  }
  [[nodiscard]] Payload whole_context();
  [[nodiscard]] bool has_stopped() const { return run_.is_terminal() || run_.is_compensating(); }

  // advance.cc
  void begin_run_timer();
  // error: what the run has failed with, when that is where it leads.
  void follow(const Target& to, const SharedText& path, TimeMs visible_at, const Payload& error);
  // The step ended otherwise than well, and that is where the run goes.
  void take_route(const PlannedRunnable& planned, RouteOn on, const Target& to,
                  const SharedText& to_name, const Payload& error);
  void end_path(const SharedText& step, TimeMs visible_at);
  void fail_step(const PlannedRunnable& planned, const Payload& error);
  void put_off(const PlannedRunnable& planned, const Payload& result, const Deferral& why);
  void complete_if_done();
  void close_failed(const PlannedRunnable& planned, const Payload& error,
                    const TransitionTaken& taken);
  [[nodiscard]] Runnable runnable_of(const Step& step, const SharedText& name,
                                     const SharedText& path, TimeMs visible_at) const;

  // fault.cc
  void fault(const PlannedRunnable& planned, const Payload& error);
  [[nodiscard]] bool takes_error(const Runnable& plan, const Payload& error) const;
  void plan_output_fault(const Payload& error);
  void follow_undecided(const PlannedRunnable& parked);
  void begin_again(const Runnable& parked, const Payload& input);

  // begin.cc
  void begin_visit(const Step& step, Runnable runnable);
  void begin_body(const Step& step, Runnable runnable, const DataView& data);
  void begin_wait(const Step& step, Runnable runnable, const DataView& data);
  void plan_internal(Runnable runnable);
  void plan_wait(Runnable runnable);
  // A timer beside a runnable.
  void plan_timer(const Runnable& runnable, TimerPurpose purpose, TimeMs at);
  // The definition has a fault there.
  void plan_failed(Runnable runnable, const Payload& error);
  [[nodiscard]] Payload input_of(const Step& step, const DataView& data, Payload& error);
  void open_wait(const Step& step, const PlannedRunnable& planned);
  void open_boundary(const Step& step, const PlannedRunnable& planned);
  void start_child(const Step& step, const PlannedRunnable& planned);

  // each.cc
  void begin_each(const Step& step, Runnable runnable);
  void plan_items(const Step& step, const SharedText& visit);
  [[nodiscard]] bool has_faulty_item(std::string_view visit) const;
  void begin_item(const Step& step, std::uint64_t item, Runnable runnable);
  void next_items(const SharedText& visit);
  void item_done(std::string_view visit);
  void item_failed(const PlannedRunnable& planned, const Payload& error);

  // compensate.cc
  [[nodiscard]] std::vector<SharedText> withdrawable() const;
  [[nodiscard]] const PlannedRunnable* next_to_compensate() const;
  [[nodiscard]] bool is_compensatable_claimed() const;
  void plan_compensation(const PlannedRunnable& origin);
  void start_compensation();

  RunProjection& run_;
  const Surroundings& around_;
  TimeMs now_;
  std::size_t anomalies_;  // that the run had before
  RunFacts facts_;
  RunnablesPlanned planned_;
  std::vector<Task> tasks_;
  std::size_t next_task_ = 0;                  // those before it are done
  Payload context_;                            // the whole, as long as nothing changes it
  std::optional<ExhaustedAttempt> exhausted_;  // the attempt whose failure is being carried out
};

}  // namespace holdfast
