#include "runs/view/timeline_events.h"

#include <fmt/format.h>

#include "runs/facts/activation.h"
#include "runs/facts/execution_opts.h"
#include "runs/language/data/path.h"
#include "runs/language/definition/spec.h"
#include "runs/run/event_names.h"
#include "runs/run/redact.h"
#include "runs/view/view_words.h"

namespace holdfast {

namespace {

// ": because", or nothing.
std::string because(std::string_view why) {
  return why.empty() ? std::string() : ": " + one_line(why);
}

std::string because(const Payload& error) {
  return error.empty() ? std::string() : ": " + error_text(redact(error));
}

std::string text_of(const Payload& object, std::string_view name) {
  const auto member = object.is_object() ? ObjectView(object.view()).member(name) : std::nullopt;
  return member.has_value() ? json_string_value(*member).value_or("") : std::string();
}

std::string joined(const std::vector<SharedText>& names) {
  std::string text;
  for (const SharedText& name : names) {
    text += text.empty() ? "" : ", ";
    text += name.view();
  }
  return text;
}

// What follows a transition.
std::string where_to(const TransitionTaken& taken) {
  if (taken.to == kCompleteStep) {
    return ", its path ends";
  }
  if (taken.to == kNoTransition) {
    return ", and no transition fits";
  }
  return taken.to == kFailStep ? ", so the run fails"
                               : fmt::format(", continues to {}", taken.to.view());
}

Payload without_correlation(const Payload& timeout) {
  auto read = from_json<WaitTimeout>(timeout.view());
  if (!read.ok()) {
    return Payload();
  }
  read.value().correlation = {};
  return to_json(read.value()).value();
}

// Secrets, and keys with which others could send events in the name of the sender, are left out.
template <typename Fact>
void hide(Fact& fact) {
  if constexpr (requires { fact.run_id; }) {
    fact.run_id = {};  // of all of them the same
  }
  if constexpr (requires { fact.claim_token_hash; }) {
    fact.claim_token_hash = {};
  }
  if constexpr (requires { fact.idempotency_key; }) {
    fact.idempotency_key = {};
  }
  if constexpr (requires { fact.retry_idempotency_key; }) {
    fact.retry_idempotency_key = {};
  }
  if constexpr (requires { fact.correlation; }) {
    fact.correlation = {};
  }
  if constexpr (requires { fact.event_wait_timeout; }) {
    fact.event_wait_timeout =
        fact.event_wait_timeout.empty() ? Payload() : without_correlation(fact.event_wait_timeout);
  }
  if constexpr (requires { fact.others; }) {
    for (AwaitedEvent& other : fact.others) {
      other.correlation = SharedText();  // clang 14 never destroys a {} here
    }
  }
  if constexpr (requires { fact.timeout; }) {
    if (fact.timeout.has_value()) {
      fact.timeout->correlation = {};
    }
  }
  if constexpr (requires { fact.definition_spec; }) {
    fact.definition_spec = {};  // long, and there are views of it
  }
  if constexpr (std::same_as<Fact, RunSignalReceived>) {
    if (fact.signal_type == SignalType::signal_run) {
      JsonWriter event;
      event.begin_object().member("event", text_of(fact.payload, "event")).end_object();
      fact.payload = std::move(event).take_text();
    }
  }
}

template <typename Fact>
Payload details_of(Fact fact) {
  hide(fact);
  std::string out;
  FieldWriter writer(out);
  Fact::visit(fact, writer);
  static_cast<void>(std::move(writer).finish());  // what is hidden is missing
  return out == "{}" ? Payload() : redact(Payload::trusted(out));
}

// What every event needs, and how they are made.
class Describer {
 public:
  Describer(std::vector<TimelineEvent>& events, const TimelineBars& bars, const EventPlace& moment)
      : events_(events), bars_(bars), moment_(moment) {}

