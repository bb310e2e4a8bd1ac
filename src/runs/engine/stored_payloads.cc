#include "runs/engine/stored_payloads.h"

#include <fmt/format.h>

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
  const auto* scheduled = std::get_if<AttemptScheduled>(&fact);
  if (scheduled == nullptr || !stored.is(scheduled->input)) {
    return unexpected(assignment.queue, stored.seq);
  }
  assignment.input = scheduled->input;
  assignment.stored_input.reset();
  return {};
}

Result<void> read_outcome(Journal& journal, const SharedText& queue, Outcome& outcome) {
  if (!outcome.stored) {
    return {};
  }
  const StoredPayload stored = *outcome.stored;
  HOLDFAST_TRY(const DispatchFact fact, read_fact(journal, queue, stored.seq, nullptr));
  if (const auto* completed = std::get_if<AttemptCompleted>(&fact);
      completed != nullptr && stored.is(completed->result)) {
    outcome =
        Outcome{outcome.at, completed->result, {}, completed->execution_opts, completed->details};
    return {};
  }
  if (const auto* failed = std::get_if<AttemptFailed>(&fact);
      failed != nullptr && stored.is(failed->error)) {
    outcome = Outcome{outcome.at, {}, failed->error, {}};
    return {};
  }
  return unexpected(queue, stored.seq);
}

}  // namespace holdfast
