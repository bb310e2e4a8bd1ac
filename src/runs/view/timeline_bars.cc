#include "runs/view/timeline_bars.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "runs/facts/activation.h"
#include "runs/run/error_origin.h"
#include "runs/run/event_names.h"
#include "runs/run/run_projection.h"
#include "runs/view/view_words.h"

namespace holdfast {

namespace {

void end(Work& work, TimeMs at, std::string_view outcome) {
  if (!work.ended.has_value()) {
    work.ended = at;
    work.outcome = outcome;
  }
}

Work::By who(const SharedText& handler, bool is_timeout) {
  if (is_timeout) {
    return Work::By::timeout;
  }
  if (handler.view() == kEngineHandler) {
    return Work::By::engine;
  }
  return handler.view() == kTimerHandler ? Work::By::timer : Work::By::worker;
}

// A failure or a timeout may also take a route.
std::string_view outcome_of(const Payload& transition) {
  return transition_of(transition).on == RouteOn::ok ? "completed" : "failed";
}

std::string_view outcome_of(ManualAction action) {
  switch (action) {
    case ManualAction::resumed:
    case ManualAction::approved:
      return "completed";
    case ManualAction::retried:
      return "retried";
    case ManualAction::rejected:
    case ManualAction::discarded:
      break;
  }
  return "failed";
}

TimelineBar bar_of(const Work& work) {
  TimelineBar bar;
  bar.step = work.step.str();
  bar.runnable_key = work.runnable_key.str();
  bar.attempt = work.attempt;
  bar.scheduled_at = work.scheduled_at;
  bar.visible_at = work.visible_at;
  bar.started_at = work.began;
  bar.ended_at = work.ended;
  bar.status = work.outcome;
  return bar;
}

// Work that no worker has claimed, or that the engine does.
TimelineBar whole_bar(const Work& work, TimeMs now) {
  TimelineBar bar = bar_of(work);
  if (work.ended.has_value()) {
    return bar;
  }
  const bool later = work.visible_at > now;
  if (work.by == Work::By::worker) {
    bar.status = later ? "scheduled" : "waiting";
  } else if (!work.waits_as.empty()) {
    bar.status = work.waits_as;
  } else {
    bar.status =
        work.by == Work::By::timer || (later && !work.began.has_value()) ? "scheduled" : "running";
  }
  return bar;
}

// One for each claim. The attempt of a lost worker becomes visible again when its lease expires.
void add_held_bars(std::vector<TimelineBar>& bars, const Work& work, TimeMs now) {
  TimeMs visible_at = work.visible_at;
  for (std::size_t i = 0; i < work.holdings.size(); ++i) {
    const Holding& holding = work.holdings[i];
    const bool last = i + 1 == work.holdings.size();
    TimelineBar& bar = bars.emplace_back(bar_of(work));
    bar.visible_at = visible_at;
    bar.started_at = holding.from;
    bar.owner = holding.owner.str();
    if (last && !work.ended.has_value() && holding.lease_until > now) {
      bar.status = "running";
    } else if (!last || !work.ended.has_value()) {
      bar.status = "expired";
      bar.ended_at = holding.lease_until;
    }
    visible_at = holding.lease_until;
  }
}

}  // namespace

namespace {

// What a log step says, from the input of its plan.
std::string log_text(const Payload& input) {
  const auto read = from_json<LogSpec>(input.view());
  if (!read.ok()) {
    return "";
  }
  const LogSpec& line = read.value();
  return one_line(line.level == LogLevel::info
                      ? line.message.str()
                      : fmt::format("{}: {}", to_text(line.level), line.message.view()));
}

}  // namespace

class RunFactTaker {
 public:
  RunFactTaker(TimelineBars& bars, TimeMs at) : bars_(bars), at_(at) {}

