// The answers of DispatchProjection that look at every attempt, and its form as bytes.
#include <algorithm>

#include "base/sorted.h"
#include "dispatch/projection.h"

namespace holdfast {

namespace {

template <typename Keep>
std::vector<const Attempt*> in_claim_order(std::vector<const Attempt*> attempts, Keep keep) {
  std::erase_if(attempts, [&](const Attempt* attempt) { return !keep(*attempt); });
  std::sort(attempts.begin(), attempts.end(), [](const Attempt* left, const Attempt* right) {
    return std::pair(left->visible_at, left->order) < std::pair(right->visible_at, right->order);
  });
  return attempts;
}

struct RunRecord {
  RunId run_id;
  std::optional<ContinuationFence> fence;
  bool queued = false;
  bool terminal = false;

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.required("run_id", self.run_id);
    v.optional("fence", self.fence);
    v.optional("queued", self.queued);
    v.optional("terminal", self.terminal);
  }
};

struct Stored {
  SharedText queue;
  std::uint64_t next_order = 0;
  std::vector<RunRecord> runs;
  std::vector<Attempt> attempts;
  std::vector<Anomaly> anomalies;

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.required("queue", self.queue);
    v.required("next_order", self.next_order);
    v.required("runs", self.runs);
    v.required("attempts", self.attempts);
    v.required("anomalies", self.anomalies);
  }
};

bool waits(const Attempt& attempt) {
  return attempt.status == AttemptStatus::available ||
         attempt.status == AttemptStatus::retry_scheduled;
}

}  // namespace

std::vector<const Attempt*> DispatchProjection::attempts() const {
  std::vector<const Attempt*> all;
  for (const auto* entry : sorted(attempts_)) {
    all.push_back(&entry->second);
  }
  return in_claim_order(std::move(all), [](const Attempt&) { return true; });
}

std::vector<const Attempt*> DispatchProjection::attempts_of(const RunId& id) const {
  std::vector<const Attempt*> found;
  const QueuedRun* known = find_run(id);
  for (const Attempt* attempt = known == nullptr ? nullptr : known->first; attempt != nullptr;
       attempt = attempt->next_of_run) {
    found.push_back(attempt);
  }
  std::reverse(found.begin(), found.end());
  return found;
}

std::vector<const Attempt*> DispatchProjection::visible(TimeMs now) const {
  return in_claim_order(attempts(), [&](const Attempt& attempt) {
    return waits(attempt) && attempt.visible_at <= now && claimable_run(attempt.run_id);
  });
}

std::vector<const Attempt*> DispatchProjection::expired(TimeMs now) const {
  return in_claim_order(attempts(), [&](const Attempt& attempt) {
    return attempt.status == AttemptStatus::claimed && attempt.claim->lease_until <= now &&
           claimable_run(attempt.run_id);
  });
}

std::vector<const Attempt*> DispatchProjection::scheduled_later(TimeMs now) const {
  return in_claim_order(attempts(), [&](const Attempt& attempt) {
    return waits(attempt) && attempt.visible_at > now && claimable_run(attempt.run_id);
  });
}

std::vector<const Attempt*> DispatchProjection::unapplied() const {
  return in_claim_order(attempts(), [&](const Attempt& attempt) {
    return attempt.status == AttemptStatus::completed && !attempt.applied &&
           claimable_run(attempt.run_id);
  });
}

std::string DispatchProjection::encode() const {
  Stored stored{queue_, next_order_, {}, {}, anomalies_};
  for (const auto* entry : sorted(runs_)) {
    const QueuedRun& known = entry->second;
    RunRecord record{entry->first, std::nullopt, known.queued, known.terminal};
    if (known.fence) {
      record.fence = *known.fence;
    }
    stored.runs.push_back(std::move(record));
  }
  for (const Attempt* attempt : attempts()) {
    stored.attempts.push_back(*attempt);
  }
  std::sort(stored.attempts.begin(), stored.attempts.end(),
            [](const Attempt& left, const Attempt& right) { return left.order < right.order; });
  auto text = to_json(stored);
  return std::string(text.value().view());
}

Result<std::unique_ptr<DispatchProjection>> DispatchProjection::decode(std::string_view bytes) {
  HOLDFAST_TRY(Stored stored, from_json<Stored>(bytes));
  auto projection = std::make_unique<DispatchProjection>(stored.queue);
  for (RunRecord& record : stored.runs) {
    QueuedRun& known = projection->run(record.run_id);
    known.queued = record.queued;
    known.terminal = record.terminal;
    if (record.fence.has_value()) {
      known.fence = *std::move(record.fence);
    }
  }
  for (Attempt& attempt : stored.attempts) {
    const bool claimed = attempt.status == AttemptStatus::claimed;
    const bool in_order =
        attempt.order >= projection->next_order_ && attempt.order < stored.next_order;
    if (projection->find(attempt.runnable_key.view()) != nullptr || !in_order ||
        (claimed && !attempt.claim) || (attempt.ended() && !attempt.outcome)) {
      return Error{ErrorCode::invalid_argument, "the stored attempts do not fit together"};
    }
    projection->next_order_ = attempt.order;
    projection->add_attempt(std::move(attempt));
  }
  projection->next_order_ = stored.next_order;
  projection->anomalies_ = std::move(stored.anomalies);
  return projection;
}

}  // namespace holdfast