 protected:
  template <typename Fact>
  TimelineEvent& add(std::string_view type, std::string summary, const Fact& fact) const {
    TimelineEvent& event = events_.emplace_back();
    event.type = type;
    event.at = moment_.at;
    event.position = moment_.position;
    event.summary = std::move(summary);
    event.details = details_of(fact);
    return event;
  }
  // About a step.
  template <typename Fact>
  void add_at(std::string_view type, const SharedText& step, std::string_view what,
              const Fact& fact) const {
    add(type, fmt::format("{}: {}", step.view(), what), fact).step = step.str();
  }
  // About a runnable.
  template <typename Fact>
  void add_of(std::string_view type, const SharedText& runnable_key, std::string_view what,
              const Fact& fact) const {
    const Work* work = bars_.find(runnable_key.view());
    const std::string step = work == nullptr ? step_of_key(runnable_key.view()) : work->step.str();
    TimelineEvent& event = add(type, fmt::format("{}: {}", step, what), fact);
    event.step = step;
    event.runnable_key = runnable_key.str();
    event.attempt = work == nullptr ? 0 : work->attempt;
  }
  [[nodiscard]] const Work* find(const SharedText& runnable_key) const {
    return bars_.find(runnable_key.view());
  }
  // " in 2 s"; nothing when it is now.
  [[nodiscard]] std::string later(TimeMs time) const {
    return time > moment_.at ? " in " + duration_text(time.value - moment_.at.value)
                             : std::string();
  }
  [[nodiscard]] std::string due(TimeMs time) const {
    return time > moment_.at ? ", due" + later(time) : std::string();
  }
  [[nodiscard]] std::string begins(TimeMs time) const {
    return time > moment_.at ? ", to begin" + later(time) : std::string();
  }
  [[nodiscard]] TimeMs at() const { return moment_.at; }

 private:
  std::vector<TimelineEvent>& events_;
  const TimelineBars& bars_;
  const EventPlace& moment_;
};

class RunDescriber : public Describer {
 public:
  using Describer::Describer;

