// Recovery: what other writers, or a crash between their commits, have left undone.
#include <algorithm>
#include <functional>

#include "runs/engine/step_chain.h"

namespace holdfast {

namespace {

// Pays one debt, or leaves everything as it was: what one run lacks must not hold up the others.
// An error is one of the store.
Result<bool> try_to_pay(Turn& turn, const std::function<Result<void>()>& pay) {
  const Turn::Mark mark = turn.mark();
  const Result<void> paid = pay();
  if (paid.ok()) {
    return true;
  }
  turn.roll_back_to(mark);
  const int exit_code = error_info(paid.error().code()).exit_code;
  if (exit_code == 3 || exit_code == 5) {
    return paid.error();
  }
  return false;
}

Result<void> schedule_planned(Turn& turn, const SharedText& key, const RunId& id) {
  HOLDFAST_TRY(RunProjection * run, turn.state().run(id));
  const PlannedRunnable* planned = run->find(key.view());
  if (run->is_terminal() || planned == nullptr || planned->applied) {
    return {};
  }
  const AttemptScheduled intent = intent_of(planned->plan, run->started()->workflow);
  HOLDFAST_TRY(const auto fact,
               decide_schedule(turn.state().queue(intent.queue), intent, turn.now()));
  return fact.has_value() ? turn.emit(intent.queue, *fact) : Result<void>();
}

// The attempt of a debt, if there is still something to do about it.
const Attempt* owed(Turn& turn, const SharedText& key, const SharedText& queue,
                    AttemptStatus status) {
  const Attempt* attempt = turn.state().queue(queue).find(key.view());
  const bool open = attempt != nullptr && attempt->status == status && !attempt->applied;
  return open ? attempt : nullptr;
}

std::pair<TimeMs, std::uint64_t> completion_of(Turn& turn, const SharedText& key,
                                               const SharedText& queue) {
  const Attempt* attempt = owed(turn, key, queue, AttemptStatus::completed);
  return attempt == nullptr ? std::pair(TimeMs{}, std::uint64_t{0})
                            : std::pair(attempt->outcome->at, attempt->order);
}

// With payloads that are too large for memory.
Result<Attempt> with_outcome(Turn& turn, const Attempt& attempt, const SharedText& queue) {
  Attempt whole = attempt;
  HOLDFAST_CHECK(turn.state().read_outcome(queue, *whole.outcome));
  return whole;
}

Result<void> apply_completed(Turn& turn, const SharedText& key, const SharedText& queue) {
  const Attempt* attempt = owed(turn, key, queue, AttemptStatus::completed);
  if (attempt == nullptr) {
    return {};
  }
  HOLDFAST_TRY(RunProjection * run, turn.state().run(attempt->run_id));
  if (run->is_terminal()) {
    return {};
  }
  if (run->definition() == nullptr) {
    return Error{ErrorCode::unknown_workflow, "the definition of the run is not known here"};
  }
  HOLDFAST_TRY(const Attempt whole, with_outcome(turn, *attempt, queue));
  HOLDFAST_TRY(const RunFacts facts,
               decide_apply(*run, whole, EngineSurroundings(turn), turn.now()));
  return emit_with_attempts(turn, attempt->run_id, facts);
}

Result<void> progress_failed(Turn& turn, const SharedText& key, const SharedText& queue) {
  const Attempt* attempt = owed(turn, key, queue, AttemptStatus::failed);
  if (attempt == nullptr) {
    return {};
  }
  HOLDFAST_TRY(RunProjection * run, turn.state().run(attempt->run_id));
  if (run->is_terminal()) {
    return {};
  }
  std::optional<PlannedRetry> retry;
  for (const Attempt* other : turn.state().queue(queue).attempts_of(attempt->run_id)) {
    if (other->step == attempt->step && other->attempt_number == attempt->attempt_number + 1) {
      retry = PlannedRetry{other->runnable_key, other->idempotency_key, other->visible_at};
    }
  }
  HOLDFAST_TRY(const Attempt whole, with_outcome(turn, *attempt, queue));
  HOLDFAST_TRY(const RunFacts facts, decide_after_failure(*run, whole, whole.outcome->error, retry,
                                                          EngineSurroundings(turn), turn.now()));
  return emit_with_attempts(turn, attempt->run_id, facts);
}

Result<void> start_missing_child(Turn& turn, const ChildRunStarted& link) {
  HOLDFAST_TRY(const bool exists, turn.state().run_exists(link.child_run_id));
  if (exists) {
    return {};
  }
  if (link.input.empty()) {
    return Error{ErrorCode::missing_fields, "the link does not say what the child was to do"};
  }
  HOLDFAST_TRY(const auto definition,
               link.child_definition_fingerprint.empty()
                   ? current_definition(turn, link.child_workflow.view())
                   : turn.definitions().pinned(link.child_definition_fingerprint));
  HOLDFAST_TRY(const Started started,
               start_run(turn, start_of_child(link, definition), IdOrigin::given));
  static_cast<void>(started);
  return {};
}

constexpr auto kAnyOrder = [](const auto& /*left*/, const auto& /*right*/) { return false; };

// Tries each debt of one kind once, in the order that `before` says.
template <typename Map, typename Pay, typename Before = decltype(kAnyOrder)>
Result<std::size_t> pay_all(Turn& turn, Map& debts, Pay pay, Before before = kAnyOrder) {
  std::size_t count = 0;
  std::vector<std::pair<typename Map::key_type, typename Map::mapped_type>> open(debts.begin(),
                                                                                 debts.end());
  std::stable_sort(open.begin(), open.end(), before);
  for (const auto& debt : open) {
    HOLDFAST_TRY(const bool paid, try_to_pay(turn, [&] { return pay(debt.first, debt.second); }));
    if (paid) {
      ++count;
      erase(&turn.state().undo(), debts, debt.first);
    }
  }
  return count;
}

}  // namespace

Result<std::size_t> recover(Turn& turn) {
  Debts& debts = turn.state().debts();
  // Later results win over earlier ones, so they are applied as they came.
  const auto completed_before = [&](const auto& left, const auto& right) {
    return completion_of(turn, left.first, left.second) <
           completion_of(turn, right.first, right.second);
  };
  HOLDFAST_TRY(std::size_t scheduled,
               pay_all(turn, debts.unscheduled, [&](const auto& key, auto run) {
                 return schedule_planned(turn, key, run);
               }));
  HOLDFAST_TRY(std::size_t applied, pay_all(
                                        turn, debts.unapplied,
                                        [&](const auto& key, const auto& queue) {
                                          return apply_completed(turn, key, queue);
                                        },
                                        completed_before));
  HOLDFAST_TRY(std::size_t progressed,
               pay_all(turn, debts.unprogressed, [&](const auto& key, const auto& queue) {
                 return progress_failed(turn, key, queue);
               }));
  HOLDFAST_TRY(std::size_t started,
               pay_all(turn, debts.children, [&](const auto& /*child*/, const auto& link) {
                 return start_missing_child(turn, link);
               }));
  return scheduled + applied + progressed + started;
}

}  // namespace holdfast
