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

std::string way_text(const TransitionTaken& way) {
  return way.to.empty() ? "" : "; next: " + way.to.str();
}

}  // namespace

void UserStory::run_started(const std::string& run, const RunStarted& fact) {
  tell_(run, "starts: workflow " + fact.workflow.str() + ", input " + shown(fact.input));
}

void UserStory::begins(const std::string& run, const Assignment& attempt, int time, bool never,
                       std::int64_t late_us) {
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
  tell_(run, line);
}

void UserStory::executed(const std::string& run, const Assignment& attempt,
                         const HandlerAnswer& answer, Execution how, bool done) {
  const std::string step = attempt.step.str() + attempt_text(attempt);
  if (how != Execution::reports) {
    tell_(run, step + ": the worker dies" + (how == Execution::dies ? "" : " with its process") +
                   ", " + (done ? "the effect happened" : "the effect did not happen") + ", and it is not reported");
    return;
  }
  if (const auto* failure = std::get_if<Failure>(&answer.outcome)) {
    tell_(run, step + ": the handler returns " + error_text(failure->error) +
                   (done ? ", but the effect happened" : ""));
    return;
  }
  tell_(run, step + ": the handler returns ok " +
                 shown(std::get<Completion>(answer.outcome).result) +
                 (done ? "" : ", but the effect did not happen"));
}

void UserStory::reported(const std::string& run, const Assignment& attempt, const Reply& reply) {
  const std::string step = attempt.step.str() + attempt_text(attempt);
  if (reply.in_doubt()) {
    tell_(run, step + ": the worker gets no reply to its report");
  } else if (!reply.ok()) {
    tell_(run, step + ": the report is too late and is refused (" + reply.code + ")");
  }
}

void UserStory::attempt_failed(const std::string& run, const std::string& step,
                               const AttemptFailed& fact, TimeMs at) {
  const std::string again =
      fact.retry_visible_at.has_value()
          ? "; retry in " + duration_text(fact.retry_visible_at->value - at.value)
          : "; no retry";
  tell_(run, step + " fails: " + error_text(fact.error) + again);
}

void UserStory::applied(const std::string& run, const std::string& step,
                        const RunnableApplied& fact, const TransitionTaken& way, bool failed,
                        bool deferred) {
  if (deferred) {
    tell_(run, step + " defers itself");
  } else if (failed) {
    tell_(run, step + " has failed" + (is_item(step) ? "" : way_text(way)));
  } else {
    tell_(run, step + " is done" + (fact.result.empty() ? "" : ": " + shown(fact.result)) +
                   way_text(way));
  }
}

void UserStory::pauses(const std::string& run, const ManualStepPaused& fact) {
  tell_(run, "waits for " + std::string(to_text(fact.kind)) + " " + fact.step.str());
}

void UserStory::resolved(const std::string& run, const ManualStepResolved& fact) {
  tell_(run, fact.step.str() + " is " + std::string(to_text(fact.action)));
}

void UserStory::waits(const std::string& run, const ExternalEventWaitOpened& fact) {
  const std::string until =
      fact.timeout.has_value()
          ? ", for " + duration_text(static_cast<std::int64_t>(fact.timeout->after)) + " at most"
          : "";
  const std::string names = event_names(fact);
  awaited_[run + " " + fact.wait_id.str()] = names;
  tell_(run, "waits at " + fact.step.str() + " for event " + names + until);
}

void UserStory::wait_over(const std::string& run, const ExternalEventWaitResolved& fact) {
  tell_(run, fact.action == WaitAction::timed_out
                 ? fact.step.str() + ": event " + awaited_[run + " " + fact.wait_id.str()] +
                       " did not arrive in time"
                 : fact.step.str() + ": event " + fact.event.str() + " arrived");
}

void UserStory::buffered(const std::string& run, const ExternalEventBuffered& fact) {
  tell_(run, "event " + fact.event.str() + " is buffered: no step waits for it yet");
}

void UserStory::withdrawn(const std::string& run, const std::string& step) {
  tell_(run, step + " is withdrawn");
}

void UserStory::child(const std::string& run, const ChildRunStarted& fact) {
  tell_(run, fact.origin.step.str() + " starts a child run of " + fact.child_workflow.str());
}

void UserStory::compensates(const std::string& run, const CompensationStarted& fact) {
  tell_(run, "compensates, and will end as " + std::string(to_text(fact.outcome)) +
                 (fact.error.empty() ? "" : ": " + error_text(fact.error)));
}

void UserStory::ends(const std::string& run, const RunTerminal& fact) {
  tell_(run, "ends as " + std::string(to_text(fact.status)) +
                 (fact.error.empty() ? "" : ": " + error_text(fact.error)));
}

void UserStory::process_changed(const std::string& process, bool up, const std::string& why) {
  const std::string name = "process " + process.substr(1);
  tell_("", up ? name + " starts again" : name + " stops: " + one_line(why, 100));
}

// Other faults appear in the story by their effects.
void UserStory::strikes(Act act) {
  if (act == Act::stall) {
    tell_("", "a process stalls for a while");
  } else if (act == Act::clock_jump) {
    tell_("", "the clock of a process jumps");
  } else if (act == Act::slow_disk) {
    tell_("", "a disk becomes slow");
  } else if (act == Act::io_error || act == Act::disk_full || act == Act::busy) {
    tell_("", "the store of a process is about to fail");
  } else if (act == Act::start_again) {
    tell_("", "a client repeats the start of a run");
  }
}

}  // namespace holdfast::sim
