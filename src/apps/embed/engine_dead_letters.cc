// The dead letters of an embedded engine.
#include "apps/embed/engine_impl.h"

namespace holdfast {

namespace {

DeadLetterView view_of(const DeadLetter& letter) {
  DeadLetterView view;
  view.run_id = letter.run_id;
  view.workflow = letter.workflow;
  view.step = letter.step;
  view.queue = letter.queue;
  view.runnable_key = letter.runnable_key;
  view.idempotency_key = letter.idempotency_key;
  view.attempts = letter.attempts;
  view.since = letter.since.value;
  view.error = letter.error.view();
  view.input = letter.input.view();
  return view;
}

}  // namespace

Result<DeadLetterPage> Engine::Impl::dead_letters(const DeadLetterQuery& query) {
  if (query.limit == 0 || query.limit > kMostPerPage) {
    return Error{ErrorCode::invalid_argument, "limit must be a number from 1 to 1000"}.with(
        "field", "limit");
  }
  DeadLettersRequest request;
  request.queue = query.queue;
  request.workflow = query.workflow;
  request.step = query.step;
  request.code = query.code;
  request.limit = query.limit;
  request.cursor = query.cursor;
  HOLDFAST_TRY(const DeadLettersResponse page,
               loop_->execute<DeadLettersResponse>(read_dead_letters(request, kSeesAll)));
  DeadLetterPage found;
  found.next = page.next;
  for (const DeadLetter& letter : page.dead_letters) {
    found.dead_letters.push_back(view_of(letter));
  }
  return found;
}

Result<DeadLetterDecision> Engine::Impl::decide(DeadLetterAction action,
                                                const DeadLetterSelection& selection) {
  DeadLetterBulkRequest request;
  request.action = action;
  request.filter.queue = selection.queue;
  request.filter.workflow = selection.workflow;
  request.filter.step = selection.step;
  request.filter.code = selection.code;
  request.all = selection.all;
  request.dry_run = selection.dry_run;
  request.limit = selection.limit;
  request.actor = selection.actor;
  request.comment = selection.comment;
  HOLDFAST_TRY(auto decide, decide_dead_letters(commands_, request, kSeesAll));
  HOLDFAST_TRY(const DeadLetterOutcomes decided,
               loop_->execute<DeadLetterOutcomes>(std::move(decide)));
  DeadLetterDecision decision;
  decision.more = decided.more;
  for (const DeadLetter& letter : decided.selected) {
    decision.matched.push_back(view_of(letter));
  }
  for (const Result<void>& outcome : decided.outcomes) {
    decision.done += outcome.ok() ? 1U : 0U;
  }
  return decision;
}

Result<DeadLetterPage> Engine::dead_letters(const DeadLetterQuery& query) {
  HOLDFAST_TRY(Impl* const impl, live());
  return impl->dead_letters(query);
}

Result<DeadLetterDecision> Engine::redrive_dead_letters(const DeadLetterSelection& selection) {
  HOLDFAST_TRY(Impl* const impl, live());
  return impl->decide(DeadLetterAction::redrive, selection);
}

Result<DeadLetterDecision> Engine::discard_dead_letters(const DeadLetterSelection& selection) {
  HOLDFAST_TRY(Impl* const impl, live());
  return impl->decide(DeadLetterAction::discard, selection);
}

}  // namespace holdfast
