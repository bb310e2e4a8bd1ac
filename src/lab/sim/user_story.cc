#include "lab/sim/user_story.h"

#include "runs/run/activation.h"
#include "runs/run/event_names.h"
#include "runs/view/view_words.h"

namespace holdfast::sim {

namespace {

std::string shown(const Payload& payload) { return one_line(payload.view(), 100); }

std::string attempt_text(const Assignment& attempt) {
  return attempt.attempt_number > 1 ? " (attempt " + std::to_string(attempt.attempt_number) + ")"
                                    : "";
}

std::string transition_text(const TransitionTaken& transition) {
  return transition.to.empty() ? "" : "; next: " + transition.to.str();
}

}  // namespace

void UserStory::run_started(const std::string& run, const RunStarted& fact) {
  add_line_(run, "starts: workflow " + fact.workflow.str() + ", input " + shown(fact.input));
}

void UserStory::execution_started(const std::string& run, const Assignment& attempt, int time,
                                  bool never, std::int64_t late_us) {
  std::string line = attempt.step.str() + attempt_text(attempt) + ": a worker starts";
  if (time > 1) {
    line += ", for the " + std::to_string(time) +
            (time == 2   ? "nd"
             : time == 3 ? "rd"
                         : "th") +
            " time: the previous execution was not reported";
  }
  if (never) {
    line += ", and hangs";
  } else if (late_us > 0) {
    line += ", and stalls for " + duration_text(late_us / 1000);
  }
  add_line_(run, line);
}

void UserStory::executed(const std::string& run, const Assignment& attempt,
                         const HandlerAnswer& answer, Execution how, bool done) {
  const std::string step = attempt.step.str() + attempt_text(attempt);
  if (how != Execution::reports) {
    add_line_(run, step + ": the worker dies" +
                       (how == Execution::dies ? "" : " with its process") + ", " +
                       (done ? "the effect happened" : "the effect did not happen") +
                       ", and it is not reported");
    return;
  }
  if (const auto* failure = std::get_if<Failure>(&answer.outcome)) {
    add_line_(run, step + ": the handler returns " + error_text(failure->error) +
                       (done ? ", but the effect happened" : ""));
    return;
  }
  add_line_(run, step + ": the handler returns ok " +
                     shown(std::get<Completion>(answer.outcome).result) +
                     (done ? "" : ", but the effect did not happen"));
}

void UserStory::reported(const std::string& run, const Assignment& attempt, const Reply& reply) {
  const std::string step = attempt.step.str() + attempt_text(attempt);
  if (reply.in_doubt()) {
    add_line_(run, step + ": the worker gets no reply to its report");
  } else if (!reply.ok()) {
    add_line_(run, step + ": the report is too late and is refused (" + reply.code + ")");
  }
}

void UserStory::attempt_failed(const std::string& run, const std::string& step,
                               const AttemptFailed& fact, TimeMs at) {
  const std::string again =
      fact.retry_visible_at.has_value()
          ? "; retry in " + duration_text(fact.retry_visible_at->value - at.value)
          : "; no retry";
  add_line_(run, step + " fails: " + error_text(fact.error) + again);
}

void UserStory::applied(const std::string& run, const std::string& step,
                        const RunnableApplied& fact, const TransitionTaken& transition, bool failed,
                        bool deferred) {
  if (deferred) {
    add_line_(run, step + " defers itself");
  } else if (failed) {
    add_line_(run, step + " failed" + (is_item(step) ? "" : transition_text(transition)));
  } else {
    add_line_(run, step + " is done" + (fact.result.empty() ? "" : ": " + shown(fact.result)) +
                       transition_text(transition));
  }
}

void UserStory::pauses(const std::string& run, const ManualStepPaused& fact) {
  add_line_(run, "waits for " + std::string(to_text(fact.kind)) + " " + fact.step.str());
}

void UserStory::resolved(const std::string& run, const ManualStepResolved& fact) {
  add_line_(run, fact.step.str() + " is " + std::string(to_text(fact.action)));
}

void UserStory::waits(const std::string& run, const ExternalEventWaitOpened& fact) {
  const std::string until =
      fact.timeout.has_value()
          ? ", at most " + duration_text(static_cast<std::int64_t>(fact.timeout->after))
          : "";
  const std::string names = event_names(fact);
  awaited_[run + " " + fact.wait_id.str()] = names;
  add_line_(run, "waits at " + fact.step.str() + " for event " + names + until);
}

void UserStory::wait_ended(const std::string& run, const ExternalEventWaitResolved& fact) {
  add_line_(run, fact.action == WaitAction::timed_out
                     ? fact.step.str() + ": event " + awaited_[run + " " + fact.wait_id.str()] +
                           " did not arrive in time"
                     : fact.step.str() + ": event " + fact.event.str() + " arrived");
}

void UserStory::buffered(const std::string& run, const ExternalEventBuffered& fact) {
  add_line_(run, "event " + fact.event.str() + " is buffered: no step waits for it yet");
}

void UserStory::withdrawn(const std::string& run, const std::string& step) {
  add_line_(run, step + " is withdrawn");
}

void UserStory::child(const std::string& run, const ChildRunStarted& fact) {
  add_line_(run, fact.origin.step.str() + " starts a child run of " + fact.child_workflow.str());
}

void UserStory::compensates(const std::string& run, const CompensationStarted& fact) {
  add_line_(run, "compensates, and will end as " + std::string(to_text(fact.outcome)) +
                     (fact.error.empty() ? "" : ": " + error_text(fact.error)));
}

void UserStory::ends(const std::string& run, const RunTerminal& fact) {
  add_line_(run, "ends as " + std::string(to_text(fact.status)) +
                     (fact.error.empty() ? "" : ": " + error_text(fact.error)));
}

void UserStory::process_changed(const std::string& process, bool up, const std::string& why) {
  const std::string name = "process " + process.substr(1);
  add_line_("", up ? name + " starts again" : name + " stops: " + one_line(why, 100));
}

// Other faults appear in the story by their effects.
void UserStory::fault_injected(Act act) {
  if (act == Act::stall) {
    add_line_("", "a process stalls for a while");
  } else if (act == Act::clock_jump) {
    add_line_("", "the clock of a process jumps");
  } else if (act == Act::slow_disk) {
    add_line_("", "a disk becomes slow");
  } else if (act == Act::io_error || act == Act::disk_full || act == Act::busy) {
    add_line_("", "the store of a process is about to fail");
  } else if (act == Act::start_again) {
    add_line_("", "a client repeats the start of a run");
  }
}

}  // namespace holdfast::sim
