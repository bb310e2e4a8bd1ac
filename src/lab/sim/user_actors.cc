#include "lab/sim/user_actors.h"

#include <algorithm>

#include "lab/sim/sim_clients.h"
#include "lab/sim/simulation.h"
#include "runs/facts/activation.h"
#include "runs/view/view_words.h"

namespace holdfast::sim {

namespace {

bool awaits(const Definition& definition, const std::string& event) {
  return std::any_of(definition.steps().begin(), definition.steps().end(), [&](const Step& step) {
    return step.spec.await_event.has_value() &&
           std::any_of(step.spec.await_event->any_of.begin(), step.spec.await_event->any_of.end(),
                       [&](const EventSpec& one) { return one.event.view() == event; });
  });
}

}  // namespace

void UserActors::act_later(std::int64_t delay_us, const std::function<void()>& what) {
  last_due_us_ = std::max(last_due_us_, simulation_.schedule().now_us() + delay_us);
  simulation_.schedule().after(delay_us, what);
}

void UserActors::run_started(const RunRecord& run) {
  const Dice own = dice_.about(to_string(run.id));
  const auto& cancel = setting_.world.cancel;
  const bool first = run.workflow == setting_.workflows.front()->workflow().view();
  if (cancel.has_value() && first && own.chance(cancel->chance, "cancel")) {
    act_later(cancel->after.draw(own, "cancel after"), [this, run, own, how = cancel->how] {
      simulation_.add_story(run.label, "a client cancels the run");
      simulation_.clients().cancel(run.id, how, own.about("cancel"));
    });
  }
  for (std::size_t i = 0; i < setting_.world.events.size(); ++i) {
    const EventSource& source = setting_.world.events[i];
    const bool wanted = std::any_of(
        setting_.workflows.begin(), setting_.workflows.end(), [&](const auto& definition) {
          return definition->workflow().view() == run.workflow && awaits(*definition, source.event);
        });
    if (source.since == EventSince::start && wanted) {
      send(run, source, source.correlation, "start-" + std::to_string(i));
    }
  }
}

void UserActors::send(const RunRecord& run, const EventSource& source,
                      const std::string& correlation, const std::string& key) {
  const Dice own = dice_.about(to_string(run.id)).about(source.event).about(key);
  if (!own.chance(source.chance, "comes")) {
    return;
  }
  SendEvent event;
  event.event = source.event;
  event.correlation = correlation;
  event.payload = source.payloads.empty()
                      ? Payload::trusted("{}")
                      : source.payloads[own.below(source.payloads.size(), "payload")];
  event.source.idempotency_key = source.event + "-" + key;
  act_later(source.after.draw(own, "after"), [this, run, event, own] {
    simulation_.add_story(run.label, "event " + event.event.str() +
                                         " is sent: " + one_line(event.payload.view(), 100));
    simulation_.clients().send_event(run.id, event, own);
  });
}

void UserActors::run_waits(const RunRecord& run, const ExternalEventWaitOpened& at) {
  const auto send_one = [&](const std::string& event, const std::string& correlation) {
    bool declared = false;
    for (std::size_t i = 0; i < setting_.world.events.size(); ++i) {
      const EventSource& source = setting_.world.events[i];
      declared = declared || source.event == event;
      if (source.event == event && source.since == EventSince::wait) {
        send(run, source, correlation, at.wait_id.str() + "-" + std::to_string(i));
      }
    }
    if (!declared) {
      EventSource source;
      source.event = event;
      send(run, source, correlation, at.wait_id.str());
    }
  };
  send_one(at.event.str(), at.correlation.str());
  for (const AwaitedEvent& other : at.others) {
    send_one(other.event.str(), other.correlation.str());
  }
}

namespace {

// approve stands for a retry of a parked step, reject for its end.
ManualAction action_for(ManualKind kind, bool approves) {
  switch (kind) {
    case ManualKind::pause:
      return approves ? ManualAction::resumed : ManualAction::rejected;
    case ManualKind::approval:
      return approves ? ManualAction::approved : ManualAction::rejected;
    case ManualKind::parked:
      break;
  }
  return approves ? ManualAction::retried : ManualAction::discarded;
}

}  // namespace

void UserActors::run_pauses(const RunRecord& run, const ManualStepPaused& at) {
  constexpr std::uint32_t kMaxRetries = 3;  // retries of a parked step that nothing is declared for
  const std::string step(parse_activation(at.step.view()).step);
  const auto found = setting_.world.decisions.find(step);
  const Decider decider = found == setting_.world.decisions.end() ? Decider{} : found->second;
  const Dice own =
      dice_.about(to_string(run.id)).about(at.step.view()).about(at.runnable_key.view());
  const std::uint64_t luck =
      own.below(decider.approve + decider.reject + decider.never, "decision");
  if (luck >= decider.approve + decider.reject) {
    return;
  }
  const bool gives_up = found == setting_.world.decisions.end() && at.kind == ManualKind::parked &&
                        ++parked_[{run.id, at.step}] > kMaxRetries;
  const ManualAction action = action_for(at.kind, luck < decider.approve && !gives_up);
  act_later(decider.after.draw(own, "after"), [this, run, own, action, name = at.step.str()] {
    simulation_.clients().resolve(run.id, name, action, own);
  });
}

}  // namespace holdfast::sim
