#include <algorithm>

#include "base/json_writer.h"
#include "lab/sim/sim_request.h"
#include "lab/sim/simulation.h"
#include "lab/sim/user_actors.h"
#include "runs/dispatch/dispatch_facts.h"
#include "runs/facts/activation.h"
#include "runs/facts/execution_opts.h"
#include "runs/run/event_names.h"
#include "runs/view/view_words.h"

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

std::string shown(const Payload& payload) { return one_line(payload.view(), 100); }

std::string because(const Payload& error) { return error.empty() ? "" : ": " + error_text(error); }

std::string attempt_text(const Assignment& attempt) {
  return attempt.step.str() + (attempt.attempt_number > 1
                                   ? " (attempt " + std::to_string(attempt.attempt_number) + ")"
                                   : "");
}

// What a fault looks like in the terms of the workflow; empty: it appears by its effects.
std::string fault_text(Act act) {
  static const std::map<Act, std::string> texts{
      {Act::stall, "a process stalls for a while"},
      {Act::clock_jump, "the clock of a process jumps"},
      {Act::slow_disk, "a disk becomes slow"},
      {Act::io_error, "the store of a process is about to fail"},
      {Act::disk_full, "the store of a process is about to fail"},
      {Act::busy, "the store of a process is about to fail"},
      {Act::start_again, "a client repeats the start of a run"}};
  const auto text = texts.find(act);
  return text == texts.end() ? "" : text->second;
}

