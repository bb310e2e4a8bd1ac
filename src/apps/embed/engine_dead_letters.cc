// The dead letters of an embedded engine.
#include "apps/embed/engine_impl.h"
#include "runs/api/public_requests.h"

namespace holdfast {

Result<DeadLetterPage> Engine::Impl::dead_letters(const DeadLetterQuery& query) {
  HOLDFAST_TRY(const DeadLettersRequest request, dead_letters_request(query));
  HOLDFAST_TRY(const DeadLettersResponse page,
               loop_->execute<DeadLettersResponse>(read_dead_letters(request, kSeesAll)));
  DeadLetterPage found;
  found.next = page.next;
  for (const DeadLetter& letter : page.dead_letters) {
    found.dead_letters.push_back(dead_letter_view(letter));
  }
  return found;
}

Result<DeadLetterDecision> Engine::Impl::decide(DeadLetterAction action,
                                                const DeadLetterSelection& selection) {
  HOLDFAST_TRY(const DeadLetterBulkRequest request, dead_letter_bulk_request(action, selection));
  HOLDFAST_TRY(auto decide, decide_dead_letters(commands_, request, kSeesAll));
  HOLDFAST_TRY(const DeadLetterOutcomes decided,
               loop_->execute<DeadLetterOutcomes>(std::move(decide)));
  DeadLetterDecision decision;
  decision.more = decided.more;
  for (std::size_t i = 0; i < decided.selected.size(); ++i) {
    const DeadLetter& letter = decided.selected[i];
    DeadLetterOutcome outcome{letter.run_id, letter.step, letter.runnable_key, {}, {}};
    if (i < decided.outcomes.size() && decided.outcomes[i].ok()) {
      ++decision.done;
      outcome.replay_run_id = decided.outcomes[i].value();
    } else if (i < decided.outcomes.size()) {
      outcome.error = decided.outcomes[i].error().text();
    }
    decision.matched.push_back(std::move(outcome));
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
