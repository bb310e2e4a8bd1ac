#include "runs/view/causes.h"

#include <fmt/format.h>

#include <set>

#include "runs/facts/activation.h"
#include "runs/language/data/path.h"
#include "runs/run/error_origin.h"
#include "runs/run/event_names.h"
#include "runs/run/redact.h"
#include "runs/view/circuit_cause.h"
#include "runs/view/deadline.h"
#include "runs/view/run_graph.h"
#include "runs/view/step_state.h"
#include "runs/view/view_words.h"

namespace holdfast {

namespace {

constexpr int kMaxDepth = 32;
constexpr std::size_t kMaxCauses = 20;
constexpr const char* kWork = "holdfast work";

NextAction engine_action(std::string_view action, std::string_view what) {
  return {std::string(action),
          fmt::format("an engine process {}: any program that has the store open, or this", what),
          kWork};
}

std::string since(TimeMs at) { return format_time(at); }

// A handler that every worker of ours has.
bool is_built_in(const SharedText& handler) {
  return handler.view() == kHttpHandler || handler.view() == kExecHandler;
}

NextAction worker_action(const Attempt& attempt, const SharedText& queue, std::string_view action) {
  if (is_built_in(attempt.handler)) {
    return {std::string(action),
            fmt::format("a worker of queue {} claims it; start one", queue.view()),
            queue.view() == kDefaultQueue ? std::string(kWork)
                                          : fmt::format("{} --queue {}", kWork, queue.view())};
  }
  return {std::string(action),
          fmt::format("a worker of queue {} claims it: start a program that handles {}",
                      queue.view(), attempt.handler.view())};
}

// What the worker said last about how far it is.
std::string progress_of(const Claim& claim) {
  return claim.progress.empty()
             ? ""
             : fmt::format(", progress {}", one_line(redact(claim.progress).view()));
}

NextAction time_action(std::string_view action, TimeMs at, std::string_view what) {
  NextAction next;
  next.action = action;
  next.summary = fmt::format("{} at {}", what, since(at));
  next.at = at;
  return next;
}

// The first of them; the most important one is never left out.
void shorten(std::vector<Cause>& causes) {
  if (causes.size() <= kMaxCauses) {
    return;
  }
  const auto most = static_cast<std::size_t>(most_important(causes) - causes.data());
  if (most >= kMaxCauses) {
    causes[kMaxCauses - 1] = std::move(causes[most]);
  }
  causes[kMaxCauses - 1].omitted += causes.size() - kMaxCauses;
  causes.resize(kMaxCauses);
}

}  // namespace

CauseFinder::CauseFinder(const RunSource& source, const FindRun& find, int depth)
    : source_(source), run_(*source.run), find_(find), depth_(depth), known_(attempts_of(source)) {
  for (const KnownAttempt& known : known_) {
    attempts_[known.attempt->runnable_key] = known.attempt;
    queue_of_[known.attempt->runnable_key] = known.queue;
  }
  for (const auto& [child, link] : run_.children()) {
    if (link.awaited) {
      awaited_[link.origin.runnable_key] = &link;
    }
  }
}

Result<std::vector<Cause>> CauseFinder::find() {
  std::vector<Cause> causes;
  if (run_.is_terminal()) {
    causes.push_back(ended());
    return causes;
  }
  std::map<std::string, std::size_t> parents;  // of items: by visit
  for (const PlannedRunnable* planned : run_.runnables()) {
    const std::string_view step = planned->plan.step.view();
    const bool over = planned->applied && run_.parked(planned->plan.step) == nullptr;
    if (over || planned->plan.is_timer() || run_.latest(step) != planned) {
      continue;
    }
    HOLDFAST_TRY(Cause cause, of_runnable(*planned));
    if (run_.each(step) != nullptr) {
      parents[std::string(step)] = causes.size();
    }
    const auto parent =
        is_item(step) ? parents.find(std::string(without_item(step))) : parents.end();
    std::vector<Cause>& place = parent == parents.end() ? causes : causes[parent->second].causes;
    place.push_back(std::move(cause));
  }
  for (const auto& [visit, index] : parents) {
    if (const Cause* first = most_important(causes[index].causes)) {
      causes[index].reason = first->reason;
      causes[index].next_actions = first->next_actions;
      causes[index].summary += " and " + first->summary;
      shorten(causes[index].causes);
    }
  }
  if (run_.definition() == nullptr && run_.started().has_value()) {
    causes.push_back(missing_definition());
  }
  if (causes.empty()) {
    causes.push_back(nothing_open());
  }
  shorten(causes);
  return causes;
}

Cause CauseFinder::ended() const {
  Cause cause;
  cause.reason = Reason::terminal;
  cause.since = run_.terminal_at();
  const std::string took = duration_text(run_.terminal_at().value - run_.started_at().value);
  const auto look = [&](std::string_view text) {
    return NextAction{"inspect_terminal_run", std::string(text), "holdfast show " + id()};
  };
  switch (run_.terminal()->status) {
    case TerminalStatus::completed:
      cause.waits_for = "completion";
      cause.summary = fmt::format("was completed at {} after {}", since(*cause.since), took);
      cause.next_actions.push_back(look("the run has ended; show its result"));
      return cause;
    case TerminalStatus::failed:
      cause.waits_for = "failure";
      cause.step = step_that_failed();
      cause.summary = fmt::format("failed at {} after {}{}: {}", since(*cause.since), took,
                                  cause.step.empty() ? "" : fmt::format(" in step {}", cause.step),
                                  error_text(run_.terminal()->error));
      cause.next_actions.push_back(look("the run has ended; show what happened"));
      if (!cause.step.empty() && !is_compensation(cause.step)) {
        cause.next_actions.push_back({"replay_run",
                                      "after fixing the cause, replay the run from that step",
                                      fmt::format("holdfast replay {} --from-step {}", id(),
                                                  parse_activation(cause.step).step)});
      }
      cause.next_actions.push_back(
          {"replay_run", "replay the whole run as a new run", "holdfast replay " + id()});
      about_dead_letter(cause);
      return cause;
    case TerminalStatus::cancelled: {
      cause.waits_for = "cancellation";
      std::string by;
      for (const Receipt& receipt : run_.receipts()) {
        if (receipt.signal.signal_type == SignalType::cancel_run) {
          by = receipt.signal.actor.empty() ? "" : " by " + receipt.signal.actor.str();
          by +=
              receipt.signal.comment.empty() ? "" : ": " + one_line(receipt.signal.comment.view());
        }
      }
      cause.summary = fmt::format("was cancelled at {}{}", since(*cause.since), by);
      cause.next_actions.push_back(look("the run has ended; show how far it got"));
      cause.next_actions.push_back(
          {"replay_run", "replay it as a new run", "holdfast replay " + id()});
      return cause;
    }
    case TerminalStatus::continued:
      break;
  }
  cause.waits_for = "successor";
  const auto& continuation = run_.continuation();
  cause.run_id = continuation.has_value() ? to_string(continuation->successor_run_id) : "";
  cause.summary = fmt::format("continued as run {} at {}", cause.run_id, since(*cause.since));
  cause.next_actions.push_back({"inspect_continuation_successor", "inspect the run it continued as",
                                "holdfast explain " + cause.run_id});
  return cause;
}

// The one the error names, though it may name none; else the newest that failed with this error.
std::string CauseFinder::step_that_failed() const {
  const Payload& error = run_.terminal()->error;
  if (const ErrorOrigin origin = error_origin(error); origin.step.has_value()) {
    return *origin.step;
  }
  const Attempt* newest = nullptr;
  const auto rank = [&](const Attempt& attempt) {
    return std::pair(attempt.outcome->error == error, attempt.outcome->at);
  };
  for (const auto& [key, attempt] : attempts_) {
    if (attempt->status == AttemptStatus::failed && !is_compensation(attempt->step.view()) &&
        (newest == nullptr || rank(*newest) <= rank(*attempt))) {
      newest = attempt;
    }
  }
  return newest == nullptr ? "" : newest->step.str();
}

// What only a writer that is not ours can leave behind.
Cause CauseFinder::nothing_open() const {
  Cause cause;
  cause.waits_for = "writer";
  const NextAction cancel{"cancel_run", "or cancel the run", "holdfast cancel " + id()};
  if (!run_.started().has_value()) {
    cause.reason = Reason::waiting_for_dispatch;
    cause.summary = "has entries, but was never started";
    cause.next_actions.push_back(
        {"inspect_dispatch_state", "inspect its entries", "holdfast show " + id()});
    return cause;
  }
  if (run_.runnable_count() == 0) {
    cause.reason = Reason::run_started;
    cause.since = run_.started_at();
    cause.summary = fmt::format(
        "was started at {} but no step was planned; the process that started "
        "it did not continue",
        since(run_.started_at()));
    cause.next_actions.push_back(
        {"inspect_dispatch_state", "inspect its entries", "holdfast show " + id()});
    cause.next_actions.push_back(cancel);
    return cause;
  }
  cause.reason = Reason::idle;
  cause.summary =
      "has nothing left to do but has not ended; the process that planned its steps did not "
      "continue";
  cause.next_actions.push_back(
      {"wait_for_new_runnables", "the process that plans its steps continues"});
  cause.next_actions.push_back(cancel);
  return cause;
}

Cause CauseFinder::missing_definition() const {
  const PinnedDefinition pinned = run_.pinned_definition();
  Cause cause;
  cause.reason = Reason::planned_dispatch_pending_schedule;
  cause.waits_for = "definition";
  cause.summary = fmt::format(
      "follows a definition that is not stored here (workflow {}, {})",
      run_.started()->workflow.view(),
      pinned.fingerprint.empty() ? std::string_view("no fingerprint") : pinned.fingerprint.view());
  cause.next_actions.push_back(
      {"restore_exact_workflow_definition",
       "register that definition again: a program or file that has it, with the same fingerprint"});
  return cause;
}

Result<Cause> CauseFinder::of_runnable(const PlannedRunnable& planned) {
  const Runnable& plan = planned.plan;
  Cause cause;
  const auto attempt = attempts_.find(plan.runnable_key);
  if (const auto boundary = run_.boundaries().find(plan.step);
      boundary != run_.boundaries().end()) {
    cause = of_boundary(boundary->second, planned);
  } else if (plan.is_internal()) {
    HOLDFAST_TRY(cause, of_internal(planned));
  } else if (attempt != attempts_.end()) {
    cause = of_attempt(planned, *attempt->second);
  } else {
    cause.reason = Reason::planned_dispatch_pending_schedule;
    cause.waits_for = "engine";
    cause.summary = fmt::format("has planned step {}, but queue {} does not have it yet",
                                plan.step.view(), plan.queue.view());
    cause.next_actions.push_back(engine_action("schedule_pending_dispatch", "schedules it"));
  }
  cause.step = plan.step.str();
  add_mutation(cause, plan);
  add_deadline(cause, planned);
  return cause;
}

// A step that the definition does not have says where it comes from.
void CauseFinder::add_mutation(Cause& cause, const Runnable& plan) const {
  const auto mutation = plan.graph_mutation.has_value()
                            ? run_.graph_mutations().find(plan.graph_mutation->mutation_id.str())
                            : run_.graph_mutations().end();
  if (mutation == run_.graph_mutations().end()) {
    return;
  }
  const AddedBy by = added_by(mutation->second);
  const std::string who = by.step.empty() ? one_line(by.actor) : "step " + by.step;
  cause.summary += fmt::format("; step {} was added by {} (mutation {})", plan.step.view(), who,
                               one_line(by.mutation_id));
}

Cause CauseFinder::of_boundary(const ManualState& boundary, const PlannedRunnable& planned) const {
  Cause cause;
  cause.reason = Reason::manual_intervention_required;
  cause.since = boundary.paused_at;
  const std::string why =
      boundary.reason.empty() ? "" : fmt::format(" ({})", one_line(boundary.reason.view()));
  const std::string step = boundary.step.str();
  if (boundary.kind == BoundaryKind::event_wait) {
    const auto wait = run_.waits().find(planned.plan.runnable_key.str());
    cause.waits_for = "event";
    cause.summary =
        fmt::format("waits for an event at step {} since {}", step, since(boundary.paused_at));
    if (wait != run_.waits().end()) {
      offer_events(cause, wait->second);
    }
    return cause;
  }
  cause.waits_for = std::string(to_text(boundary.kind));
  if (boundary.kind == BoundaryKind::parked) {
    about_parked(cause, boundary, planned);
    return cause;
  }
  if (boundary.kind == BoundaryKind::approval) {
    cause.summary =
        fmt::format("waits for approval {}, open since {}{}", step, since(boundary.paused_at), why);
    for (const std::string_view verb : {"approve", "reject"}) {
      cause.next_actions.push_back(
          {"resolve_manual_step", fmt::format("{} it", verb),
           fmt::format("holdfast {} {} --step {} --actor YOU", verb, id(), step)});
    }
    return cause;
  }
  cause.summary =
      fmt::format("was paused at step {} at {}{}", step, since(boundary.paused_at), why);
  cause.next_actions.push_back({"resolve_manual_step", "resume it",
                                fmt::format("holdfast resume {} --step {}", id(), step)});
  return cause;
}

void CauseFinder::offer_events(Cause& cause, const EventWait& wait) const {
  std::vector<AwaitedEvent> events{{wait.opened.event, wait.opened.correlation}};
  events.insert(events.end(), wait.opened.others.begin(), wait.opened.others.end());
  for (const AwaitedEvent& event : events) {
    cause.next_actions.push_back(
        {"deliver_external_event", fmt::format("send event {}", event.event.view()),
         fmt::format("holdfast signal {} {}{}", id(), event.event.view(),
                     event.correlation.empty() ? "" : " --correlation VALUE")});
  }
  cause.summary = fmt::format("waits for event {} at step {} since {}", event_names(wait.opened),
                              wait.opened.step.view(), since(wait.opened.opened_at));
  if (wait.opened.timeout.has_value()) {
    const TimeMs due = wait.opened.timeout->due_at;
    cause.until = due;
    cause.summary += fmt::format(", until {}", since(due));
    NextAction timeout = time_action("inspect_event_wait_timeout", due, "the wait times out");
    if (due <= source_.now) {
      timeout.summary =
          fmt::format("the wait timed out at {}; an engine process continues", since(due));
      timeout.command = kWork;
    }
    cause.next_actions.push_back(std::move(timeout));
  }
}

// The engine does it itself, at once: so it is not that step that is waited for.
Result<Cause> CauseFinder::of_internal(const PlannedRunnable& planned) {
  const Runnable& plan = planned.plan;
  if (const auto link = awaited_.find(plan.runnable_key); link != awaited_.end()) {
    return of_child(planned, *link->second);
  }
  if (const EachProgress* each = run_.each(plan.step.view())) {
    return of_items(planned, *each);
  }
  const auto timer = attempts_.find(SharedText(plan.runnable_key.str() + ":begin"));
  if (timer != attempts_.end() && !timer->second->ended() && !timer->second->applied) {
    return of_timer(planned, timer->second->visible_at);
  }
  Cause cause;
  cause.reason = Reason::planned_dispatch_pending_schedule;
  cause.waits_for = "engine";
  cause.summary =
      fmt::format("has planned step {}, but the engine has not executed it yet", plan.step.view());
  cause.next_actions.push_back(engine_action("schedule_pending_dispatch", "executes it"));
  return cause;
}

Cause CauseFinder::of_items(const PlannedRunnable& planned, const EachProgress& each) const {
  Cause cause;
  cause.reason = Reason::planned_dispatch_pending_schedule;
  cause.waits_for = "items";
  cause.summary = fmt::format("has {} of {} of step {} done", each.done,
                              counted(each.items.size(), "item"), planned.plan.step.view());
  cause.next_actions.push_back(engine_action("schedule_pending_dispatch", "plans the next items"));
  return cause;
}

Result<Cause> CauseFinder::of_child(const PlannedRunnable& planned, const ChildRunStarted& link) {
  Cause cause;
  cause.reason = Reason::waiting_for_child;
  cause.waits_for = "child";
  cause.since = link.started_at;
  RunId newest = link.child_run_id;
  HOLDFAST_TRY(auto child, find_(newest));
  std::set<RunId> seen{newest};  // no writer of ours makes a circle
  while (child.has_value() && child->run->is_terminal() && child->run->continuation().has_value() &&
         seen.insert(child->run->continuation()->successor_run_id).second) {
    newest = child->run->continuation()->successor_run_id;
    HOLDFAST_TRY(child, find_(newest));
  }
  cause.run_id = to_string(newest);
  const std::string name =
      fmt::format("child run {} of workflow {}", cause.run_id, link.child_workflow.view());
  if (!child.has_value()) {
    cause.reason = Reason::planned_dispatch_pending_schedule;
    cause.summary = fmt::format("waits for {}, which is not started yet", name);
    cause.next_actions.push_back(engine_action("schedule_pending_dispatch", "starts it"));
    return cause;
  }
  if (child->run->is_terminal()) {
    cause.reason = Reason::completed_result_pending_apply;
    cause.summary = fmt::format("waits for {}, which has ended ({}) without notifying step {}",
                                name, to_text(child->run->status()), planned.plan.step.view());
    // No engine leaves a parent in this state, and none would recover it.
    cause.next_actions.push_back({"cancel_run", "cancel the run", "holdfast cancel " + id()});
    return cause;
  }
  cause.next_actions.push_back(
      {"inspect_child_run", "inspect the child run", "holdfast explain " + cause.run_id});
  if (depth_ >= kMaxDepth) {
    cause.summary = "waits for " + name;
    return cause;
  }
  HOLDFAST_TRY(cause.causes, CauseFinder(*child, find_, depth_ + 1).find());
  const Cause* reason = most_important(cause.causes);
  cause.summary = fmt::format("waits for {}, which {}", name, reason->summary);
  cause.until = reason->until;
  cause.next_actions.insert(cause.next_actions.begin(), reason->next_actions.begin(),
                            reason->next_actions.end());
  return cause;
}

Cause CauseFinder::of_attempt(const PlannedRunnable& planned, const Attempt& attempt) const {
  const std::string what =
      fmt::format("attempt {} at step {}", attempt.attempt_number, attempt.step.view());
  const SharedText& queue = queue_of_.at(attempt.runnable_key);
  Cause cause;
  if (attempt.ended()) {
    const bool failed = attempt.status == AttemptStatus::failed;
    cause.reason = Reason::completed_result_pending_apply;
    cause.waits_for = "engine";
    cause.since = attempt.outcome->at;
    cause.summary = fmt::format("knows the {} of {} since {} and has not continued with it yet",
                                failed ? "failure" : "result", what, since(attempt.outcome->at));
    cause.next_actions.push_back(engine_action("apply_pending_result", "continues with it"));
    return cause;
  }
  if (is_held(attempt, source_.now)) {
    cause.reason = Reason::attempt_claimed;
    cause.waits_for = "claim";
    cause.since = attempt.claim->claimed_at;
    cause.until = attempt.claim->lease_until;
    cause.summary = fmt::format("is executing {} on {} since {}, lease until {}{}", what,
                                attempt.claim->owner_id.view(), since(attempt.claim->claimed_at),
                                since(attempt.claim->lease_until), progress_of(*attempt.claim));
    NextAction wait = time_action("wait_for_attempt_completion", attempt.claim->lease_until,
                                  "the worker reports, extends its lease or loses it");
    cause.next_actions.push_back(std::move(wait));
    return cause;
  }
  if (const auto open = open_circuit_of(source_, attempt, queue)) {
    cause = circuit_cause(attempt, queue, *open);
    if (!open->until.has_value()) {
      cause.next_actions.insert(cause.next_actions.begin(),
                                worker_action(attempt, queue, "wait_for_worker_claim"));
    }
    return cause;
  }
  if (is_expired(attempt, source_.now)) {
    cause.reason = Reason::expired_claim;
    cause.waits_for = "lease";
    cause.since = attempt.claim->lease_until;
    cause.summary =
        fmt::format("waits for a worker to take over {} from {}, whose lease expired at {}", what,
                    attempt.claim->owner_id.view(), since(attempt.claim->lease_until));
    cause.next_actions.push_back(worker_action(attempt, queue, "recover_expired_claim"));
    return cause;
  }
  if (is_scheduled(attempt, source_.now)) {
    return of_scheduled(planned, attempt);
  }
  if (attempt.is_timer()) {
    return of_timer(planned, attempt.visible_at);
  }
  cause.reason = Reason::attempt_visible;
  cause.waits_for = "worker";
  cause.since = attempt.visible_at;
  cause.until = attempt.times_out_at();
  cause.summary = fmt::format("waits for a worker of queue {} to claim {} (handler {}) since {}{}",
                              queue.view(), what, handler_text(attempt.handler.view()),
                              since(attempt.visible_at), previous_error(attempt));
  cause.next_actions.push_back(worker_action(attempt, queue, "wait_for_worker_claim"));
  return cause;
}

Cause CauseFinder::of_scheduled(const PlannedRunnable& planned, const Attempt& attempt) const {
  if (attempt.is_timer()) {
    return of_timer(planned, attempt.visible_at);
  }
  Cause cause;
  cause.since = attempt.scheduled_at;
  cause.until = attempt.visible_at;
  const std::string at = since(attempt.visible_at);
  const auto& deferred = planned.plan.deferred;
  if (deferred.has_value()) {
    cause.reason = Reason::deferred_continuation;
    cause.waits_for = "deferral";
    cause.summary = fmt::format(
        "has deferred step {} until {}{}", attempt.step.view(), at,
        deferred->reason.empty() ? "" : fmt::format(" ({})", one_line(deferred->reason.view())));
  } else {
    cause.reason = Reason::attempt_scheduled_for_later;
    cause.waits_for = attempt.attempt_number > 1 ? "retry" : "timer";
    cause.summary = fmt::format("begins attempt {} at step {} at {}{}", attempt.attempt_number,
                                attempt.step.view(), at, previous_error(attempt));
  }
  cause.next_actions.push_back(
      time_action("wait_until_attempt_visible", attempt.visible_at, "a worker may claim it"));
  return cause;
}

Cause CauseFinder::of_timer(const PlannedRunnable& planned, TimeMs due) const {
  Cause cause;
  cause.waits_for = "timer";
  cause.until = due;
  if (due > source_.now) {
    cause.reason = Reason::attempt_scheduled_for_later;
    cause.summary = fmt::format("sleeps at step {} until {}", planned.plan.step.view(), since(due));
    cause.next_actions.push_back(
        time_action("wait_until_attempt_visible", due, "an engine process continues"));
    return cause;
  }
  cause.reason = Reason::attempt_visible;
  cause.since = due;
  cause.summary = fmt::format("slept at step {} until {}, and no engine process has continued yet",
                              planned.plan.step.view(), since(due));
  cause.next_actions.push_back(engine_action("wait_for_worker_claim", "continues"));
  return cause;
}

std::string CauseFinder::previous_error(const Attempt& attempt) const {
  const Attempt* previous = nullptr;
  for (const auto& [key, known] : attempts_) {
    if (known->step == attempt.step && known->status == AttemptStatus::failed &&
        (previous == nullptr || previous->attempt_number < known->attempt_number)) {
      previous = known;
    }
  }
  return previous == nullptr || previous->attempt_number >= attempt.attempt_number
             ? ""
             : fmt::format(", after attempt {} failed: {}", previous->attempt_number,
                           error_text(previous->outcome->error));
}

void CauseFinder::add_deadline(Cause& cause, const PlannedRunnable& planned) const {
  const auto deadline = deadline_of(planned.plan);
  const Urgency status = deadline.has_value() ? deadline->status(source_.now) : Urgency::on_time;
  if (status == Urgency::due_soon) {
    cause.next_actions.push_back(
        {"inspect_deadline_policy",
         fmt::format("step {} is due at {}", planned.plan.step.view(), since(deadline->due_at)),
         "holdfast show " + id()});
  } else if (status != Urgency::on_time) {
    const std::string whom = deadline->escalation.empty()
                                 ? std::string()
                                 : fmt::format(": {}", one_line(deadline->escalation.view()));
    cause.next_actions.push_back(
        {"apply_host_escalation_policy",
         fmt::format("step {} was due at {} and is {}{}", planned.plan.step.view(),
                     since(deadline->due_at), to_text(status), whom),
         "holdfast show " + id()});
  }
}

const Cause* most_important(const std::vector<Cause>& causes) {
  const Cause* first = nullptr;
  for (const Cause& cause : causes) {
    if (first == nullptr || cause.reason < first->reason) {
      first = &cause;
    }
  }
  return first;
}

}  // namespace holdfast