  void operator()(const RunnablesPlanned& fact) const {
    for (const Runnable& plan : fact.runnables) {
      Work* known = bars_.edit(plan.runnable_key.view());
      if (known != nullptr && known->planned) {
        continue;  // the first plan of a key wins
      }
      Work& work = known == nullptr ? bars_.add(plan.runnable_key, plan.step) : *known;
      work.planned = true;
      work.attempt = plan.attempt_number;
      work.by = who(plan.handler, plan.is_timer());
      work.scheduled_at = known == nullptr ? at_ : work.scheduled_at;
      work.visible_at = plan.visible_at;
      work.says = bars_.is_log_step(plan.step.view()) ? log_text(plan.input) : std::string();
      if (work.by == Work::By::timer || (work.by == Work::By::engine && plan.visible_at <= at_)) {
        work.began = at_;
      }
      if (work.by != Work::By::timeout) {
        bars_.by_step_[plan.step] = bars_.by_key_[plan.runnable_key];
      }
    }
  }
  void operator()(const RunnableApplied& fact) const {
    if (Work* work = bars_.edit(fact.runnable_key.view())) {
      if (work->by == Work::By::engine && !work->began.has_value()) {
        work->began = std::max(work->scheduled_at, work->visible_at);
      }
      const std::string_view outcome = outcome_of(fact.transition);
      end(*work, fact.applied_at.value_or(at_), outcome);
      if (outcome == "failed" && is_item(work->step.view())) {
        bars_.failed_item_ = work->step;
      }
    }
  }
  void operator()(const RunnablesWithdrawn& fact) const {
    for (const SharedText& key : fact.runnable_keys) {
      if (Work* work = bars_.edit(key.view())) {
        end(*work, at_, "withdrawn");
        bars_.resolve(work->step, at_, "withdrawn");
      }
    }
  }
  void operator()(const ChildRunStarted& fact) const {
    Work* work = bars_.edit(fact.origin.runnable_key.view());
    if (work == nullptr || work->by != Work::By::engine) {
      return;
    }
    if (!work->began.has_value()) {
      work->began = at_;
    }
  }
  void operator()(const ManualStepPaused& fact) const {
    bars_.pause(fact.step, bars_.newest(fact.step.view()), fact.paused_at.value_or(at_));
    if (fact.kind == ManualKind::parked) {
      bars_.works_[bars_.pauses_.at(fact.step)].waits_as = "parked";
    }
  }
  void operator()(const ManualStepResolved& fact) const {
    bars_.resolve(fact.step, at_, outcome_of(fact.action));
  }
  void operator()(const ExternalEventWaitOpened& fact) const {
    Work* const work = bars_.edit(fact.wait_id.view());
    if (work != nullptr) {
      work->awaits = event_names(fact);
    }
    bars_.pause(fact.step, work, fact.opened_at);
  }
  void operator()(const ExternalEventWaitResolved& fact) const {
    bars_.resolve(fact.step, at_, fact.action == WaitAction::timed_out ? "failed" : "completed");
  }
  // The run waits where the new definition says, and nowhere else.
  void operator()(const RunDefinitionMigrated& fact) const {
    if (fact.manual_state.empty()) {
      return;  // the run waits where it waited
    }
    const auto state = from_json<ManualState>(fact.manual_state.view());
    const auto pauses = bars_.pauses_;
    for (const auto& [step, index] : pauses) {
      if (!state.ok() || step != state.value().step) {
        bars_.resolve(step, at_, "withdrawn");
      }
    }
    if (state.ok() && !bars_.pauses_.contains(state.value().step)) {
      bars_.pause(state.value().step, nullptr, at_);
    }
  }
  void operator()(const RunTerminal& fact) const {
    const std::string failed = failed_step(fact.error);
    for (Work& work : bars_.works_) {
      const bool ended_it = !failed.empty() && work.step.view() == failed;
      end(work, at_, ended_it ? "failed" : "abandoned");
    }
    bars_.pauses_.clear();
  }
  void operator()(const RunSignalReceived& /*fact*/) const {}
  void operator()(const RunStarted& /*fact*/) const {}
  void operator()(const DynamicGraphMutated& /*fact*/) const {}
  void operator()(const RunContinuationRequested& /*fact*/) const {}
  void operator()(const RunContinuedFrom& /*fact*/) const {}
  void operator()(const ExternalEventReceived& /*fact*/) const {}
  void operator()(const ExternalEventWaitTimeoutSelected& /*fact*/) const {}
  void operator()(const SearchAttributesUpdated& /*fact*/) const {}
  void operator()(const RunArchived& /*fact*/) const {}
  void operator()(const RunUnarchived& /*fact*/) const {}
  void operator()(const DeadLetterResolved& /*fact*/) const {}
  void operator()(const ExternalEventBuffered& /*fact*/) const {}
  void operator()(const CompensationStarted& /*fact*/) const {}
  void operator()(const StepsAdopted& /*fact*/) const {}

 private:
  // The step whose failure ended the run, if the error names it. The error of an item names the
  // item.
  [[nodiscard]] std::string failed_step(const Payload& error) const {
    const ErrorOrigin origin = error_origin(error);
    return origin.of_item ? std::string(without_item(bars_.failed_item_.view()))
                          : origin.step.value_or("");
  }

  TimelineBars& bars_;
  TimeMs at_;
};

class DispatchFactTaker {
 public:
  DispatchFactTaker(TimelineBars& bars, TimeMs at) : bars_(bars), at_(at) {}

