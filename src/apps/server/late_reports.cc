#include "apps/server/late_reports.h"

#include <algorithm>

#include "apps/server/work_responses.h"
#include "base/hash.h"
#include "runs/inspect/stored_run.h"

namespace holdfast {

namespace {

// The attempt is no longer in memory.
bool is_forgotten(const std::optional<Error>& judged) {
  return judged.has_value() && (judged->code() == ErrorCode::terminal_run ||
                                judged->code() == ErrorCode::unknown_runnable_intent);
}

bool ended_with(const Attempt& attempt, const Completion& completion) {
  return attempt.status == AttemptStatus::completed && attempt.outcome->result == completion.result;
}
bool ended_with(const Attempt& attempt, const Failure& failure) {
  return attempt.status == AttemptStatus::failed && attempt.outcome->error == failure.error;
}

// The same claim reported the same outcome before.
bool is_repetition(const Attempt& attempt, const Report& report) {
  if (!attempt.ended() || !attempt.claim ||
      !attempt.holds(report.claim_id, sha256(report.token.view()))) {
    return false;
  }
  return std::visit([&](const auto& outcome) { return ended_with(attempt, outcome); },
                    outcome_of(report));
}

Result<bool> counted_before(Journal& journal, const Report& report) {
  HOLDFAST_TRY(const Position head, journal.catch_up());
  HOLDFAST_TRY(const StoredRun stored, read_stored_run(journal, report.run_id, head));
  return std::any_of(stored.queues.begin(), stored.queues.end(), [&](const auto& queue) {
    const Attempt* attempt = queue.second->find(report.runnable_key.view());
    return attempt != nullptr && is_repetition(*attempt, report);
  });
}

}  // namespace

void with_late_reports(const CallPtr& call,
                       const std::shared_ptr<const std::vector<Report>>& reports, Judgements judged,
                       std::function<void(const Judgements&)> then) {
  if (std::none_of(judged.begin(), judged.end(), is_forgotten)) {
    then(judged);
    return;
  }
  const auto look_up = [call, reports, judged, then] {
    Judgements corrected = judged;
    for (std::size_t i = 0; i < corrected.size(); ++i) {
      if (is_forgotten(corrected[i])) {
        const auto counted = counted_before(call->service.loop.journal(), (*reports)[i]);
        if (counted.ok() && counted.value()) {
          corrected[i].reset();
        }
      }
    }
    then(corrected);
  };
  if (!call->service.readers.run(look_up).ok()) {
    then(judged);
  }
}

}  // namespace holdfast
