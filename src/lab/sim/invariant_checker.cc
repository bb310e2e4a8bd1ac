#include "lab/sim/invariant_checker.h"

#include <algorithm>

#include "runs/facts/activation.h"
#include "runs/view/view_words.h"

namespace holdfast::sim {

namespace {

// Invariants whose violation is certain when it happens, whatever comes later.
bool is_checked_at_once(Invariant::Kind kind) {
  return kind == Invariant::Kind::needs || kind == Invariant::Kind::never_both ||
         kind == Invariant::Kind::at_most || kind == Invariant::Kind::never;
}

bool is_checked_at_end(Invariant::Kind kind) {
  return kind == Invariant::Kind::ends || kind == Invariant::Kind::ends_within ||
         kind == Invariant::Kind::at_end;
}

bool depends_on_end(const Invariant& invariant) {
  return !invariant.if_run.empty() || invariant.when.has_value();
}

std::string did(const Invariant& invariant) {
  return invariant.as == Invariant::As::executed ? " was executed" : " was done";
}

std::string either(const std::vector<std::string>& names) {
  std::string all;
  for (const std::string& name : names) {
    all += (all.empty() ? "" : " or ") + name;
  }
  return all;
}

}  // namespace

InvariantChecker::InvariantChecker(const Workflows& workflows, const UserWorld& world,
                                   Report report_violation)
    : world_(world), report_(std::move(report_violation)) {
  for (const auto& definition : workflows) {
    for (const Step& step : definition->steps()) {
      if (step.kind == StepKind::handler || step.kind == StepKind::exec ||
          step.kind == StepKind::http) {
        executed_.insert(step.name.str());
      }
      executed_.insert("compensate:" + step.name.str());
      if (step.spec.compensate.has_value()) {
        compensated_[definition->workflow().str() + "/" + step.name.str()] =
            step.spec.for_each.has_value();
      }
    }
  }
}

bool InvariantChecker::applies_to(const Invariant& invariant, const RunRecord& run) const {
  if (invariant.workflow != run.workflow) {
    return false;
  }
  if (!invariant.if_run.empty() &&
      (!run.ended.has_value() || !invariant.if_run.contains(*run.ended))) {
    return false;
  }
  return !invariant.when.has_value() || invariant.when->matches(ObjectView(run.context));
}

// A step that no worker executes is done when it is applied to the run.
bool InvariantChecker::counts(const Invariant& invariant, const RunRecord::Done& done,
                              const std::string& step) const {
  const bool executed = invariant.as == Invariant::As::executed && executed_.contains(step);
  // Items of a list are parts of their step, but they are compensated one by one.
  const bool whole = done.item.empty() || is_compensation(step);
  return done.step == step &&
         done.as == (executed ? Invariant::As::executed : Invariant::As::applied) &&
         (executed || whole);
}

void InvariantChecker::done(const RunRecord& run) {
  for (const Invariant& invariant : world_.invariants) {
    if (is_checked_at_once(invariant.kind) && !depends_on_end(invariant) &&
        applies_to(invariant, run)) {
      check_history(invariant, run, run.history.size() - 1);
    }
  }
}

void InvariantChecker::ended(const RunRecord& run) {
  for (const Invariant& invariant : world_.invariants) {
    if (is_checked_at_end(invariant.kind) && applies_to(invariant, run)) {
      check_end(invariant, run);
    }
  }
}

void InvariantChecker::simulation_ended(const RunRecord& run) {
  for (const Invariant& invariant : world_.invariants) {
    if (!applies_to(invariant, run) || is_checked_at_end(invariant.kind)) {
      continue;
    }
    if (is_checked_at_once(invariant.kind)) {
      for (std::size_t i = 0; depends_on_end(invariant) && i < run.history.size(); ++i) {
        check_history(invariant, run, i);
      }
    } else if (invariant.kind == Invariant::Kind::compensated) {
      check_compensation(invariant, run);
    } else {
      check_progress(invariant, run);
    }
  }
}

void InvariantChecker::check_history(const Invariant& invariant, const RunRecord& run,
                                     std::size_t at) {
  const RunRecord::Done& newest = run.history[at];
  const auto end = run.history.begin() + static_cast<std::ptrdiff_t>(at);
  const auto before = [&](const std::string& step) {
    return std::any_of(run.history.begin(), end,
                       [&](const auto& done) { return counts(invariant, done, step); });
  };
  if (invariant.kind == Invariant::Kind::never_both) {
    for (const std::string& step : invariant.others) {
      for (const std::string& other : invariant.others) {
        if (other != step && counts(invariant, newest, step) && before(other)) {
          report_(invariant, run,
                  step + did(invariant) + ", and " + other + did(invariant) + " too");
        }
      }
    }
    return;
  }
  if (!counts(invariant, newest, invariant.step)) {
    return;
  }
  if (invariant.kind == Invariant::Kind::never) {
    report_(invariant, run, invariant.step + did(invariant));
  } else if (invariant.kind == Invariant::Kind::needs &&
             std::none_of(invariant.others.begin(), invariant.others.end(), before)) {
    report_(
        invariant, run,
        invariant.step + did(invariant) + " without " + either(invariant.others) + " before it");
  } else if (invariant.kind == Invariant::Kind::at_most) {
    const auto times = static_cast<std::uint64_t>(
        1 + std::count_if(run.history.begin(), end, [&](const auto& done) {
          return counts(invariant, done, invariant.step) && done.item == newest.item;
        }));
    if (times > invariant.times) {
      report_(invariant, run,
              invariant.step + newest.item + did(invariant) + " " + std::to_string(times) +
                  (times == 1 ? " time" : " times"));
    }
  }
}

// Invariants that need something to happen before a run ends.
void InvariantChecker::check_progress(const Invariant& invariant, const RunRecord& run) {
  std::uint64_t times = 0;
  bool pending = false;
  for (const RunRecord::Done& done : run.history) {
    const bool step = counts(invariant, done, invariant.step);
    times += step ? 1 : 0;
    pending = pending || step;
    const bool follows =
        std::any_of(invariant.others.begin(), invariant.others.end(),
                    [&](const std::string& other) { return counts(invariant, done, other); });
    pending = pending && !follows;
  }
  if (!run.ended.has_value()) {
    return;
  }
  const std::string how = " (the run ended as " + std::string(to_text(*run.ended)) + ")";
  if (invariant.kind == Invariant::Kind::followed_by && pending) {
    report_(invariant, run,
            invariant.step + did(invariant) + " without " + either(invariant.others) + " after it" +
                how);
  } else if (invariant.kind == Invariant::Kind::at_least && times < invariant.times) {
    report_(invariant, run,
            invariant.step + did(invariant) + " " + std::to_string(times) +
                (times == 1 ? " time" : " times") + how);
  }
}

void InvariantChecker::check_compensation(const Invariant& invariant, const RunRecord& run) {
  if (!run.ended.has_value() ||
      (invariant.if_run.empty() && *run.ended != TerminalStatus::failed)) {
    return;
  }
  // The steps to compensate, by step and item; of a list its items, not the whole.
  std::set<std::string> pending;
  for (const RunRecord::Done& done : run.history) {
    const bool compensation = is_compensation(done.step);
    const std::string step = compensation ? done.step.substr(kCompensatePrefix.size()) : done.step;
    const auto lists = compensated_.find(run.workflow + "/" + step);
    if (lists == compensated_.end() || lists->second == done.item.empty()) {
      continue;
    }
    if (compensation && done.as == Invariant::As::applied) {
      pending.erase(step + done.item);
    } else if (!compensation && done.as == invariant.as) {
      pending.insert(step + done.item);
    }
  }
  for (const std::string& step : pending) {
    report_(invariant, run,
            step + did(invariant) + " without compensate:" + step + " after it (the run ended as " +
                std::string(to_text(*run.ended)) + ")");
  }
}

void InvariantChecker::check_end(const Invariant& invariant, const RunRecord& run) {
  if (invariant.kind == Invariant::Kind::ends && !invariant.ends.contains(*run.ended)) {
    report_(invariant, run, "the run ended as " + std::string(to_text(*run.ended)));
  } else if (invariant.kind == Invariant::Kind::ends_within &&
             run.ended_us - run.started_us > invariant.within_us) {
    report_(invariant, run,
            "the run ended after " + duration_text((run.ended_us - run.started_us) / 1000));
  } else if (invariant.kind == Invariant::Kind::at_end &&
             !invariant.condition->matches(ObjectView(run.context))) {
    report_(invariant, run, "the context at the end is " + run.context);
  }
}

}  // namespace holdfast::sim
