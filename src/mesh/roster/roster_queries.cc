// The queries of the roster; none of them changes anything.
#include <algorithm>

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

std::optional<Verdict> Roster::verdict(const Digest& hash) const {
  const auto found = by_hash_.find(hash);
  return found == by_hash_.end() ? std::nullopt
                                 : std::optional(at(found->second).judgement.verdict);
}

std::vector<OpView> Roster::verdicts(const OpId& id) const {
  std::vector<OpView> views;
  if (const auto found = by_id_.find(id); found != by_id_.end()) {
    std::vector<OpRef> ops = found->second;
    std::sort(ops.begin(), ops.end(),
              [&](OpRef left, OpRef right) { return at(left).key < at(right).key; });
    for (const OpRef op : ops) {
      views.push_back(view(op));
    }
  }
  return views;
}

std::optional<JobView> Roster::job(const JobId& job) const {
  const JobState state = latest(job);
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
  const auto timeline = subjects_.find({Subject::Type::artifact, id.bytes});
  if (timeline == subjects_.end()) {
    return std::nullopt;
  }
  const SubjectState& state = at(timeline->second.rbegin()->second).judgement.after;
  if (!state.creation.has_value()) {
    return std::nullopt;
  }
  return ArtifactView{&at(*state.creation).operation, state.evicted};
}

std::vector<ArtifactId> Roster::artifacts() const {
  std::vector<ArtifactId> found;
  for (auto next = subjects_.lower_bound({Subject::Type::artifact, {}});
       next != subjects_.end() && next->first.type == Subject::Type::artifact; ++next) {
    if (at(next->second.rbegin()->second).judgement.after.creation.has_value()) {
      found.push_back({next->first.id});
    }
  }
  return found;
}

std::vector<const Operation*> Roster::effective_on(const Subject& subject) const {
  std::vector<const Operation*> found;
  if (const auto timeline = subjects_.find(subject); timeline != subjects_.end()) {
    for (const auto& [key, op] : timeline->second) {
      if (at(op).judgement.verdict.is_effective()) {
        found.push_back(&at(op).operation);
      }
    }
  }
  return found;
}

const Operation* Roster::find(const OpId& id) const {
  if (const auto found = by_id_.find(id); found != by_id_.end()) {
    for (const OpRef op : found->second) {
      if (at(op).judgement.verdict.is_effective()) {
        return &at(op).operation;
      }
    }
  }
  return nullptr;
}

const Operation* Roster::find_bytes(const Digest& hash) const {
  const auto found = by_hash_.find(hash);
  return found == by_hash_.end() ? nullptr : &at(found->second).operation;
}

bool Roster::is_on_log(const Digest& hash) const {
  const auto found = by_hash_.find(hash);
  return found != by_hash_.end() && at(found->second).on_log;
}

Digest Roster::state_digest() const {
  std::string text;
  for (const auto& [key, op] : by_time_) {
    text += to_hex(key.hash) + " " + to_text(at(op).judgement.verdict) + "\n";
  }
  const auto name_of = [&](const std::optional<OpRef>& op) {
    return op.has_value() ? to_hex(at(*op).key.hash) : std::string("-");
  };
  for (const auto& [subject, timeline] : subjects_) {
    const SubjectState& state = at(timeline.rbegin()->second).judgement.after;
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
  std::vector<const Operation*> found;
  for (auto next = by_time_.lower_bound({at, {}}); next != by_time_.end() && next->first.at == at;
       ++next) {
    found.push_back(&records_[next->second].operation);
  }
  return found;
}

std::vector<const Operation*> Roster::newer_than(const Frontier& frontier) const {
  std::vector<const Operation*> found;
  for (const auto& [key, op] : by_time_) {
    const auto known = frontier.find(key.at.node);
    if (known == frontier.end() || known->second < key.at) {
      found.push_back(&at(op).operation);
    }
  }
  return found;
}

std::optional<Timestamp> Roster::newest_of(NodeId node) const {
  const auto ops = by_author_.find(node);
  if (ops == by_author_.end()) {
    return std::nullopt;
  }
  Timestamp newest;
  for (const OpRef op : ops->second) {
    newest = std::max(newest, at(op).key.at);
  }
  return newest;
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
  std::vector<OpView> views;
  if (const auto timeline = subjects_.find({Subject::Type::job, job.bytes});
      timeline != subjects_.end()) {
    for (const auto& [key, op] : timeline->second) {
      views.push_back(view(op));
    }
  }
  return views;
}

std::vector<OpView> Roster::blocked() const {
  std::vector<OpView> views;
  for (const auto& [key, op] : by_time_) {
    if (this->at(op).judgement.verdict.outcome == Outcome::deferred) {
      views.push_back(view(op));
    }
  }
  return views;
}

std::vector<OpId> Roster::unmet_dependencies(const Digest& hash) const {
  std::vector<OpId> unmet;
  const auto found = by_hash_.find(hash);
  if (found == by_hash_.end()) {
    return unmet;
  }
  const OpRecord& record = at(found->second);
  for (const OpId& id : record.operation.causal_deps) {
    const auto known = by_id_.find(id);
    const bool met =
        known != by_id_.end() &&
        std::any_of(known->second.begin(), known->second.end(), [&](OpRef other) {
          return at(other).key.at < record.key.at && at(other).judgement.verdict.is_effective();
        });
    if (!met) {
      unmet.push_back(id);
    }
  }
  return unmet;
}

bool Roster::is_settled(const JobId& job, const std::set<NodeId>& confirmed) const {
  const JobState state = latest(job);
  if (state.phase != JobPhase::completed) {
    return false;
  }
  const Timestamp& completed = at(*state.completion).key.at;
  const auto claimers = graph_.possible_claimers(kind_of(state));
  return std::all_of(claimers.begin(), claimers.end(), [&](NodeId node) {
    if (confirmed.contains(node)) {
      return true;
    }
    const auto ops = by_author_.find(node);
    return ops != by_author_.end() &&
           std::any_of(ops->second.begin(), ops->second.end(),
                       [&](OpRef op) { return completed < at(op).key.at; });
  });
}

}  // namespace holdfast::mesh
