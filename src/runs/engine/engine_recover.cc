// Recovery: what other writers, or a crash between their commits, have left undone.
#include <algorithm>
#include <functional>

#include "runs/engine/step_chain.h"

namespace holdfast {

namespace {

// Pays one entry, or leaves everything as it was: what one run lacks must not hold up the others.
// An error is one of the store.
Result<bool> try_recover(Turn& turn, const std::function<Result<void>()>& recover_one) {
  const Turn::Mark mark = turn.mark();
  const Result<void> recovered = recover_one();
  if (recovered.ok()) {
    return true;
  }
  turn.roll_back_to(mark);
  const int exit_code = error_info(recovered.error().code()).exit_code;
  if (exit_code == 3 || exit_code == 5) {
    return recovered.error();
  }
  return false;
}

Result<void> schedule_planned(Turn& turn, const SharedText& key, const RunId& id) {
  HOLDFAST_TRY(RunProjection * run, turn.state().runs().get(id));
  const PlannedRunnable* planned = run->find(key.view());
  if (run->is_terminal() || planned == nullptr || planned->applied) {
    return {};
  }
  const AttemptScheduled intent = intent_of(planned->plan, run->started()->workflow);
  HOLDFAST_TRY(const auto fact,
               decide_schedule(turn.state().queues().get(intent.queue), intent, turn.now()));
  return fact.has_value() ? turn.emit(intent.queue, *fact) : Result<void>();
}

// The attempt of a entry, if there is still something to do about it.
const Attempt* unsettled(Turn& turn, const SharedText& key, const SharedText& queue,
                         AttemptStatus status) {
  const Attempt* attempt = turn.state().queues().get(queue).find(key.view());
  const bool open = attempt != nullptr && attempt->status == status && !attempt->applied;
  return open ? attempt : nullptr;
}

std::pair<TimeMs, std::uint64_t> completion_of(Turn& turn, const SharedText& key,
                                               const SharedText& queue) {
  const Attempt* attempt = unsettled(turn, key, queue, AttemptStatus::completed);
  return attempt == nullptr ? std::pair(TimeMs{}, std::uint64_t{0})
                            : std::pair(attempt->outcome->at, attempt->order);
}

// With payloads that are too large for memory.
Result<Attempt> with_outcome(Turn& turn, const Attempt& attempt, const SharedText& queue) {
  Attempt whole = attempt;
  HOLDFAST_CHECK(turn.state().queues().read_outcome(queue, *whole.outcome));
  return whole;
}

Result<void> apply_completed(Turn& turn, const SharedText& key, const SharedText& queue) {
  const Attempt* attempt = unsettled(turn, key, queue, AttemptStatus::completed);
  if (attempt == nullptr) {
    return {};
  }
  HOLDFAST_TRY(RunProjection * run, turn.state().runs().get(attempt->run_id));
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
  const Attempt* attempt = unsettled(turn, key, queue, AttemptStatus::failed);
  if (attempt == nullptr) {
    return {};
  }
  HOLDFAST_TRY(RunProjection * run, turn.state().runs().get(attempt->run_id));
  if (run->is_terminal()) {
    return {};
  }
  std::optional<PlannedRetry> retry;
  for (const Attempt* other : turn.state().queues().get(queue).attempts_of(attempt->run_id)) {
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
  HOLDFAST_TRY(const bool exists, turn.state().runs().exists(link.child_run_id));
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

// Tries each entry of one kind once, in the order that `before` says.
template <typename Map, typename RecoverOne, typename Before = decltype(kAnyOrder)>
Result<std::size_t> recover_each(Turn& turn, Map& pending, RecoverOne recover_one,
                                 Before before = kAnyOrder) {
  std::size_t count = 0;
  std::vector<std::pair<typename Map::key_type, typename Map::mapped_type>> open(pending.begin(),
                                                                                 pending.end());
  std::stable_sort(open.begin(), open.end(), before);
  for (const auto& entry : open) {
    HOLDFAST_TRY(const bool recovered,
                 try_recover(turn, [&] { return recover_one(entry.first, entry.second); }));
    if (recovered) {
      ++count;
      erase(&turn.state().undo(), pending, entry.first);
    }
  }
  return count;
}

}  // namespace

Result<std::size_t> recover(Turn& turn) {
  PendingRecovery& pending = turn.state().pending_recovery();
  // Later results win over earlier ones, so they are applied as they came.
  const auto completed_before = [&](const auto& left, const auto& right) {
    return completion_of(turn, left.first, left.second) <
           completion_of(turn, right.first, right.second);
  };
  HOLDFAST_TRY(std::size_t scheduled,
               recover_each(turn, pending.unscheduled, [&](const auto& key, auto run) {
                 return schedule_planned(turn, key, run);
               }));
  HOLDFAST_TRY(std::size_t applied, recover_each(
                                        turn, pending.unapplied,
                                        [&](const auto& key, const auto& queue) {
                                          return apply_completed(turn, key, queue);
                                        },
                                        completed_before));
  HOLDFAST_TRY(std::size_t progressed,
               recover_each(turn, pending.unprogressed, [&](const auto& key, const auto& queue) {
                 return progress_failed(turn, key, queue);
               }));
  HOLDFAST_TRY(std::size_t started,
               recover_each(turn, pending.children, [&](const auto& /*child*/, const auto& link) {
                 return start_missing_child(turn, link);
               }));
  return scheduled + applied + progressed + started;
}

}  // namespace holdfast