  void operator()(const RunSignalReceived& fact) const {
    std::string text = fmt::format("command {}", to_text(fact.signal_type));
    text += fact.source.empty() ? "" : " from " + one_line(fact.source.view());
    text += fact.actor.empty() ? "" : " by " + one_line(fact.actor.view());
    add("command_received", text + because(fact.comment.view()), fact);
  }
  void operator()(const RunStarted& fact) const {
    std::string text = fmt::format("run of workflow {} started", fact.workflow.view());
    if (!fact.replayed_from_run_id.empty()) {
      text += ", a replay of run " + to_string(fact.replayed_from_run_id);
    }
    add("run_started", text, fact);
  }
  void operator()(const RunnablesPlanned& fact) const {
    for (const Runnable& plan : fact.runnables) {
      add_of(plan.is_timer() ? "timer_planned" : "step_planned", plan.runnable_key, plan_text(plan),
             plan);
    }
  }
  void operator()(const RunnableApplied& fact) const {
    const Work* work = find(fact.runnable_key);
    if (work != nullptr && !work->says.empty()) {
      add_of("log_written", fact.runnable_key, work->says, fact);
    } else {
      add_of("runnable_applied", fact.runnable_key, applied_text(fact), fact);
    }
  }
  void operator()(const RunnablesWithdrawn& fact) const {
    for (const SharedText& key : fact.runnable_keys) {
      RunnablesWithdrawn one = fact;
      one.runnable_keys = {key};
      add_of("step_withdrawn", key, "withdrawn" + because(fact.reason.view()), one);
    }
  }
  void operator()(const ChildRunStarted& fact) const {
    TimelineEvent& event =
        add("child_run_started",
            fmt::format("child run {} of workflow {} started", to_string(fact.child_run_id),
                        fact.child_workflow.view()),
            fact);
    event.step = fact.origin.step.str();
    event.runnable_key = fact.origin.runnable_key.str();
    event.attempt = fact.origin.attempt;
  }
  void operator()(const ManualStepPaused& fact) const {
    if (fact.kind == ManualKind::parked) {
      add_at("step_parked", fact.step, "parked" + because(fact.error), fact);
      return;
    }
    const bool approval = fact.kind == ManualKind::approval;
    add_at("manual_step_paused", fact.step,
           (approval ? "waits for approval" : "paused") + because(fact.reason.view()), fact);
  }
  void operator()(const ManualStepResolved& fact) const {
    const std::string actor = text_of(fact.metadata, "actor");
    std::string text(to_text(fact.action));
    text += actor.empty() ? "" : " by " + one_line(actor);
    text += fact.transition.empty() ? "" : where_to(transition_of(fact.transition));
    add("manual_step_resolved", text + because(text_of(fact.metadata, "comment")), fact).step =
        fact.step.str();
  }
  void operator()(const RunTerminal& fact) const {
    add("run_terminal", fmt::format("run {}", to_text(fact.status)) + because(fact.error), fact);
  }
  void operator()(const DynamicGraphMutated& fact) const {
    std::string what = fmt::format(
        "graph changed to version {} by mutation {}: {} added, {} removed", fact.result_version,
        one_line(fact.mutation_id.view()), fact.additions.size(), fact.removals.size());
    if (fact.origin.is_step()) {
      add_at("graph_mutated", fact.origin.step, what, fact);
      return;
    }
    const SharedText& by = fact.origin.actor.empty() ? fact.origin.source : fact.origin.actor;
    add("graph_mutated", std::move(what) + ", requested by " + one_line(by.view()), fact);
  }
  void operator()(const RunContinuationRequested& fact) const {
    add("run_continued_to", "run continues as " + to_string(fact.successor_run_id), fact);
  }
  void operator()(const RunContinuedFrom& fact) const {
    add("run_continued_from", "run continues run " + to_string(fact.predecessor_run_id), fact);
  }
  void operator()(const ExternalEventWaitOpened& fact) const {
    std::string text = fmt::format("waits for event {}", one_line(event_names(fact)));
    if (fact.timeout.has_value()) {
      text += ", at most " + duration_text(fact.timeout->due_at.value - fact.opened_at.value);
    }
    add_of("event_wait_opened", fact.wait_id, text, fact);
  }
  void operator()(const ExternalEventBuffered& fact) const {
    add("event_buffered",
        fmt::format("event {} came before anything waited for it", one_line(fact.event.view())),
        fact);
  }
  void operator()(const ExternalEventReceived& fact) const {
    add_of("event_received", fact.wait_id,
           fmt::format("event {} received", one_line(fact.event.view())), fact);
  }
  void operator()(const ExternalEventWaitTimeoutSelected& fact) const {
    const Work* work = find(fact.wait_id);
    const bool known = work != nullptr && !work->awaits.empty();
    add_of("event_wait_timed_out", fact.wait_id,
           fmt::format("no event {} came in time",
                       one_line(known ? std::string_view(work->awaits) : fact.event.view())),
           fact);
  }
  void operator()(const ExternalEventWaitResolved& fact) const {
    const bool received = fact.action == WaitAction::received;
    add_of("event_wait_resolved", fact.wait_id,
           received ? "waits no longer" : "waits no longer: timed out", fact);
  }
  void operator()(const SearchAttributesUpdated& fact) const {
    std::string names;
    JsonSlicer changes(fact.changes.view());
    while (const auto change = changes.next()) {
      names += (names.empty() ? "" : ", ") + one_line(change->name);
    }
    add("search_attributes_updated", "search attributes changed" + because(names), fact);
  }
  void operator()(const RunDefinitionMigrated& fact) const {
    add("definition_migrated",
        fmt::format("definition changed from version {} to version {}",
                    one_line(fact.source_version.view()), one_line(fact.target_version.view())),
        fact);
  }
  void operator()(const RunArchived& fact) const {
    add("run_archived", "run archived" + because(fact.reason.view()), fact);
  }
  void operator()(const RunUnarchived& fact) const {
    add("run_unarchived", "run unarchived", fact);
  }
  void operator()(const DeadLetterResolved& fact) const {
    std::string text = fact.action == DeadLetterEnd::discarded
                           ? std::string("dead letter discarded")
                           : "dead letter redriven as run " + to_string(fact.replay_run_id);
    text += fact.actor.empty() ? "" : " by " + one_line(fact.actor.view());
    add("dead_letter_resolved", text + because(fact.comment.view()), fact);
  }
  void operator()(const CompensationStarted& fact) const {
    add("compensation_started",
        fmt::format("run compensates, then ends {}", to_text(fact.outcome)) + because(fact.error),
        fact);
  }
  void operator()(const StepsAdopted& fact) const {
    add("steps_adopted",
        fmt::format("continues at {} with the results of run {}{}", fact.from_step.view(),
                    to_string(fact.source_run_id), because(joined(fact.done))),
        fact);
  }

 private:
  [[nodiscard]] std::string plan_text(const Runnable& plan) const {
    if (plan.is_timer()) {
      return "timer set" + due(plan.visible_at);
    }
    if (plan.deferred.has_value()) {
      return fmt::format("deferred{}; again{}", because(plan.deferred->reason.view()),
                         plan.visible_at > at() ? later(plan.visible_at) : " now");
    }
    if (plan.handler.view() == kTimerHandler) {
      return plan.visible_at > at() ? "waits " + duration_text(plan.visible_at.value - at().value)
                                    : "waits";
    }
    std::string text = plan.attempt_number > 1
                           ? fmt::format("attempt {} planned", plan.attempt_number)
                           : std::string("planned");
    return text + begins(plan.visible_at);
  }

