// The queries of the roster; none of them changes anything.
#include <algorithm>
#include <iterator>

#include "base/blake3.h"
#include "mesh/roster/roster.h"

namespace holdfast::mesh {

std::string to_text(const Verdict& verdict) {
  std::string text(to_text(verdict.outcome));
  if (verdict.reason != Reason::none) {
    text += " " + std::string(to_text(verdict.reason));
  }
  if (verdict.caveat.has_value()) {
    text += "(" + std::string(to_text(*verdict.caveat)) + ")";
  }
  return text;
}

OpView Roster::view(OpRef op) const {
  const OpRecord& record = at(op);
  return {record.operation.id, record.key.hash, record.key.at, record.operation.payload.index(),
          record.judgement.verdict};
}

template <typename Refs>
std::vector<OpRef> Roster::in_order(const Refs& ops) const {
  std::vector<OpRef> sorted;
  for (const OpRef op : ops) {
    sorted.push_back(op);
  }
  std::sort(sorted.begin(), sorted.end(),
            [&](OpRef left, OpRef right) { return at(left).key < at(right).key; });
  return sorted;
}

template <typename Condition>
std::vector<OpRef> Roster::all_with(Condition condition) const {
  std::vector<OpRef> found;
  for (const auto& [node, author] : authors_) {
    std::copy_if(author.ops.begin(), author.ops.end(), std::back_inserter(found),
                 [&](OpRef op) { return condition(at(op)); });
  }
  return in_order(found);
}

std::vector<OpView> Roster::views(const std::vector<OpRef>& ops) const {
  std::vector<OpView> shown;
  shown.reserve(ops.size());
  for (const OpRef op : ops) {
    shown.push_back(view(op));
  }
  return shown;
}

std::vector<const Operation*> Roster::operations(const std::vector<OpRef>& ops) const {
  std::vector<const Operation*> found;
  found.reserve(ops.size());
  for (const OpRef op : ops) {
    found.push_back(&at(op).operation);
  }
  return found;
}

std::optional<Verdict> Roster::verdict(const Digest& hash) const {
  const OpRef op = ref_of(hash);
  return op == kNoRef ? std::nullopt : std::optional(at(op).judgement.verdict);
}

std::vector<OpView> Roster::verdicts(const OpId& id) const { return views(in_order(carriers(id))); }

std::optional<JobView> Roster::job(const JobId& job) const {
  const JobState state = latest_job(job);
  if (state.phase == JobPhase::unknown) {
    return std::nullopt;
  }
  return JobView{job, std::string(kind_of(state)), state};
}

std::vector<PendingJob> Roster::pending(std::string_view kind) const {
  const auto timeline = routes_.find(kind);
  std::optional<NodeId> route;
  if (timeline != routes_.end() && !timeline->second.empty()) {
    route = timeline->second.rbegin()->second;
  }
  std::vector<PendingJob> found;
  for (const JobId& job : jobs_.pending(kind)) {
    found.push_back({job, route});
  }
  return found;
}

std::vector<PendingJob> Roster::pending_for(std::string_view kind, const PublicKey& node,
                                            const Timestamp& now) const {
  const CaveatFacts facts{.wall_ms = now.wall_ms, .kind = kind};
  if (!graph_.admit(node, {Resource::job, Action::claim}, facts).admitted()) {
    return {};
  }
  auto found = pending(kind);
  std::erase_if(found, [&](const PendingJob& job) {
    return job.route.has_value() && *job.route != node_id_of(node);
  });
  return found;
}

std::vector<JobId> Roster::overdue(const Timestamp& now) const {
  return jobs_.overdue(now.wall_ms);
}

std::optional<ArtifactView> Roster::artifact(const ArtifactId& id) const {
  const SubjectState* state = latest({Subject::Type::artifact, id.bytes});
  if (state == nullptr || !state->creation.has_value()) {
    return std::nullopt;
  }
  return ArtifactView{&at(*state->creation).operation, state->evicted};
}

std::vector<ArtifactId> Roster::artifacts() const {
  std::vector<ArtifactId> found;
  for (const SubjectRecord& record : subjects_) {
    if (record.subject.type == Subject::Type::artifact &&
        artifact({record.subject.id}).has_value()) {
      found.push_back({record.subject.id});
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<const Operation*> Roster::effective_on(const Subject& subject) const {
  std::vector<OpRef> effective = about(subject);
  std::erase_if(effective, [&](OpRef op) { return !at(op).judgement.verdict.is_effective(); });
  return operations(effective);
}

OpRef Roster::effective_before(const OpId& id, const Timestamp& at) const {
  for (const OpRef op : carriers(id)) {
    const OpRecord& record = this->at(op);
    if (record.key.at < at && record.judgement.verdict.is_effective()) {
      return op;
    }
  }
  return kNoRef;
}

const Operation* Roster::find(const OpId& id) const {
  for (const OpRef op : carriers(id)) {
    if (at(op).judgement.verdict.is_effective()) {
      return &at(op).operation;
    }
  }
  return nullptr;
}

const Operation* Roster::find_bytes(const Digest& hash) const {
  const OpRef op = ref_of(hash);
  return op == kNoRef ? nullptr : &at(op).operation;
}

bool Roster::is_on_log(const Digest& hash) const {
  const OpRef op = ref_of(hash);
  return op != kNoRef && at(op).on_log;
}

Digest Roster::state_digest() const {
  std::string text;
  for (const OpRef op : all_with([](const OpRecord&) { return true; })) {
    text += to_hex(at(op).key.hash) + " " + to_text(at(op).judgement.verdict) + "\n";
  }
  const auto name_of = [&](const std::optional<OpRef>& op) {
    return op.has_value() ? to_hex(at(*op).key.hash) : std::string("-");
  };
  std::vector<Subject> known;
  for (const SubjectRecord& record : subjects_) {
    if (!record.ops.empty()) {
      known.push_back(record.subject);
    }
  }
  std::sort(known.begin(), known.end());
  for (const Subject& subject : known) {
    const SubjectState& state = *latest(subject);
    const JobState& job = state.job;
    text += to_hex(std::span<const std::byte>(subject.id)) + " " + std::string(to_text(job.phase)) +
            " " + (job.claimer.has_value() ? node_name(*job.claimer) : "-") + " " +
            name_of(job.first_claim) + " " + name_of(job.latest_claim) + " " +
            name_of(job.completion) + " " + std::to_string(job.deadline_ms.value_or(0)) + " " +
            std::to_string(job.attempts) + " " + name_of(state.creation) + "\n";
  }
  return blake3(text);
}

EntityRedirects Roster::entity_redirects() const {
  std::vector<EntityMerge> merges;
  std::vector<EntitySplit> splits;
  for (const OpRef op : derivations_) {
    const OpRecord& record = at(op);
    if (record.judgement.verdict.outcome != Outcome::applied) {
      continue;
    }
    const OpId& id = record.operation.id;
    if (const auto* merge = std::get_if<MergeEntities>(&record.operation.payload)) {
      const bool by_user = graph_.speaks_for_user(record.author, record.key.at.wall_ms);
      merges.push_back({id, by_user, merge->survivor, merge->consumed});
    } else if (const auto* split = std::get_if<SplitEntity>(&record.operation.payload)) {
      splits.push_back({id, split->original});
    }
  }
  return redirect_entities(std::move(merges), splits);
}

std::vector<const Operation*> Roster::find_at(const Timestamp& at) const {
  std::vector<OpRef> found;
  const OpRef first =
      by_time_.find(ref_hash(at), [&](OpRef one) { return this->at(one).key.at == at; });
  for (OpRef op = first; op != kNoRef;
       op = this->at(op).twin == first ? kNoRef : this->at(op).twin) {
    found.push_back(op);
  }
  return operations(in_order(found));
}

std::vector<const Operation*> Roster::newer_than(const Frontier& frontier) const {
  return operations(all_with([&](const OpRecord& record) {
    const auto known = frontier.find(record.key.at.node);
    return known == frontier.end() || known->second < record.key.at;
  }));
}

std::optional<Timestamp> Roster::newest_of(NodeId node) const {
  const auto author = authors_.find(node);
  return author == authors_.end() ? std::nullopt : std::optional(author->second.newest);
}

std::optional<NodeId> Roster::route_at(std::string_view kind, const Timestamp& at) const {
  const auto timeline = routes_.find(kind);
  if (timeline == routes_.end()) {
    return std::nullopt;
  }
  const auto next = timeline->second.lower_bound(at);
  return next == timeline->second.begin() ? std::nullopt : std::prev(next)->second;
}

std::optional<NodeId> Roster::coordinator_at(const Timestamp& at) const {
  const auto next = coordinators_.lower_bound(at);
  return next == coordinators_.begin() ? graph_.first_owner(at.wall_ms)
                                       : std::optional(std::prev(next)->second);
}

std::vector<OpView> Roster::history(const JobId& job) const {
  return views(about({Subject::Type::job, job.bytes}));
}

std::vector<OpView> Roster::blocked() const {
  return views(all_with([](const OpRecord& record) {
    return record.judgement.verdict.outcome == Outcome::deferred;
  }));
}

std::vector<OpId> Roster::unmet_dependencies(const Digest& hash) const {
  const OpRef op = ref_of(hash);
  if (op == kNoRef) {
    return {};
  }
  std::vector<OpId> unmet = at(op).operation.causal_deps;
  std::erase_if(unmet,
                [&](const OpId& id) { return effective_before(id, at(op).key.at) != kNoRef; });
  return unmet;
}

bool Roster::is_settled(const JobId& job, const std::set<NodeId>& confirmed) const {
  const JobState state = latest_job(job);
  if (state.phase != JobPhase::completed) {
    return false;
  }
  const Timestamp& completed = at(*state.completion).key.at;
  const auto claimers = graph_.possible_claimers(kind_of(state));
  return std::all_of(claimers.begin(), claimers.end(), [&](NodeId node) {
    if (confirmed.contains(node)) {
      return true;
    }
    const auto newest = newest_of(node);
    return newest.has_value() && completed < *newest;
  });
}

}  // namespace holdfast::mesh