  void operator()(const AttemptScheduled& fact) const {
    if (bars_.find(fact.runnable_key.view()) != nullptr) {
      return;
    }
    Work& work = bars_.add(fact.runnable_key, fact.step);
    work.attempt = fact.attempt_number;
    work.by = who(fact.handler, !fact.event_wait_timeout.empty());
    work.scheduled_at = at_;
    work.visible_at = fact.visible_at;
  }
  void operator()(const AttemptClaimed& fact) const {
    Work* work = bars_.edit(fact.runnable_key.view());
    const bool is_free = work != nullptr && !work->ended.has_value() &&
                         (work->holdings.empty() || work->holdings.back().lease_until <= at_);
    if (is_free) {
      work->holdings.push_back({fact.owner_id, fact.claim_id, at_, fact.lease_until});
    }
  }
  void operator()(const AttemptHeartbeat& fact) const {
    if (Work* work = held(fact.runnable_key, fact.claim_id)) {
      work->holdings.back().lease_until = fact.lease_until;
    }
  }
  void operator()(const AttemptCompleted& fact) const {
    if (Work* work = held(fact.runnable_key, fact.claim_id)) {
      end(*work, at_, "completed");
    }
  }
  void operator()(const AttemptFailed& fact) const {
    Work* work = held(fact.runnable_key, fact.claim_id);
    if (work == nullptr) {
      return;
    }
    end(*work, at_, "failed");
    if (fact.retry_visible_at.has_value() &&
        bars_.find(fact.retry_runnable_key.view()) == nullptr) {
      const SharedText step = work->step;
      const std::uint32_t attempt = work->attempt + 1;
      Work& retry = bars_.add(fact.retry_runnable_key, step);
      retry.attempt = attempt;
      retry.scheduled_at = at_;
      retry.visible_at = *fact.retry_visible_at;
    }
  }
  void operator()(const RunQueued& /*fact*/) const {}
  void operator()(const LiveWakeupEmitted& /*fact*/) const {}
  void operator()(const CircuitOpened& /*fact*/) const {}
  void operator()(const CircuitProbed& /*fact*/) const {}
  void operator()(const CircuitClosed& /*fact*/) const {}
  void operator()(const CircuitReset& /*fact*/) const {}

 private:
  // By that claim, now.
  [[nodiscard]] Work* held(const SharedText& runnable_key, const SharedText& claim_id) const {
    Work* work = bars_.edit(runnable_key.view());
    const bool holds = work != nullptr && !work->ended.has_value() && !work->holdings.empty() &&
                       work->holdings.back().claim_id == claim_id &&
                       work->holdings.back().lease_until > at_;
    return holds ? work : nullptr;
  }

  TimelineBars& bars_;
  TimeMs at_;
};

bool TimelineBars::is_log_step(std::string_view step) const {
  const auto index = definition_ == nullptr ? std::nullopt : definition_->find(step);
  return index.has_value() && definition_->steps()[*index].kind == StepKind::log;
}

void TimelineBars::take(TimeMs at, const RunFact& fact) {
  std::visit(RunFactTaker(*this, at), fact);
}

void TimelineBars::take(TimeMs at, const DispatchFact& fact) {
  std::visit(DispatchFactTaker(*this, at), fact);
}

const Work* TimelineBars::find(std::string_view runnable_key) const {
  const auto found = by_key_.find(SharedText(runnable_key));
  return found == by_key_.end() ? nullptr : &works_[found->second];
}

Work* TimelineBars::edit(std::string_view runnable_key) {
  const auto found = by_key_.find(SharedText(runnable_key));
  return found == by_key_.end() ? nullptr : &works_[found->second];
}

Work& TimelineBars::add(const SharedText& runnable_key, const SharedText& step) {
  by_key_.emplace(runnable_key, works_.size());
  Work& work = works_.emplace_back();
  work.runnable_key = runnable_key;
  work.step = step;
  return work;
}

Work* TimelineBars::newest(std::string_view step) {
  const auto found = by_step_.find(SharedText(step));
  return found == by_step_.end() ? nullptr : &works_[found->second];
}

void TimelineBars::pause(const SharedText& step, Work* work, TimeMs at) {
  // A step of a worker may wait for an operator once its result is part of the run.
  if (work == nullptr || work->by != Work::By::engine || work->ended.has_value()) {
    const SharedText key = work == nullptr ? SharedText() : work->runnable_key;
    const std::uint32_t attempt = work == nullptr ? 1 : work->attempt;
    work = &works_.emplace_back();
    work->runnable_key = key;
    work->step = step;
    work->attempt = attempt;
    work->by = Work::By::engine;
    work->scheduled_at = at;
    work->visible_at = at;
  }
  work->began = at;
  work->waits_as = "paused";
  pauses_[step] = static_cast<std::size_t>(work - works_.data());
}

void TimelineBars::resolve(const SharedText& step, TimeMs at, std::string_view outcome) {
  const auto found = pauses_.find(step);
  if (found != pauses_.end()) {
    end(works_[found->second], at, outcome);
    pauses_.erase(found);
  }
}

std::vector<TimelineBar> TimelineBars::bars(TimeMs now) const {
  std::vector<TimelineBar> bars;
  for (const Work& work : works_) {
    if (work.by == Work::By::timeout) {
      continue;
    }
    if (work.holdings.empty() || work.by != Work::By::worker) {
      bars.push_back(whole_bar(work, now));
    } else {
      add_held_bars(bars, work, now);
    }
  }
  const auto began = [](const TimelineBar& bar) { return bar.started_at.value_or(bar.visible_at); };
  std::stable_sort(bars.begin(), bars.end(),
                   [&](const TimelineBar& left, const TimelineBar& right) {
                     return began(left) < began(right);
                   });
  return bars;
}

}  // namespace holdfast
