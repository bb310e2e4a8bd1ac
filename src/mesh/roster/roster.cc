#include "mesh/roster/roster.h"

#include <algorithm>
#include <utility>

#include "holdfast/assert.h"
#include "mesh/audit/snapshot.h"
#include "mesh/roster/judge.h"

namespace holdfast::mesh {

bool Roster::add(const VerifiedOperation& operation) {
  const bool added = insert(operation);
  settle();
  return added;
}

bool Roster::insert(VerifiedOperation added, LogState state) {
  const bool reuses = !free_.empty();
  const auto op = reuses ? free_.back() : static_cast<OpRef>(records_.size());
  if (!by_hash_.emplace(added.hash, op).second) {
    return false;
  }
  if (reuses) {
    free_.pop_back();
  } else {
    records_.emplace_back();
  }
  OpRecord& record = records_[op];
  record.operation = std::move(added.operation);
  record.author = added.author;
  record.key = {record.operation.timestamp, added.hash};
  record.subject = subject_of(record.operation.payload);
  if (added.token.has_value()) {
    record.token = std::make_shared<const Token>(std::move(*added.token));
  }
  record.on_log = state == LogState::on_log;
  index(op);
  index_dependencies(op);
  add_delegation(op);
  return true;
}

void Roster::index(OpRef op) {
  OpRecord& record = records_[op];
  // Operations mostly come in the order of their timestamps.
  const auto place = by_time_.emplace_hint(by_time_.end(), record.key, op);
  // Operations with the same timestamp void each other.
  if (place != by_time_.begin() && std::prev(place)->first.at == record.key.at) {
    mark(std::prev(place)->second);
  }
  if (const auto next = std::next(place);
      next != by_time_.end() && next->first.at == record.key.at) {
    mark(next->second);
  }
  by_author_[record.key.at.node].push_back(op);
  if (record.subject.has_value()) {
    // Until it is judged, it leaves the state as it finds it.
    record.timeline = &subjects_[*record.subject];
    record.judgement.after = state_before(record);
    record.timeline->emplace_hint(record.timeline->end(), record.key, op);
  }
  if (const auto* schedule = std::get_if<ScheduleJob>(&record.operation.payload)) {
    jobs_of_kind_[schedule->kind].insert(schedule->job_id);
  }
  if (is_derivation(record.operation.payload)) {
    derivations_.push_back(op);
  }
  if (is_output(record.operation.payload)) {
    outputs_.push_back(op);
  }
  if (is_snapshot(record.operation.payload)) {
    const auto& artifact = std::get<CreateArtifact>(record.operation.payload);
    if (artifact.source_job.has_value()) {
      snapshots_[*artifact.source_job].emplace(record.key, op);
    }
  }
  mark(op);
}

void Roster::index_dependencies(OpRef op) {
  const OpRecord& record = at(op);
  auto& same_id = by_id_.try_emplace(by_id_.end(), record.operation.id)->second;
  mark_all(same_id);
  same_id.push_back(op);
  if (const auto waiting = dependents_.find(record.operation.id); waiting != dependents_.end()) {
    mark_all(waiting->second);
  }
  for (const OpId& id : record.operation.causal_deps) {
    dependents_[id].push_back(op);
  }
}

void Roster::add_delegation(OpRef op) {
  const OpRecord& record = at(op);
  if (std::holds_alternative<DelegateUcan>(record.operation.payload)) {
    if (record.token != nullptr) {
      delegations_[record.token->cid].push_back(op);
      graph_.add(*record.token);
    }
  } else if (const auto* revocation = std::get_if<RevokeUcan>(&record.operation.payload)) {
    delegations_[revocation->ucan_cid].push_back(op);
    graph_.add_revocation(record.author, revocation->ucan_cid);
  } else {
    return;
  }
  mark_authority_changes();
}

void Roster::add_token(const Token& token) {
  ++spare_tokens_[token.cid];
  graph_.add(token);
  mark_authority_changes();
  settle();
}

void Roster::mark_authority_changes() {
  const AuthorityChanges changes = graph_.take_changes();
  for (const PublicKey& author : changes.audiences) {
    if (const auto ops = by_author_.find(node_id_of(author)); ops != by_author_.end()) {
      mark_all(ops->second);
    }
  }
  for (const Digest& cid : changes.tokens) {
    if (const auto ops = delegations_.find(cid); ops != delegations_.end()) {
      mark_all(ops->second);
    }
  }
  if (changes.owners) {
    mark_all(derivations_);  // the owner that coordinates may be another one
  }
}

void Roster::mark(OpRef op) { dirty_.emplace_hint(dirty_.end(), at(op).key, op); }

void Roster::mark_all(const std::vector<OpRef>& ops) {
  for (const OpRef op : ops) {
    mark(op);
  }
}

void Roster::mark_after(const std::vector<OpRef>& ops, const OrderKey& key) {
  for (const OpRef op : ops) {
    if (key < at(op).key) {
      mark(op);
    }
  }
}

// In the order of timestamps: what an operation depends on is judged before it.
void Roster::settle() {
  while (!dirty_.empty()) {
    const OpRef op = dirty_.extract(dirty_.begin()).mapped();
    Judge judge(*this, op);
    const Judgement judgement = judge.run();
    for (const JobId& job : judge.watched()) {
      watchers_[job].insert(op);
    }
    store(op, judgement);
  }
  for (const auto& [job, before] : before_) {
    const JobState after = latest(job);
    const auto entry = [&, id = job](const JobState& state) {
      return state.phase == JobPhase::unknown ? JobIndex::Entry{id, "", {}, state}
                                              : JobIndex::Entry{id, std::string(kind_of(state)),
                                                                at(*state.schedule).key.at, state};
    };
    jobs_.remove(entry(before));
    jobs_.insert(entry(after));
    if (before.phase == JobPhase::completed && after.phase != JobPhase::completed) {
      regressed_.push_back({job, at(*before.completion).operation.id});
    }
  }
  before_.clear();
}

std::vector<Digest> Roster::take_logged() {
  std::vector<Digest> hashes;
  hashes.reserve(logged_.size());
  for (const OpRef op : std::exchange(logged_, {})) {
    hashes.push_back(at(op).key.hash);
  }
  return hashes;
}

std::vector<JobRegressed> Roster::take_regressed() { return std::exchange(regressed_, {}); }

// A failed caveat about the kind of a job is on the log, as an operation that was undecided before.
// Delegations and revocations wait aside until their token is valid, although their authors may
// author them: a node without any authority can make as many of them as it likes.
bool Roster::belongs_on_log(const OpRecord& record, const Judgement& judgement) const {
  const auto* revocation = std::get_if<RevokeUcan>(&record.operation.payload);
  if (record.token != nullptr || revocation != nullptr) {
    const Digest& cid = record.token != nullptr ? record.token->cid : revocation->ucan_cid;
    if (graph_.structure(cid) != TokenGraph::Structure::valid) {
      return false;
    }
  }
  return judgement.authorised || judgement.verdict.outcome == Outcome::applied ||
         (judgement.verdict.outcome == Outcome::void_ &&
          judgement.verdict.reason == Reason::caveat_failed);
}

void Roster::store(OpRef op, const Judgement& judgement) {
  OpRecord& record = records_[op];
  if (!record.on_log && belongs_on_log(record, judgement)) {
    record.on_log = true;
    logged_.push_back(op);
  }
  if (record.judged && record.judgement == judgement) {
    return;
  }
  if (record.subject.has_value() && record.subject->type == Subject::Type::job) {
    remember_job(record);
  }
  mark_what_follows(op, judgement);
  record.judgement = judgement;
  record.judged = true;
  update_registers(op);
}

void Roster::remember_job(const OpRecord& record) {
  before_.try_emplace(JobId{record.subject->id},
                      at(record.timeline->rbegin()->second).judgement.after.job);
}

// Compares with the stored judgement, which is replaced afterwards.
void Roster::mark_what_follows(OpRef op, const Judgement& judgement) {
  const OpRecord& record = at(op);
  const Judgement& stored = record.judgement;
  if (stored.verdict.is_effective() != judgement.verdict.is_effective()) {
    if (const auto waiting = dependents_.find(record.operation.id); waiting != dependents_.end()) {
      mark_after(waiting->second, record.key);
    }
  }
  if (stored.authorised != judgement.authorised) {
    mark_after(by_id_.at(record.operation.id), record.key);
  }
  if (stored.verdict != judgement.verdict &&
      std::holds_alternative<CreateArtifact>(record.operation.payload)) {
    mark_after(outputs_, record.key);
  }
  if (stored.after == judgement.after) {
    return;
  }
  const Timeline& timeline = *record.timeline;
  if (const auto next = timeline.upper_bound(record.key); next != timeline.end()) {
    mark(next->second);
  }
  if (record.subject->type == Subject::Type::job) {
    if (const auto watching = watchers_.find({record.subject->id}); watching != watchers_.end()) {
      mark_after({watching->second.begin(), watching->second.end()}, record.key);
    }
  }
}

// Routes and the coordinator are registers over time: what was applied last before a timestamp.
void Roster::update_registers(OpRef op) {
  const OpRecord& record = at(op);
  const bool is_applied = record.judgement.verdict.outcome == Outcome::applied;
  if (const auto* route = std::get_if<RouteKind>(&record.operation.payload)) {
    const auto known = routes_.find(route->kind);
    const bool was_applied = known != routes_.end() && known->second.erase(record.key.at) > 0;
    if (is_applied) {
      routes_[route->kind].emplace(record.key.at, route->route);
    }
    if (const auto jobs = jobs_of_kind_.find(route->kind);
        is_applied != was_applied && jobs != jobs_of_kind_.end()) {
      for (const JobId& job : jobs->second) {
        const Timeline& ops = subjects_.at({Subject::Type::job, job.bytes});
        for (auto next = ops.upper_bound(record.key); next != ops.end(); ++next) {
          mark(next->second);
        }
      }
    }
  } else if (const auto* designation =
                 std::get_if<DesignateCoordinator>(&record.operation.payload)) {
    const bool was_applied = coordinators_.erase(record.key.at) > 0;
    if (is_applied) {
      coordinators_.emplace(record.key.at, designation->coordinator);
    }
    if (is_applied != was_applied) {
      mark_after(derivations_, record.key);
    }
  }
}

SubjectState Roster::state_before(const Subject& subject, const OrderKey& key) const {
  const auto timeline = subjects_.find(subject);
  if (timeline == subjects_.end()) {
    return {};
  }
  const auto place = timeline->second.lower_bound(key);
  return place == timeline->second.begin() ? SubjectState{}
                                           : at(std::prev(place)->second).judgement.after;
}

SubjectState Roster::state_before(const OpRecord& record) const {
  const auto place = record.timeline->lower_bound(record.key);
  return place == record.timeline->begin() ? SubjectState{}
                                           : at(std::prev(place)->second).judgement.after;
}

JobState Roster::latest(const JobId& job) const {
  const auto timeline = subjects_.find({Subject::Type::job, job.bytes});
  return timeline == subjects_.end() ? JobState{}
                                     : at(timeline->second.rbegin()->second).judgement.after.job;
}

std::string_view Roster::kind_of(const JobState& state) const {
  HOLDFAST_ASSERT(state.schedule.has_value());
  return std::get<ScheduleJob>(at(*state.schedule).operation.payload).kind;
}

}  // namespace holdfast::mesh
