#include "lab/sim/user_observer.h"

#include <algorithm>

#include "base/json_writer.h"
#include "lab/sim/sim_request.h"
#include "lab/sim/simulation.h"
#include "lab/sim/user_actors.h"
#include "lab/sim/user_story.h"
#include "runs/dispatch/dispatch_facts.h"
#include "runs/facts/execution_opts.h"
#include "runs/run/activation.h"

namespace holdfast::sim {

namespace {

constexpr std::int64_t kOneHour = 3600LL * 1'000'000;

// The step of an activation without visit and item, and the item.
RunRecord::Done done_of(std::string_view activation, Invariant::As as) {
  const Activation what = parse_activation(activation);
  RunRecord::Done done;
  done.step = (what.compensation ? std::string(kCompensatePrefix) : "") + std::string(what.step);
  done.item = what.item.has_value() ? "[" + std::to_string(*what.item) + "]" : "";
  done.as = as;
  return done;
}

class UserObserver final : public Observer {
 public:
  UserObserver(const UserSetting& setting, Simulation& simulation, const Dice& dice)
      : setting_(setting),
        simulation_(simulation),
        actors_(setting, simulation, dice),
        story_([&simulation](const std::string& run, const std::string& line) {
          simulation.add_story(run, line);
        }),
        checker_(setting.workflows, setting.world,
                 [this](const Invariant& invariant, const RunRecord& run, const std::string& what) {
                   simulation_.report_invariant(invariant.name, run.label, what);
                 }),
        quiet_us_(2 * longest_us(setting) + kOneHour) {}

  void stored(const EntryView& entry) override {
    if (entry.thread.starts_with("dispatch:")) {
      stored_dispatch(entry);
      return;
    }
    const auto fact = run_fact(entry.kind, entry.data);
    if (!entry.thread.starts_with("run:") || !fact.ok()) {
      return;
    }
    moved_us_ = simulation_.schedule().now_us();
    std::visit([&](const auto& known) { take(known, entry.at); }, fact.value());
  }

  void execution_started(const Assignment& attempt, const HandlerAnswer& answer,
                         std::int64_t late_us) override {
    if (!answer.name.empty()) {
      simulation_.count(outcome_key(answer.name));
    }
    if (answer.never) {
      hangs_.insert(attempt.runnable_key.str());
    }
    story_.execution_started(label(attempt.run_id), attempt,
                             ++executions_[attempt.runnable_key.str()], answer.never, late_us);
  }

  void executed(const Assignment& attempt, const HandlerAnswer& answer, Execution how,
                bool done) override {
    RunRecord* run = find(attempt.run_id);
    const bool again = done && !done_keys_.insert(attempt.idempotency_key.str()).second;
    story_.executed(label(attempt.run_id), attempt, answer, how, done);
    if (run == nullptr || !done || (again && is_idempotent(answer))) {
      return;
    }
    run->history.push_back(done_of(attempt.step.view(), Invariant::As::executed));
    checker_.done(*run);
  }

  void reported(const Assignment& attempt, const Reply& reply) override {
    story_.reported(label(attempt.run_id), attempt, reply);
  }

  void process_changed(const std::string& process, bool up, const std::string& why) override {
    if (simulation_.schedule().now_us() > 0) {
      story_.process_changed(process, up, why);
    }
  }

  void fault_injected(const Item& item) override { story_.fault_injected(item.act); }

  // Nothing but renewed leases, for longer than anything declared can take.
  [[nodiscard]] bool is_idle() const override {
    const std::int64_t since = std::max(moved_us_, actors_.last_due_us());
    return simulation_.schedule().now_us() - since > quiet_us_;
  }

  void simulation_ended() override {
    for (const RunId& id : order_) {
      const RunRecord& run = runs_.at(id);
      if (!run.ended.has_value()) {
        check_not_ended(run);
      }
      checker_.simulation_ended(run);
    }
  }

 private:
  RunRecord* find(const RunId& id) {
    const auto found = runs_.find(id);
    return found == runs_.end() ? nullptr : &found->second;
  }
  std::string label(const RunId& id) {
    const RunRecord* run = find(id);
    return run == nullptr ? to_string(id) : run->label;
  }
  const RunProjection& projection(const RunId& id) { return *simulation_.audit().runs.at(id); }
  std::string step_of(const RunId& id, const SharedText& key) {
    const PlannedRunnable* planned = projection(id).find(key.view());
    return planned == nullptr || planned->plan.is_timer() ? "" : planned->plan.step.str();
  }

