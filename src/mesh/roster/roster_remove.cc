// How the roster forgets an operation that may not stay: the opposite of inserting it.
#include <algorithm>

#include "holdfast/assert.h"
#include "mesh/audit/snapshot.h"
#include "mesh/roster/roster.h"

namespace holdfast::mesh {

namespace {

// What is removed was usually added last.
void erase_last(std::vector<OpRef>& ops, OpRef op) {
  const auto found = std::find(ops.rbegin(), ops.rend(), op);
  HOLDFAST_ASSERT(found != ops.rend());
  ops.erase(std::next(found).base());
}

template <typename Key>
void erase_from(std::map<Key, std::vector<OpRef>>& lists, const Key& key, OpRef op) {
  const auto list = lists.find(key);
  HOLDFAST_ASSERT(list != lists.end());
  erase_last(list->second, op);
  if (list->second.empty()) {
    lists.erase(list);
  }
}

}  // namespace

bool Roster::is_removable(const Digest& hash) const {
  const auto found = by_hash_.find(hash);
  if (found == by_hash_.end() || at(found->second).on_log) {
    return false;
  }
  const OpRecord& record = at(found->second);
  const auto* revocation = std::get_if<RevokeUcan>(&record.operation.payload);
  const auto structure = record.token != nullptr ? graph_.structure(record.token->cid)
                         : revocation != nullptr ? graph_.structure(revocation->ucan_cid)
                                                 : std::nullopt;
  return structure != TokenGraph::Structure::valid;
}

void Roster::remove(const Digest& hash) {
  HOLDFAST_ASSERT(dirty_.empty());
  const OpRef op = by_hash_.at(hash);
  OpRecord& record = records_[op];
  Judgement without_effect;
  if (record.subject.has_value()) {
    without_effect.after = state_before(record);
  }
  without_effect.verdict = deferred(Reason::none);
  store(op, without_effect);
  unindex(op);
  settle();
  record = OpRecord{};
  free_.push_back(op);
}

void Roster::unindex(OpRef op) {
  const OpRecord& record = at(op);
  const auto place = by_time_.find(record.key);
  HOLDFAST_ASSERT(place != by_time_.end());
  if (place != by_time_.begin() && std::prev(place)->first.at == record.key.at) {
    mark(std::prev(place)->second);
  }
  if (const auto next = std::next(place);
      next != by_time_.end() && next->first.at == record.key.at) {
    mark(next->second);
  }
  by_time_.erase(place);
  erase_from(by_author_, record.key.at.node, op);
  erase_from(by_id_, record.operation.id, op);
  if (const auto same = by_id_.find(record.operation.id); same != by_id_.end()) {
    mark_all(same->second);
  }
  for (const OpId& id : record.operation.causal_deps) {
    erase_from(dependents_, id, op);
  }
  if (const auto waiting = dependents_.find(record.operation.id); waiting != dependents_.end()) {
    mark_all(waiting->second);
  }
  if (is_derivation(record.operation.payload)) {
    erase_last(derivations_, op);
  }
  if (is_output(record.operation.payload)) {
    erase_last(outputs_, op);
  }
  for (auto& [job, ops] : watchers_) {
    if (!is_derivation(record.operation.payload) && !is_output(record.operation.payload)) {
      break;  // only these watch
    }
    ops.erase(op);
  }
  unindex_subject(op);
  remove_delegation(op);
  by_hash_.erase(record.key.hash);
  dirty_.erase(record.key);
}

void Roster::unindex_subject(OpRef op) {
  const OpRecord& record = at(op);
  if (is_snapshot(record.operation.payload)) {
    const auto& artifact = std::get<CreateArtifact>(record.operation.payload);
    const auto snapshots =
        artifact.source_job.has_value() ? snapshots_.find(*artifact.source_job) : snapshots_.end();
    if (snapshots != snapshots_.end() && snapshots->second.erase(record.key) > 0 &&
        snapshots->second.empty()) {
      snapshots_.erase(snapshots);
    }
  }
  if (!record.subject.has_value()) {
    return;
  }
  const auto timeline = subjects_.find(*record.subject);
  timeline->second.erase(record.key);
  if (const auto* schedule = std::get_if<ScheduleJob>(&record.operation.payload)) {
    const bool other =
        std::any_of(timeline->second.begin(), timeline->second.end(), [&](const auto& entry) {
          const auto* same = std::get_if<ScheduleJob>(&at(entry.second).operation.payload);
          return same != nullptr && same->kind == schedule->kind;
        });
    if (const auto jobs = jobs_of_kind_.find(schedule->kind); !other) {
      jobs->second.erase(schedule->job_id);
      if (jobs->second.empty()) {
        jobs_of_kind_.erase(jobs);
      }
    }
  }
  if (timeline->second.empty()) {
    subjects_.erase(timeline);
  }
}

void Roster::remove_delegation(OpRef op) {
  const OpRecord& record = at(op);
  if (record.token != nullptr) {
    erase_from(delegations_, record.token->cid, op);
    remove_if_unused(*record.token);
  } else if (const auto* revocation = std::get_if<RevokeUcan>(&record.operation.payload)) {
    erase_from(delegations_, revocation->ucan_cid, op);
    const auto others = delegations_.find(revocation->ucan_cid);
    const bool repeated =
        others != delegations_.end() &&
        std::any_of(others->second.begin(), others->second.end(), [&](OpRef other) {
          return at(other).author == record.author &&
                 std::holds_alternative<RevokeUcan>(at(other).operation.payload);
        });
    if (!repeated) {
      graph_.remove_revocation(record.author, revocation->ucan_cid);
    }
  }
}

void Roster::remove_token(const Token& token) {
  const auto spare = spare_tokens_.find(token.cid);
  HOLDFAST_ASSERT(spare != spare_tokens_.end());
  if (--spare->second == 0) {
    spare_tokens_.erase(spare);
    remove_if_unused(token);
    settle();
  }
}

// A revocation of the token may be on the log; it waits for the token again.
void Roster::remove_if_unused(const Token& token) {
  const auto ops = delegations_.find(token.cid);
  const bool carried = spare_tokens_.contains(token.cid) ||
                       (ops != delegations_.end() &&
                        std::any_of(ops->second.begin(), ops->second.end(),
                                    [&](OpRef other) { return at(other).token != nullptr; }));
  if (!carried) {
    graph_.remove(token.cid);
    mark_authority_changes();
  }
}

}  // namespace holdfast::mesh
