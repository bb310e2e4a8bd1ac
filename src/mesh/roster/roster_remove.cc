// How the roster forgets an operation that may not stay: the opposite of inserting it.
#include <algorithm>

#include "holdfast/assert.h"
#include "mesh/audit/snapshot.h"
#include "mesh/roster/roster.h"

namespace holdfast::mesh {

namespace {

// What is removed was usually added last.
template <typename T>
void erase_last(std::vector<T>& items, const T& item) {
  const auto found = std::find(items.rbegin(), items.rend(), item);
  HOLDFAST_ASSERT(found != items.rend());
  items.erase(std::next(found).base());
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
  const OpRef op = ref_of(hash);
  if (op == kNoRef || at(op).on_log) {
    return false;
  }
  const OpRecord& record = at(op);
  const auto* revocation = std::get_if<RevokeUcan>(&record.operation.payload);
  const auto structure = record.token != nullptr ? graph_.structure(record.token->cid)
                         : revocation != nullptr ? graph_.structure(revocation->ucan_cid)
                                                 : std::nullopt;
  return structure != TokenGraph::Structure::valid;
}

void Roster::remove(const Digest& hash) {
  HOLDFAST_ASSERT(marked_.empty());
  const OpRef op = ref_of(hash);
  HOLDFAST_ASSERT(op != kNoRef);
  OpRecord& record = records_[op];
  Judgement without_effect;
  if (record.subject != kNoRef) {
    without_effect.after = state_before(record);
  }
  without_effect.verdict = deferred(Reason::none);
  store(op, without_effect);
  unindex(op);
  settle();
  record = OpRecord{};
  free_records_.push_back(op);
}

void Roster::unindex(OpRef op) {
  OpRecord& record = records_[op];
  unindex_time(op);
  unindex_author(op);
  unindex_id(op);
  if (is_derivation(record.operation.payload)) {
    erase_last(derivations_, op);
  }
  if (is_output(record.operation.payload)) {
    erase_last(outputs_, op);
  }
  // What was never authorised has not looked at any job.
  if (record.on_log &&
      (is_derivation(record.operation.payload) || is_output(record.operation.payload))) {
    for (auto& [job, ops] : watchers_) {
      ops.erase(op);
    }
  }
  unindex_subject(op);
  remove_delegation(op);
  by_hash_.erase(ref_hash(record.key.hash), op);
  record.waiting = false;
}

void Roster::unindex_time(OpRef op) {
  const OpRecord& record = at(op);
  OpRef previous = op;
  while (at(previous).twin != op) {
    previous = at(previous).twin;
    mark(previous);
  }
  records_[previous].twin = record.twin;
  const std::uint32_t hash = ref_hash(record.key.at);
  if (by_time_.find(hash, [&](OpRef one) { return one == op; }) == op) {
    by_time_.erase(hash, op);
    if (previous != op) {
      by_time_.insert(hash, previous);
    }
  }
}

void Roster::unindex_author(OpRef op) {
  const auto author = authors_.find(at(op).key.at.node);
  auto& ops = author->second.ops;
  erase_last(ops, op);
  author->second.refused.erase(op);
  if (ops.empty()) {
    authors_.erase(author);
  } else if (author->second.newest == at(op).key.at) {
    author->second.newest = {};
    for (const OpRef other : ops) {
      author->second.newest = std::max(author->second.newest, at(other).key.at);
    }
  }
}

void Roster::unindex_id(OpRef op) {
  const OpRecord& record = at(op);
  const Ref id = ref_of(record.operation.id);
  id_lists_.erase(ids_[id].carriers, op);
  mark_all(id_lists_.in(ids_[id].carriers));
  mark_all(id_lists_.in(ids_[id].dependents));
  drop_if_unused(id);
  for (const OpId& dependency : record.operation.causal_deps) {
    const Ref cause = ref_of(dependency);
    id_lists_.erase(ids_[cause].dependents, op);
    drop_if_unused(cause);
  }
}

void Roster::drop_if_unused(Ref id) {
  if (ids_[id].carriers == kNoRef && ids_[id].dependents == kNoRef) {
    by_id_.erase(ref_hash(ids_[id].id.bytes), id);
    free_ids_.push_back(id);
  }
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
  if (record.subject == kNoRef) {
    return;
  }
  SubjectRecord& subject = subjects_[record.subject];
  subject.ops.erase(place_in(subject.ops, record.key));
  if (const auto* schedule = std::get_if<ScheduleJob>(&record.operation.payload)) {
    unindex_kind(*schedule);
  }
  if (subject.ops.empty()) {
    by_subject_.erase(ref_hash(subject.subject.id), record.subject);
    free_subjects_.push_back(record.subject);
    subject = SubjectRecord{};
  }
}

// A job is in the list of a kind once for each ScheduleJob that names both.
void Roster::unindex_kind(const ScheduleJob& schedule) {
  const auto jobs = jobs_of_kind_.find(schedule.kind);
  HOLDFAST_ASSERT(jobs != jobs_of_kind_.end());
  erase_last(jobs->second, schedule.job_id);
  if (jobs->second.empty()) {
    jobs_of_kind_.erase(jobs);
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