  [[nodiscard]] bool is_idempotent(const HandlerAnswer& answer) const {
    for (const auto* stubs : {&setting_.world.handlers, &setting_.world.steps}) {
      for (const auto& [name, stub] : *stubs) {
        if (stub.idempotent && answer.name.starts_with(stub.name + "[")) {
          return true;
        }
      }
    }
    return false;
  }

  void stored_dispatch(const EntryView& entry) {
    const auto fact = dispatch_fact(entry.kind, entry.data);
    if (!fact.ok()) {
      return;
    }
    if (const auto* failed = std::get_if<AttemptFailed>(&fact.value())) {
      moved_us_ = simulation_.schedule().now_us();
      story_.attempt_failed(label(failed->run_id), step_of(failed->run_id, failed->runnable_key),
                            *failed, entry.at);
    }
  }

  // Facts that are not part of the story.
  template <typename Fact>
  void take(const Fact& /*fact*/, TimeMs /*at*/) {}

  void take(const RunStarted& fact, TimeMs /*at*/) {
    RunRecord run;
    run.id = fact.run_id;
    run.label = "run " + std::to_string(order_.size() + 1);
    run.workflow = fact.workflow.str();
    run.started_us = simulation_.schedule().now_us();
    order_.push_back(fact.run_id);
    const auto [known, fresh] = runs_.emplace(fact.run_id, std::move(run));
    story_.run_started(known->second.label, fact);
    actors_.run_started(known->second);
  }

  void take(const RunnablesPlanned& fact, TimeMs /*at*/) {
    for (const Runnable& runnable : fact.runnables) {
      if (const RunRecord* run = find(fact.run_id); run != nullptr && !runnable.is_timer()) {
        simulation_.count(
            step_key(run->workflow, done_of(runnable.step.view(), Invariant::As::applied).step));
      }
    }
  }

  void take(const RunnableApplied& fact, TimeMs /*at*/) {
    RunRecord* run = find(fact.run_id);
    const std::string step = step_of(fact.run_id, fact.runnable_key);
    if (run == nullptr || step.empty()) {
      return;
    }
    const TransitionTaken transition = transition_of(fact.transition);
    if (!transition.to.empty()) {
      simulation_.count(transition_key(run->workflow, transition.from.view(),
                                       to_text(transition.on), transition.to.view(),
                                       transition.when.view()));
    }
    const bool deferred = execution_opts(fact.execution_opts).defer.has_value();
    const bool failed =
        transition.on == RouteOn::error || timed_out_.contains(fact.runnable_key.str());
    RunnableApplied shown = fact;
    if (decided_.contains(to_string(fact.run_id) + step)) {
      shown.result = {};  // the decision is already in the story
    }
    story_.applied(run->label, step, shown, transition, failed, deferred);
    if (!failed && !deferred) {
      run->history.push_back(done_of(step, Invariant::As::applied));
      checker_.done(*run);
    }
  }

  void take(const ManualStepPaused& fact, TimeMs /*at*/) {
    if (const RunRecord* run = find(fact.run_id)) {
      story_.pauses(run->label, fact);
      actors_.run_pauses(*run, fact);
    }
  }

  void take(const ManualStepResolved& fact, TimeMs /*at*/) {
    if (const RunRecord* run = find(fact.run_id)) {
      const std::string step(parse_activation(fact.step.view()).step);
      simulation_.count(decision_key(run->workflow, step, fact.action));
      decided_.insert(to_string(fact.run_id) + fact.step.str());
      story_.resolved(run->label, fact);
    }
  }

  void take(const ExternalEventWaitOpened& fact, TimeMs /*at*/) {
    if (const RunRecord* run = find(fact.run_id)) {
      story_.waits(run->label, fact);
      actors_.run_waits(*run, fact);
    }
  }

  void take(const ExternalEventWaitResolved& fact, TimeMs /*at*/) {
    if (const RunRecord* run = find(fact.run_id)) {
      const std::string step(parse_activation(fact.step.view()).step);
      const bool late = fact.action == WaitAction::timed_out;
      if (late) {
        timed_out_.insert(fact.wait_id.str());
      }
      simulation_.count(late ? timeout_key(run->workflow, step)
                             : event_key(run->workflow, step, fact.event.view()));
      story_.wait_ended(run->label, fact);
    }
  }