class UserObserver final : public Observer {
 public:
  UserObserver(const UserSetting& setting, Simulation& simulation, const Dice& dice)
      : setting_(setting),
        simulation_(simulation),
        actors_(setting, simulation, dice),
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
    std::visit([&](const auto& known) { take(known); }, fact.value());
  }

  void execution_started(const Assignment& attempt, const HandlerAnswer& answer,
                         std::int64_t late_us) override {
    if (!answer.name.empty()) {
      count("outcome", {answer.name});
    }
    if (answer.never) {
      hangs_.insert(attempt.runnable_key.str());
    }
    std::string line = attempt_text(attempt) + ": a worker starts";
    if (const int time = ++executions_[attempt.runnable_key.str()]; time > 1) {
      line += ", for the " + std::to_string(time) +
              (time == 2   ? "nd"
               : time == 3 ? "rd"
                           : "th") +
              " time: the previous execution was not reported";
    }
    if (answer.never) {
      line += ", and hangs";
    } else if (late_us > 0) {
      line += ", and stalls for " + duration_text(late_us / 1000);
    }
    add_story(attempt.run_id, line);
  }

  void executed(const Assignment& attempt, const HandlerAnswer& answer, Execution how,
                bool done) override {
    RunRecord* run = find(attempt.run_id);
    const bool again = done && !done_keys_.insert(attempt.idempotency_key.str()).second;
    add_story(attempt.run_id, attempt_text(attempt) + execution_text(answer, how, done));
    if (run == nullptr || !done || (again && is_idempotent(answer))) {
      return;
    }
    run->history.push_back(done_of(attempt.step.view(), Invariant::As::executed));
    checker_.done(*run);
  }

  void reported(const Assignment& attempt, const Reply& reply) override {
    if (reply.in_doubt()) {
      add_story(attempt.run_id, attempt_text(attempt) + ": the worker gets no reply to its report");
    } else if (!reply.ok()) {
      add_story(attempt.run_id, attempt_text(attempt) +
                                    ": the report is too late and is refused (" + reply.code + ")");
    }
  }

  void process_changed(const std::string& process, bool up, const std::string& why) override {
    if (simulation_.schedule().now_us() > 0) {
      const std::string name = "process " + process.substr(1);
      simulation_.add_story("", name + (up ? " starts again" : " stops: " + one_line(why, 100)));
    }
  }

  void fault_injected(const Item& item) override {
    if (const std::string text = fault_text(item.act); !text.empty()) {
      simulation_.add_story("", text);
    }
  }

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
  static std::string execution_text(const HandlerAnswer& answer, Execution how, bool done) {
    if (how != Execution::reports) {
      return std::string(": the worker dies") +
             (how == Execution::dies ? "" : " with its process") + ", the effect " +
             (done ? "happened" : "did not happen") + ", and it is not reported";
    }
    if (const auto* failure = std::get_if<Failure>(&answer.outcome)) {
      return ": the handler returns " + error_text(failure->error) +
             (done ? ", but the effect happened" : "");
    }
    return ": the handler returns ok " + shown(std::get<Completion>(answer.outcome).result) +
           (done ? "" : ", but the effect did not happen");
  }

  // A line of the story, in the terms of the workflow.
  void add_story(const RunId& run, std::string line) {
    simulation_.add_story(label(run), std::move(line));
  }
  void count(std::string_view kind, const std::vector<std::string_view>& parts) {
    simulation_.count(flow_key(kind, parts));
  }
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
      const auto& again = failed->retry_visible_at;
      add_story(
          failed->run_id,
          step_of(failed->run_id, failed->runnable_key) + " fails: " + error_text(failed->error) +
              (again.has_value() ? "; retry in " + duration_text(again->value - entry.at.value)
                                 : "; no retry"));
    }
  }

  // Facts that are not part of the story.
  template <typename Fact>
  void take(const Fact& /*fact*/) {}

  void take(const RunStarted& fact) {
    RunRecord run;
    run.id = fact.run_id;
    run.label = "run " + std::to_string(order_.size() + 1);
    run.workflow = fact.workflow.str();
    run.started_us = simulation_.schedule().now_us();
    order_.push_back(fact.run_id);
    const auto [known, fresh] = runs_.emplace(fact.run_id, std::move(run));
    add_story(fact.run_id,
              "starts: workflow " + fact.workflow.str() + ", input " + shown(fact.input));
    actors_.run_started(known->second);
  }

  void take(const RunnablesPlanned& fact) {
    for (const Runnable& runnable : fact.runnables) {
      if (const RunRecord* run = find(fact.run_id); run != nullptr && !runnable.is_timer()) {
        count("step", {run->workflow, done_of(runnable.step.view(), Invariant::As::applied).step});
      }
    }
  }

  void take(const RunnableApplied& fact) {
    RunRecord* run = find(fact.run_id);
    const std::string step = step_of(fact.run_id, fact.runnable_key);
    if (run == nullptr || step.empty()) {
      return;
    }
    const TransitionTaken transition = transition_of(fact.transition);
    if (!transition.to.empty()) {
      count("transition", {run->workflow, transition.from.view(), to_text(transition.on),
                           transition.to.view(), transition.when.view()});
    }
    const bool deferred = execution_opts(fact.execution_opts).defer.has_value();
    const bool failed =
        transition.on == RouteOn::error || timed_out_.contains(fact.runnable_key.str());
    const std::string next = transition.to.empty() ? "" : "; next: " + transition.to.str();
    if (deferred) {
      add_story(fact.run_id, step + " defers itself");
    } else if (failed) {
      add_story(fact.run_id, step + " failed" + (is_item(step) ? "" : next));
    } else {
      // A decision is already in the story.
      const bool decided = decided_.contains(to_string(fact.run_id) + step);
      add_story(fact.run_id, step + " is done" +
                                 (decided || fact.result.empty() ? "" : ": " + shown(fact.result)) +
                                 next);
    }
    if (!failed && !deferred) {
      run->history.push_back(done_of(step, Invariant::As::applied));
      checker_.done(*run);
    }
  }

  void take(const ManualStepPaused& fact) {
    if (const RunRecord* run = find(fact.run_id)) {
      add_story(fact.run_id,
                "waits for " + std::string(to_text(fact.kind)) + " " + fact.step.str());
      actors_.run_pauses(*run, fact);
    }
  }

  void take(const ManualStepResolved& fact) {
    if (const RunRecord* run = find(fact.run_id)) {
      const std::string step(parse_activation(fact.step.view()).step);
      count("decision", {run->workflow, step, to_text(fact.action)});
      decided_.insert(to_string(fact.run_id) + fact.step.str());
      add_story(fact.run_id, fact.step.str() + " is " + std::string(to_text(fact.action)));
    }
  }

  void take(const ExternalEventWaitOpened& fact) {
    if (const RunRecord* run = find(fact.run_id)) {
      const std::string until =
          fact.timeout.has_value()
              ? ", at most " + duration_text(static_cast<std::int64_t>(fact.timeout->after))
              : "";
      std::string& names = awaited_[run->label + " " + fact.wait_id.str()];
      names = event_names(fact);
      add_story(fact.run_id, "waits at " + fact.step.str() + " for event " + names + until);
      actors_.run_waits(*run, fact);
    }
  }

  void take(const ExternalEventWaitResolved& fact) {
    if (const RunRecord* run = find(fact.run_id)) {
      const std::string step(parse_activation(fact.step.view()).step);
      if (fact.action == WaitAction::timed_out) {
        timed_out_.insert(fact.wait_id.str());
        count("timeout", {run->workflow, step});
        add_story(fact.run_id, fact.step.str() + ": event " +
                                   awaited_[run->label + " " + fact.wait_id.str()] +
                                   " did not arrive in time");
      } else {
        count("event", {run->workflow, step, fact.event.view()});
        add_story(fact.run_id, fact.step.str() + ": event " + fact.event.str() + " arrived");
      }
    }
  }

  void take(const ExternalEventBuffered& fact) {
    add_story(fact.run_id, "event " + fact.event.str() + " is buffered: no step waits for it yet");
  }

  void take(const RunnablesWithdrawn& fact) {
    for (const SharedText& key : fact.runnable_keys) {
      if (const std::string step = step_of(fact.run_id, key); !step.empty()) {
        add_story(fact.run_id, step + " is withdrawn");
      }
    }
  }

  void take(const ChildRunStarted& fact) {
    add_story(fact.run_id,
              fact.origin.step.str() + " starts a child run of " + fact.child_workflow.str());
  }

  void take(const CompensationStarted& fact) {
    add_story(fact.run_id, "compensates, and will end as " + std::string(to_text(fact.outcome)) +
                               because(fact.error));
  }

  void take(const RunTerminal& fact) {
    RunRecord* run = find(fact.run_id);
    if (run == nullptr) {
      return;
    }
    run->ended = fact.status;
    run->ended_us = simulation_.schedule().now_us();
    run->context = context_at_end(fact);
    count("end", {run->workflow, to_text(fact.status)});
    add_story(fact.run_id, "ends as " + std::string(to_text(fact.status)) + because(fact.error));
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
  InvariantChecker checker_;
  std::int64_t quiet_us_;
  std::int64_t moved_us_ = 0;
  std::map<RunId, RunRecord> runs_;
  std::vector<RunId> order_;
  std::map<std::string, int> executions_;  // by runnable key
  std::set<std::string> done_keys_;        // of executions whose effect really happened
  std::set<std::string> hangs_;
  std::set<std::string> decided_;               // run and step
  std::set<std::string> timed_out_;             // waits
  std::map<std::string, std::string> awaited_;  // names of events, by run and wait
};

}  // namespace

std::unique_ptr<Observer> make_user_observer(const UserSetting& setting, Simulation& simulation,
                                             const Dice& dice) {
  return std::make_unique<UserObserver>(setting, simulation, dice);
}

}  // namespace holdfast::sim