  [[nodiscard]] std::string applied_text(const RunnableApplied& fact) const {
    const Work* work = find(fact.runnable_key);
    if (work != nullptr && work->by == Work::By::timeout) {
      return "timer fired";
    }
    if (execution_opts(fact.execution_opts).defer.has_value()) {
      return "not done yet";
    }
    const TransitionTaken taken = transition_of(fact.transition);
    std::string text(ending_text(taken.on));
    // Failed items and compensations lead nowhere.
    const bool leads_on = !taken.to.empty() && (work == nullptr || is_step(work->step.view()));
    if (!leads_on) {
      return text;
    }
    return text + where_to(taken);
  }
  static std::string_view ending_text(RouteOn on) {
    switch (on) {
      case RouteOn::ok:
        return "done";
      case RouteOn::error:
        return "failed";
      case RouteOn::timeout:
        break;
    }
    return "timed out";
  }
  static bool is_step(std::string_view activation) {
    return !is_item(activation) && !is_compensation(activation);
  }
};

class DispatchDescriber : public Describer {
 public:
  using Describer::Describer;

  void operator()(const RunQueued& fact) const {
    add("run_queued", fmt::format("run registered in queue {}", fact.queue.view()), fact);
  }
  void operator()(const AttemptScheduled& fact) const {
    const bool timer = fact.handler.view() == kTimerHandler;
    add_of("attempt_scheduled", fact.runnable_key,
           timer ? "timer scheduled" + due(fact.visible_at)
                 : fmt::format("attempt {} scheduled in queue {}{}", fact.attempt_number,
                               fact.queue.view(), begins(fact.visible_at)),
           fact);
  }
  void operator()(const AttemptClaimed& fact) const {
    add_of("attempt_claimed", fact.runnable_key,
           fmt::format("{} claimed by {}", attempt(fact), one_line(fact.owner_id.view())), fact);
  }
  void operator()(const AttemptHeartbeat& fact) const {
    const Work* work = find(fact.runnable_key);
    const bool known = work != nullptr && !work->holdings.empty();
    add_of("lease_extended", fact.runnable_key,
           fmt::format("{} held{} for {} more", attempt(fact),
                       known ? " by " + one_line(work->holdings.back().owner.view()) : "",
                       duration_text(fact.lease_until.value - at().value)),
           fact);
  }
  void operator()(const AttemptCompleted& fact) const {
    add_of("attempt_completed", fact.runnable_key, attempt(fact) + " completed", fact);
  }
  void operator()(const AttemptFailed& fact) const {
    std::string text = attempt(fact) + " failed" + because(fact.error);
    if (fact.retry_visible_at.has_value()) {
      text += "; again" + (*fact.retry_visible_at > at() ? later(*fact.retry_visible_at) : " now");
    }
    add_of("attempt_failed", fact.runnable_key, text, fact);
  }
  // Only a hint to workers.
  void operator()(const LiveWakeupEmitted& /*fact*/) const {}
  void operator()(const CircuitOpened& fact) const {
    add_of("circuit_opened", fact.runnable_key,
           fmt::format("circuit breaker of step {} opened after {} consecutive failures; probe{}",
                       fact.step.view(), fact.failures, later(fact.probe_at)),
           fact);
  }
  void operator()(const CircuitProbed& fact) const {
    add_of("circuit_probed", fact.runnable_key,
           attempt(fact) + " probes whether the step works again", fact);
  }
  void operator()(const CircuitClosed& fact) const {
    add_of("circuit_closed", fact.runnable_key,
           fmt::format("circuit breaker of step {} closed", fact.step.view()), fact);
  }
  // Of a queue, not of a run.
  void operator()(const CircuitReset& /*fact*/) const {}

 private:
  template <typename Fact>
  [[nodiscard]] std::string attempt(const Fact& fact) const {
    const Work* work = find(fact.runnable_key);
    return work == nullptr ? std::string("attempt") : fmt::format("attempt {}", work->attempt);
  }
};

}  // namespace

void describe(std::vector<TimelineEvent>& events, const TimelineBars& bars,
              const EventPlace& moment, const RunFact& fact) {
  std::visit(RunDescriber(events, bars, moment), fact);
}

void describe(std::vector<TimelineEvent>& events, const TimelineBars& bars,
              const EventPlace& moment, const DispatchFact& fact) {
  std::visit(DispatchDescriber(events, bars, moment), fact);
}

}  // namespace holdfast