  void take(const ExternalEventBuffered& fact, TimeMs /*at*/) {
    story_.buffered(label(fact.run_id), fact);
  }

  void take(const RunnablesWithdrawn& fact, TimeMs /*at*/) {
    for (const SharedText& key : fact.runnable_keys) {
      if (const std::string step = step_of(fact.run_id, key); !step.empty()) {
        story_.withdrawn(label(fact.run_id), step);
      }
    }
  }

  void take(const ChildRunStarted& fact, TimeMs /*at*/) { story_.child(label(fact.run_id), fact); }

  void take(const CompensationStarted& fact, TimeMs /*at*/) {
    story_.compensates(label(fact.run_id), fact);
  }

  void take(const RunTerminal& fact, TimeMs /*at*/) {
    RunRecord* run = find(fact.run_id);
    if (run == nullptr) {
      return;
    }
    run->ended = fact.status;
    run->ended_us = simulation_.schedule().now_us();
    run->context = context_at_end(fact);
    simulation_.count(end_key(run->workflow, fact.status));
    story_.ends(run->label, fact);
    checker_.ended(*run);
  }

  // The context of the run, and "run": how it ended.
  std::string context_at_end(const RunTerminal& fact) {
    std::string context(projection(fact.run_id).context().view());
    JsonWriter json;
    json.begin_object().member("status", to_text(fact.status));
    if (!fact.error.empty()) {
      json.member("error", JsonText::trusted(std::string(fact.error.view())));
    }
    if (!fact.result.empty()) {
      json.member("result", JsonText::trusted(std::string(fact.result.view())));
    }
    context.pop_back();
    return context + (context.size() > 1 ? "," : "") +
           "\"run\":" + std::move(json.end_object()).take() + "}";
  }

  // The run may wait forever as declared, or a handler hangs; otherwise Holdfast is at fault.
  void check_not_ended(const RunRecord& run) {
    const auto why = simulation_.explain(run.id);
    if (!why.ok()) {
      simulation_.report_violation("run " + to_string(run.id) +
                                   " cannot be explained: " + why.error().text());
      return;
    }
    const Explanation& now = why.value();
    const bool person = now.reason == Reason::manual_intervention_required;
    const bool child = now.reason == Reason::waiting_for_child;
    if (setting_.world.may_wait && (person || child)) {
      return;
    }
    std::string summary = now.summary;
    if (const auto at = summary.find(to_string(run.id)); at != std::string::npos) {
      summary.replace(at, to_string(run.id).size(), run.label.substr(run.label.find(' ') + 1));
    }
    const bool hangs = std::any_of(hangs_.begin(), hangs_.end(), [&](const std::string& key) {
      return key.starts_with(to_string(run.id));
    });
    if (person || child) {
      simulation_.report_invariant(
          "every run ends", run.label,
          summary +
              "; with this world file the decision or event never arrives (if that is "
              "intended, set may_wait: true)");
    } else if (hangs) {
      simulation_.report_invariant("every run ends", run.label,
                                   summary +
                                       "; its handler never returns, and the step has no timeout "
                                       "that ends the attempt");
    } else {
      simulation_.report_violation("a run does not end: " + now.summary);
    }
  }

  const UserSetting& setting_;
  Simulation& simulation_;
  UserActors actors_;
  UserStory story_;
  InvariantChecker checker_;
  std::int64_t quiet_us_;
  std::int64_t moved_us_ = 0;
  std::map<RunId, RunRecord> runs_;
  std::vector<RunId> order_;
  std::map<std::string, int> executions_;  // by runnable key
  std::set<std::string> done_keys_;        // of executions whose effect really happened
  std::set<std::string> hangs_;
  std::set<std::string> decided_;    // run and step
  std::set<std::string> timed_out_;  // waits
};

}  // namespace

std::unique_ptr<Observer> make_user_observer(const UserSetting& setting, Simulation& simulation,
                                             const Dice& dice) {
  return std::make_unique<UserObserver>(setting, simulation, dice);
}

}  // namespace holdfast::sim
