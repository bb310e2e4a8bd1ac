#include "mesh/roster/roster.h"

#include <algorithm>
#include <utility>

#include "holdfast/assert.h"
#include "mesh/audit/snapshot.h"
#include "mesh/roster/judge.h"

namespace holdfast::mesh {

namespace {

bool is_integrity_failure(Reason reason) {
  return reason == Reason::integrity_duplicate_hlc || reason == Reason::integrity_id_conflict;
}

}  // namespace

bool Roster::add(VerifiedOperation operation) {
  const bool added = insert(std::move(operation));
  settle();
  return added;
}

bool Roster::insert(VerifiedOperation added, LogState state) {
  if (ref_of(added.hash) != kNoRef) {
    return false;
  }
  if (free_records_.empty()) {
    free_records_.push_back(static_cast<OpRef>(records_.size()));
    records_.emplace_back();
  }
  const OpRef op = free_records_.back();
  free_records_.pop_back();
  by_hash_.insert(ref_hash(added.hash), op);
  OpRecord& record = records_[op];
  record.operation = std::move(added.operation);
  record.author = added.author;
  record.key = {record.operation.timestamp, added.hash};
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
  index_time(op);
  Author& author = authors_[record.key.at.node];
  author.ops.push_back(op);
  author.newest = std::max(author.newest, record.key.at);
  index_subject(op);
  if (const auto* schedule = std::get_if<ScheduleJob>(&record.operation.payload)) {
    jobs_of_kind_[schedule->kind].push_back(schedule->job_id);
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

// Operations with the same timestamp void each other.
void Roster::index_time(OpRef op) {
  OpRecord& record = records_[op];
  const std::uint32_t hash = ref_hash(record.key.at);
  const OpRef twin =
      by_time_.find(hash, [&](OpRef one) { return at(one).key.at == record.key.at; });
  if (twin == kNoRef) {
    record.twin = op;
    by_time_.insert(hash, op);
    return;
  }
  record.twin = std::exchange(records_[twin].twin, op);
  for (OpRef other = record.twin; other != op; other = at(other).twin) {
    mark(other);
  }
}

// Until it is judged, an operation leaves the state of its subject as it finds it.
void Roster::index_subject(OpRef op) {
  OpRecord& record = records_[op];
  const auto subject = subject_of(record.operation.payload);
  if (!subject.has_value()) {
    return;
  }
  record.subject = intern(*subject);
  auto& ops = subjects_[record.subject].ops;
  const auto place = place_in(ops, record.key);
  record.judgement.after =
      place == ops.begin() ? SubjectState{} : at(*std::prev(place)).judgement.after;
  ops.insert(place, op);
}

void Roster::index_dependencies(OpRef op) {
  const OpRecord& record = at(op);
  const Ref id = intern(record.operation.id);
  mark_all(id_lists_.in(ids_[id].carriers));
  mark_all(id_lists_.in(ids_[id].dependents));
  id_lists_.push(ids_[id].carriers, op);
  for (const OpId& dependency : record.operation.causal_deps) {
    const Ref cause = intern(dependency);
    id_lists_.push(ids_[cause].dependents, op);
  }
}

Ref Roster::ref_of(const Digest& hash) const {
  return by_hash_.find(ref_hash(hash), [&](Ref one) { return at(one).key.hash == hash; });
}

Ref Roster::ref_of(const OpId& id) const {
  return by_id_.find(ref_hash(id.bytes), [&](Ref one) { return ids_[one].id == id; });
}

Ref Roster::ref_of(const Subject& subject) const {
  return by_subject_.find(ref_hash(subject.id),
                          [&](Ref one) { return subjects_[one].subject == subject; });
}

Ref Roster::intern(const OpId& id) {
  if (const Ref known = ref_of(id); known != kNoRef) {
    return known;
  }
  if (free_ids_.empty()) {
    free_ids_.push_back(static_cast<Ref>(ids_.size()));
    ids_.emplace_back();
  }
  const Ref added = free_ids_.back();
  free_ids_.pop_back();
  ids_[added].id = id;
  by_id_.insert(ref_hash(id.bytes), added);
  return added;
}

Ref Roster::intern(const Subject& subject) {
  if (const Ref known = ref_of(subject); known != kNoRef) {
    return known;
  }
  if (free_subjects_.empty()) {
    free_subjects_.push_back(static_cast<Ref>(subjects_.size()));
    subjects_.emplace_back();
  }
  const Ref added = free_subjects_.back();
  free_subjects_.pop_back();
  subjects_[added].subject = subject;
  by_subject_.insert(ref_hash(subject.id), added);
  return added;
}

RefLists::Range Roster::carriers(const OpId& id) const {
  const Ref known = ref_of(id);
  return id_lists_.in(known == kNoRef ? kNoRef : ids_[known].carriers);
}

const std::vector<OpRef>& Roster::about(const Subject& subject) const {
  static const std::vector<OpRef> kNone;
  const Ref known = ref_of(subject);
  return known == kNoRef ? kNone : subjects_[known].ops;
}

// Mostly at the end.
std::vector<OpRef>::const_iterator Roster::place_in(const std::vector<OpRef>& ops,
                                                    const OrderKey& key) const {
  if (ops.empty() || at(ops.back()).key < key) {
    return ops.end();
  }
  return std::lower_bound(ops.begin(), ops.end(), key,
                          [&](OpRef op, const OrderKey& other) { return at(op).key < other; });
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
    if (const auto ops = authors_.find(node_id_of(author)); ops != authors_.end()) {
      mark_all(ops->second.ops);
    }
  }
  for (const PublicKey& author : changes.refused) {
    if (const auto known = authors_.find(node_id_of(author)); known != authors_.end()) {
      mark_all(known->second.refused);
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

void Roster::mark(OpRef op) {
  if (!std::exchange(records_[op].waiting, true)) {
    marked_.add(at(op).key, op);
  }
}

// In the order of timestamps: what an operation depends on is judged before it.
void Roster::settle() {
  while (!marked_.empty()) {
    const OpRef op = marked_.take();
    if (!std::exchange(records_[op].waiting, false)) {
      continue;  // it was removed
    }
    ++judgements_;
    Judge judge(*this, op);
    const Judgement judgement = judge.run();
    for (const JobId& job : judge.watched()) {
      watchers_[job].insert(op);
    }
    store(op, judgement);
  }
  update_job_index();
}

void Roster::update_job_index() {
  for (const auto& [job, before] : before_) {
    const Ref subject = ref_of({Subject::Type::job, job.bytes});
    if (subject != kNoRef) {
      subjects_[subject].touched = false;
    }
    const JobState after = latest_job(job);
    const auto entry = [&, id = job](const JobState& state) {
      return state.phase == JobPhase::unknown
                 ? JobIndex::Entry{id, "", {}, state}
                 : JobIndex::Entry{id, kind_of(state), at(*state.schedule).key.at, state};
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
  if (record.subject != kNoRef) {
    remember_job(record);
  }
  note_authority(op, judgement);
  mark_what_follows(op, judgement);
  const Reason before = std::exchange(record.judgement, judgement).verdict.reason;
  record.judged = true;
  update_registers(op);
  if (is_integrity_failure(judgement.verdict.reason) && judgement.verdict.reason != before) {
    integrity_events_.push_back(view(op));
  }
}

void Roster::note_authority(OpRef op, const Judgement& judgement) {
  const OpRecord& record = at(op);
  if (!judgement.authorised) {
    authors_.at(record.key.at.node).refused.insert(op);
  } else if (record.judged && !record.judgement.authorised) {
    authors_.at(record.key.at.node).refused.erase(op);
  }
}

void Roster::remember_job(const OpRecord& record) {
  SubjectRecord& subject = subjects_[record.subject];
  if (subject.subject.type == Subject::Type::job && !std::exchange(subject.touched, true)) {
    before_.emplace_back(JobId{subject.subject.id}, at(subject.ops.back()).judgement.after.job);
  }
}

// Compares with the stored judgement, which is replaced afterwards.
void Roster::mark_what_follows(OpRef op, const Judgement& judgement) {
  const OpRecord& record = at(op);
  const Judgement& stored = record.judgement;
  if (stored.verdict.is_effective() != judgement.verdict.is_effective()) {
    mark_dependents(op);
  }
  if (stored.authorised != judgement.authorised) {
    mark_after(carriers(record.operation.id), record.key);
  }
  if (stored.verdict != judgement.verdict &&
      std::holds_alternative<CreateArtifact>(record.operation.payload)) {
    mark_after(outputs_, record.key);
  }
  if (stored.after != judgement.after) {
    mark_next_in_subject(op);
  }
}

void Roster::mark_dependents(OpRef op) {
  const OpRecord& record = at(op);
  mark_after(id_lists_.in(ids_[ref_of(record.operation.id)].dependents), record.key);
}

void Roster::mark_next_in_subject(OpRef op) {
  const OpRecord& record = at(op);
  const SubjectRecord& subject = subjects_[record.subject];
  if (subject.ops.back() != op) {
    mark(*(place_in(subject.ops, record.key) + 1));
  }
  if (subject.subject.type == Subject::Type::job) {
    if (const auto watching = watchers_.find({subject.subject.id}); watching != watchers_.end()) {
      mark_after(watching->second, record.key);
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
    if (is_applied != was_applied) {
      mark_jobs_of_kind(route->kind, record.key);
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

void Roster::mark_jobs_of_kind(const std::string& kind, const OrderKey& after) {
  if (const auto jobs = jobs_of_kind_.find(kind); jobs != jobs_of_kind_.end()) {
    for (const JobId& job : jobs->second) {
      mark_after(about({Subject::Type::job, job.bytes}), after);
    }
  }
}

SubjectState Roster::state_before(const std::vector<OpRef>& ops, const OrderKey& key) const {
  const auto place = place_in(ops, key);
  return place == ops.begin() ? SubjectState{} : at(*std::prev(place)).judgement.after;
}

const SubjectState* Roster::latest(const Subject& subject) const {
  const auto& ops = about(subject);
  return ops.empty() ? nullptr : &at(ops.back()).judgement.after;
}

JobState Roster::latest_job(const JobId& job) const {
  const SubjectState* state = latest({Subject::Type::job, job.bytes});
  return state == nullptr ? JobState{} : state->job;
}

std::string_view Roster::kind_of(const JobState& state) const {
  HOLDFAST_ASSERT(state.schedule.has_value());
  return std::get<ScheduleJob>(at(*state.schedule).operation.payload).kind;
}

}  // namespace holdfast::mesh
