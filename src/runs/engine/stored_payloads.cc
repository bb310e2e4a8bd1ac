#include "runs/engine/stored_payloads.h"

#include <fmt/format.h>

#include "runs/dispatch/dispatch_effects.h"

namespace holdfast {

namespace {

// The fact at one location of a dispatch thread.
Result<DispatchFact> read_fact(Journal& journal, const SharedText& queue, std::uint64_t seq,
                               BatchCache* cache) {
  const ThreadId thread = dispatch_thread(queue.view());
  HOLDFAST_TRY(const auto entries, journal.load(thread, Revision{seq}, 1, cache));
  if (entries.empty()) {
    return Error{ErrorCode::not_found,
                 fmt::format("thread {} has no entry {}", thread.text(), seq)};
  }
  return dispatch_fact(entries.front().kind, entries.front().data);
}

// What an entry holds of the payload that is looked for; an entry of another kind holds nothing.
class StoredInput : public DispatchEffects {
 public:
  explicit StoredInput(const StoredPayload& stored) : stored_(stored) {}

  void scheduled(const AttemptScheduled& fact) {
    if (stored_.is(fact.input)) {
      found = fact.input;
    }
  }

  std::optional<Payload> found = std::nullopt;

 private:
  const StoredPayload& stored_;
};

class StoredOutcome : public DispatchEffects {
 public:
  StoredOutcome(const StoredPayload& stored, TimeMs at) : stored_(stored), at_(at) {}

  void completed(const AttemptCompleted& fact) {
    if (stored_.is(fact.result)) {
      found = Outcome{at_, fact.result, {}, fact.execution_opts, fact.details};
    }
  }
  void failed(const AttemptFailed& fact) {
    if (stored_.is(fact.error)) {
      found = Outcome{at_, {}, fact.error, {}};
    }
  }

  std::optional<Outcome> found = std::nullopt;

 private:
  const StoredPayload& stored_;
  TimeMs at_;
};

Error unexpected(const SharedText& queue, std::uint64_t seq) {
  return Error{
      ErrorCode::invalid_journal_entry,
      fmt::format("entry {} of queue {} is not what the queue remembers", seq, queue.view())};
}

}  // namespace

Result<void> read_input(Journal& journal, Assignment& assignment, BatchCache* cache) {
  if (!assignment.stored_input.has_value()) {
    return {};
  }
  const StoredPayload& stored = *assignment.stored_input;
  HOLDFAST_TRY(const DispatchFact fact, read_fact(journal, assignment.queue, stored.seq, cache));
  StoredInput input(stored);
  visit_effects(fact, input);
  if (!input.found.has_value()) {
    return unexpected(assignment.queue, stored.seq);
  }
  assignment.input = *input.found;
  assignment.stored_input.reset();
  return {};
}

Result<void> read_outcome(Journal& journal, const SharedText& queue, Outcome& outcome) {
  if (!outcome.stored) {
    return {};
  }
  const StoredPayload stored = *outcome.stored;
  HOLDFAST_TRY(const DispatchFact fact, read_fact(journal, queue, stored.seq, nullptr));
  StoredOutcome held(stored, outcome.at);
  visit_effects(fact, held);
  if (!held.found.has_value()) {
    return unexpected(queue, stored.seq);
  }
  outcome = *held.found;
  return {};
}

}  // namespace holdfast
