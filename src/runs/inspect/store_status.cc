#include "runs/inspect/store_status.h"

#include <algorithm>
#include <span>

#include "runs/view/view_attempts.h"

namespace holdfast {

namespace {

bool is_empty(const QueueStatus& queue) {
  return queue.visible + queue.scheduled + queue.claimed + queue.expired + queue.sleeping +
                 queue.anomalies ==
             0 &&
         queue.open_circuits.empty();
}

void keep_earliest(std::optional<TimeMs>& earliest, TimeMs time) {
  earliest = std::min(earliest.value_or(time), time);
}

void count(QueueStatus& queue, const Attempt& attempt, TimeMs now) {
  if (attempt.ended() || attempt.applied) {
    return;
  }
  if (attempt.is_timer()) {
    ++queue.sleeping;
    keep_earliest(queue.next_visible_at, attempt.visible_at);
  } else if (is_held(attempt, now)) {
    ++queue.claimed;
    ++queue.claimed_by_owner[attempt.claim->owner_id.str()];
    keep_earliest(queue.oldest_claim_at, attempt.claim->claimed_at);
  } else if (is_expired(attempt, now)) {
    ++queue.expired;
  } else if (is_visible(attempt, now)) {
    ++queue.visible;
    ++queue.waiting_by_handler[attempt.handler.str()];
    keep_earliest(queue.oldest_visible_at, attempt.visible_at);
  } else {
    ++queue.scheduled;
    keep_earliest(queue.next_visible_at, attempt.visible_at);
  }
}

ClaimStatus claim_of(const Attempt& attempt) {
  return {to_string(attempt.run_id),     attempt.step.str(),        attempt.runnable_key.str(),
          attempt.claim->owner_id.str(), attempt.claim->claimed_at, attempt.claim->lease_until};
}

std::vector<CircuitStatus> open_circuits(const DispatchProjection& queue, TimeMs now) {
  std::vector<CircuitStatus> open;
  for (const auto& [type, circuit] : queue.circuits()) {
    if (circuit.is_open()) {
      open.push_back({type.workflow.str(), type.step.str(), circuit.failures, *circuit.opened_at,
                      circuit.probe_at, queue.live_probe(circuit, now) != nullptr});
    }
  }
  return open;
}

void write_claims(JsonWriter& json, const std::vector<ClaimStatus>& claims) {
  constexpr std::size_t kMaxShown = 100;
  const std::span shown(claims.data(), std::min(claims.size(), kMaxShown));
  json.objects("claims", shown, [&](const ClaimStatus& claim) {
    json.member("run_id", claim.run_id).member("step", claim.step);
    json.member("owner", claim.owner).member("claimed_at", claim.claimed_at);
    json.member("lease_until", claim.lease_until);
  });
}

void write_counts(JsonWriter& json, std::string_view name,
                  const std::map<std::string, std::uint64_t>& counts) {
  json.object(name, [&] {
    for (const auto& [what, number] : counts) {
      json.member(what, number);
    }
  });
}

void write_queue(JsonWriter& json, const QueueStatus& queue) {
  json.member("name", queue.name).member("visible", queue.visible);
  json.member("scheduled", queue.scheduled).member("claimed", queue.claimed);
  json.member("expired", queue.expired).member("sleeping", queue.sleeping);
  json.optional("oldest_visible_at", queue.oldest_visible_at);
  json.optional("next_visible_at", queue.next_visible_at);
  json.optional("oldest_claim_at", queue.oldest_claim_at);
  write_counts(json, "waiting_by_handler", queue.waiting_by_handler);
  write_counts(json, "claimed_by_owner", queue.claimed_by_owner);
  write_claims(json, queue.claims);
  json.objects("open_circuits", queue.open_circuits, [&](const CircuitStatus& circuit) {
    json.member("workflow", circuit.workflow).member("step", circuit.step);
    json.member("failures", circuit.failures).member("opened_at", circuit.opened_at);
    json.member("probe_at", circuit.probe_at).member("probing", circuit.probing);
  });
  json.member("anomalies", queue.anomalies);
}

}  // namespace

Result<StoreStatus> store_status(LiveState& state, const Moment& moment) {
  StoreStatus status;
  status.moment = moment;
  status.ended = state.runs().ended_counts();
  for (const auto& [name, queue] : state.queues().all()) {
    QueueStatus counted;
    counted.name = name.str();
    counted.anomalies = queue->anomalies().size();
    status.anomalies += counted.anomalies;
    for (const Attempt* attempt : queue->attempts()) {
      count(counted, *attempt, moment.now);
      if (attempt->status == AttemptStatus::claimed && !attempt->applied) {
        counted.claims.push_back(claim_of(*attempt));
      }
    }
    std::sort(counted.claims.begin(), counted.claims.end(),
              [](const ClaimStatus& left, const ClaimStatus& right) {
                return left.claimed_at < right.claimed_at;
              });
    counted.open_circuits = open_circuits(*queue, moment.now);
    // A queue in which nothing is left is as good as none; a worker that looks makes one, too.
    if (!is_empty(counted)) {
      status.queues.push_back(std::move(counted));
    }
  }
  for (const RunId& id : state.runs().ids()) {
    HOLDFAST_TRY(const RunProjection* run, state.runs().get(id));
    ++status.live[std::string(to_text(run->status()))];
    status.manual_interventions += run->boundaries().size();
    status.anomalies += run->anomalies().size();
    state.trim();
  }
  status.pending_dispatches = state.pending_recovery().unscheduled.size();
  status.pending_results =
      state.pending_recovery().unapplied.size() + state.pending_recovery().unprogressed.size();
  for (const auto& [workflow, registered] : state.registry().workflows()) {
    status.workflows.push_back(workflow.str());
  }
  return status;
}

JsonText to_json(const StoreStatus& status) {
  std::uint64_t live = 0;
  for (const auto& [name, number] : status.live) {
    live += number;
  }
  JsonWriter json;
  json.begin_object().member("schema_version", std::uint64_t{1}).object("runs", [&] {
    auto counts = status.live;
    counts["completed"] = status.ended.completed;
    counts["failed"] = status.ended.failed;
    counts["cancelled"] = status.ended.cancelled;
    counts["continued"] = status.ended.continued;
    json.member("total", live + status.ended.total()).member("live", live);
    write_counts(json, "by_status", counts);
  });
  json.objects("queues", status.queues,
               [&](const QueueStatus& queue) { write_queue(json, queue); });
  json.member("manual_interventions", status.manual_interventions);
  json.member("pending_dispatches", status.pending_dispatches);
  json.member("pending_results", status.pending_results);
  json.member("anomalies", status.anomalies).strings("workflows", status.workflows);
  write_moment(json, "as_of", status.moment);
  return std::move(json.end_object()).take_text();
}

}  // namespace holdfast
