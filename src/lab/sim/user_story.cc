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
  return way.to.empty() ? "" : "; it goes on to " + way.to.str();
}

}  // namespace

void UserStory::run_started(const std::string& run, const RunStarted& fact) {
  tell_(run, "starts: workflow " + fact.workflow.str() + ", input " + shown(fact.input));
}

void UserStory::begins(const std::string& run, const Assignment& attempt, int time, bool never,
                       std::int64_t late_us) {
  std::string line = attempt.step.str() + attempt_text(attempt) + ": a worker begins";
  if (time > 1) {
    line += ", for the " + std::to_string(time) +
            (time == 2   ? "nd"
             : time == 3 ? "rd"
                         : "th") +
            " time: nobody heard of the one before it";
  }
  if (never) {
    line += ", and hangs";
  } else if (late_us > 0) {
    line += ", and stands still for " + duration_text(late_us / 1000);
  }
  tell_(run, line);
}

void UserStory::executed(const std::string& run, const Assignment& attempt,
                         const HandlerAnswer& answer, Execution how, bool done) {
  const std::string step = attempt.step.str() + attempt_text(attempt);
  if (how != Execution::reports) {
    tell_(run, step + ": its worker dies" + (how == Execution::dies ? "" : " with its process") +
                   ", " + (done ? "it was done" : "it was not done") + ", and nobody hears of it");
    return;
  }
  if (const auto* failure = std::get_if<Failure>(&answer.outcome)) {
    tell_(run, step + ": the handler answers " + error_text(failure->error) +
                   (done ? ", but it was really done" : ""));
    return;
  }
  tell_(run, step + ": the handler answers ok " +
                 shown(std::get<Completion>(answer.outcome).result) +
                 (done ? "" : ", but it was not done"));
}

void UserStory::reported(const std::string& run, const Assignment& attempt, const Reply& reply) {
  const std::string step = attempt.step.str() + attempt_text(attempt);
  if (reply.in_doubt()) {
    tell_(run, step + ": the worker does not learn whether its report arrived");
  } else if (!reply.ok()) {
    tell_(run, step + ": the report comes too late and is refused (" + reply.code + ")");
  }
}

void UserStory::attempt_failed(const std::string& run, const std::string& step,
                               const AttemptFailed& fact, TimeMs at) {
  const std::string again =
      fact.retry_visible_at.has_value()
          ? "; it is tried again in " + duration_text(fact.retry_visible_at->value - at.value)
          : "; it is not tried again";
  tell_(run, step + " fails: " + error_text(fact.error) + again);
}

void UserStory::applied(const std::string& run, const std::string& step,
                        const RunnableApplied& fact, const TransitionTaken& way, bool failed,
                        bool deferred) {
  if (deferred) {
    tell_(run, step + " asks to be tried again later");
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
                       " has not come in time"
                 : fact.step.str() + ": event " + fact.event.str() + " has come");
}

void UserStory::buffered(const std::string& run, const ExternalEventBuffered& fact) {
  tell_(run, "event " + fact.event.str() + " is kept: nothing waits for it now");
}

void UserStory::withdrawn(const std::string& run, const std::string& step) {
  tell_(run, step + " is given up");
}

void UserStory::child(const std::string& run, const ChildRunStarted& fact) {
  tell_(run, fact.origin.step.str() + " starts a run of " + fact.child_workflow.str());
}

void UserStory::compensates(const std::string& run, const CompensationStarted& fact) {
  tell_(run, "goes back, and will end " + std::string(to_text(fact.outcome)) +
                 (fact.error.empty() ? "" : ": " + error_text(fact.error)));
}

void UserStory::ends(const std::string& run, const RunTerminal& fact) {
  tell_(run, "ends " + std::string(to_text(fact.status)) +
                 (fact.error.empty() ? "" : ": " + error_text(fact.error)));
}

void UserStory::process_changed(const std::string& process, bool up, const std::string& why) {
  const std::string name = "process " + process.substr(1);
  tell_("", up ? name + " comes up again" : name + " goes down: " + one_line(why, 100));
}

// Those that only processes notice are told by what becomes of them.
void UserStory::strikes(Act act) {
  if (act == Act::stall) {
    tell_("", "a process stands still for a while");
  } else if (act == Act::clock_jump) {
    tell_("", "the clock of a process jumps");
  } else if (act == Act::slow_disk) {
    tell_("", "a disk becomes slow");
  } else if (act == Act::io_error || act == Act::disk_full || act == Act::busy) {
    tell_("", "a process is about to fail with its store");
  } else if (act == Act::start_again) {
    tell_("", "a client starts a run once more");
  }
}

}  // namespace holdfast::sim
