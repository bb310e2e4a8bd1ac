// Roster: the state of all jobs of a mesh, computed from a set of operations.
//
// Guarantees: the state and every verdict are a function of the set of added operations; the order
// of addition does not matter. An operation that arrives late changes the past: everything that
// depended on it is judged again, in the order of timestamps, and nothing else is.
//
// Losing operations stay: they keep their verdict and may win later. Only remove() forgets one.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mesh/capabilities/token_graph.h"
#include "mesh/ops/frontier.h"
#include "mesh/ops/operation.h"
#include "mesh/roster/entity_merges.h"
#include "mesh/roster/job_index.h"
#include "mesh/roster/job_state.h"
#include "mesh/roster/mark_queue.h"
#include "mesh/roster/op_record.h"
#include "mesh/roster/roster_rules.h"
#include "mesh/roster/verdict.h"

namespace holdfast::mesh {

// A job as queries show it.
struct JobView {
  JobId job;
  std::string kind;
  JobState state;
  bool operator==(const JobView&) const = default;
};

struct PendingJob {
  JobId job;
  std::optional<NodeId> route;  // the only node that may claim it; none: any
  bool operator==(const PendingJob&) const = default;
};

// A completed job that is open again, because an operation arrived late or was revoked.
struct JobRegressed {
  JobId job;
  OpId completion;
  bool operator==(const JobRegressed&) const = default;
};

struct ArtifactView {
  const Operation* creation = nullptr;  // its payload is a CreateArtifact; valid until the next add
  bool evicted = false;
};

struct OpView {
  OpId id;
  Digest hash{};
  Timestamp at;
  std::size_t kind = 0;  // discriminant
  Verdict verdict;
};

enum class LogState : std::uint8_t { not_yet, on_log };

class Roster {
 public:
  explicit Roster(const PublicKey& user, RosterRules rules = {})
      : rules_(std::move(rules)), graph_(user) {}

  // Judges the operation and everything that it changes. False when these bytes are known.
  bool add(VerifiedOperation operation);
  // Adds without judging; settle() judges all at once. For loading many operations.
  bool insert(VerifiedOperation operation, LogState state = LogState::not_yet);
  void settle();
  // A token of an operation that is not in the set, because it is quarantined.
  void add_token(const Token& token);
  // That operation is gone, or has entered the set. The token must not be valid if it is gone.
  void remove_token(const Token& token);
  // Forgets an operation: one that is_removable, or that was just added and not served to others.
  // Everything that it changed is judged again. Its token must not be valid.
  void remove(const Digest& hash);
  // The operation is not on the log, and no valid token is in it.
  [[nodiscard]] bool is_removable(const Digest& hash) const;
  // Jobs that settled from completed to something else since the last call.
  std::vector<JobRegressed> take_regressed();
  // Operations that since the last call were found to have a twin or the id of another one: their
  // author, or whose key it has, broke a rule that honest nodes never break.
  std::vector<OpView> take_integrity_events() { return std::exchange(integrity_events_, {}); }
  // Operations that were found to belong on the log since the last call: their author was
  // authorised, or they could not be judged before. They stay there, whatever their verdict.
  std::vector<Digest> take_logged();

  [[nodiscard]] std::size_t size() const { return by_hash_.size(); }
  // How often an operation was judged, for the first time or again.
  [[nodiscard]] std::uint64_t judgements() const { return judgements_; }
  [[nodiscard]] const TokenGraph& tokens() const { return graph_; }

  // Verdicts on the operation with that hash of its wire bytes, or on all with that id, by time.
  [[nodiscard]] std::optional<Verdict> verdict(const Digest& hash) const;
  [[nodiscard]] std::vector<OpView> verdicts(const OpId& id) const;
  // Empty when no ScheduleJob for it was applied.
  [[nodiscard]] std::optional<JobView> job(const JobId& job) const;
  // In the order in which they were scheduled.
  [[nodiscard]] std::vector<PendingJob> pending(std::string_view kind) const;
  // Of these, what the node may claim at that time.
  [[nodiscard]] std::vector<PendingJob> pending_for(std::string_view kind, const PublicKey& node,
                                                    const Timestamp& now) const;
  // Claimed jobs whose deadline is before that time, earliest deadline first.
  [[nodiscard]] std::vector<JobId> overdue(const Timestamp& now) const;
  // The operation that created the artifact, by the first that was applied.
  [[nodiscard]] std::optional<ArtifactView> artifact(const ArtifactId& id) const;
  // All that were created, evicted ones too, by id.
  [[nodiscard]] std::vector<ArtifactId> artifacts() const;
  // The operations about a subject that are applied or a noop, by time.
  [[nodiscard]] std::vector<const Operation*> effective_on(const Subject& subject) const;
  // The operation with that id that is applied, or has no effect and is valid.
  [[nodiscard]] const Operation* find(const OpId& id) const;
  // The operation whose wire bytes have that hash.
  [[nodiscard]] const Operation* find_bytes(const Digest& hash) const;
  [[nodiscard]] bool is_on_log(const Digest& hash) const;
  [[nodiscard]] bool has_author(NodeId node) const { return authors_.contains(node); }
  // Of all verdicts and of the state of all jobs: equal for equal sets of operations.
  [[nodiscard]] Digest state_digest() const;
  // By merges and splits that are applied.
  [[nodiscard]] EntityRedirects entity_redirects() const;
  // All operations with that author and time; more than one if the author broke the rule.
  [[nodiscard]] std::vector<const Operation*> find_at(const Timestamp& at) const;
  // All operations that are newer than the frontier has for their author, by time.
  [[nodiscard]] std::vector<const Operation*> newer_than(const Frontier& frontier) const;
  // The newest operation of a node: a coordinator that is silent for long can be noticed.
  [[nodiscard]] std::optional<Timestamp> newest_of(NodeId node) const;
  [[nodiscard]] std::optional<NodeId> route_at(std::string_view kind, const Timestamp& at) const;
  // Empty when nothing is designated and the mesh has no owner at that time.
  [[nodiscard]] std::optional<NodeId> coordinator_at(const Timestamp& at) const;
  // All operations that name the job, by time.
  [[nodiscard]] std::vector<OpView> history(const JobId& job) const;
  // All deferred operations, by time.
  [[nodiscard]] std::vector<OpView> blocked() const;
  // The operations that this one names and that are not effective; for explanations.
  [[nodiscard]] std::vector<OpId> unmet_dependencies(const Digest& hash) const;
  // No correct node can still author an operation that comes before the completion: each node
  // that could claim the job is heard of after it, by an operation or in `confirmed` (it has
  // acknowledged the completion, and its operations were fetched since).
  [[nodiscard]] bool is_settled(const JobId& job, const std::set<NodeId>& confirmed) const;

 private:
  friend class Judge;

  void mark(OpRef op);
  template <typename Refs>
  void mark_all(const Refs& ops) {
    for (const OpRef op : ops) {
      mark(op);
    }
  }
  template <typename Refs>
  void mark_after(const Refs& ops, const OrderKey& key) {
    for (const OpRef op : ops) {
      if (key < at(op).key) {
        mark(op);
      }
    }
  }
  void mark_dependents(OpRef op);
  void index(OpRef op);
  void index_time(OpRef op);
  void index_subject(OpRef op);
  void index_dependencies(OpRef op);
  void add_delegation(OpRef op);
  void mark_authority_changes();
  [[nodiscard]] bool belongs_on_log(const OpRecord& record, const Judgement& judgement) const;
  void store(OpRef op, const Judgement& judgement);
  void note_authority(OpRef op, const Judgement& judgement);
  void mark_what_follows(OpRef op, const Judgement& judgement);
  void mark_next_in_subject(OpRef op);
  void update_registers(OpRef op);
  void mark_jobs_of_kind(const std::string& kind, const OrderKey& after);
  void remember_job(const OpRecord& record);
  void update_job_index();
  void unindex(OpRef op);
  void unindex_time(OpRef op);
  void unindex_id(OpRef op);
  void unindex_author(OpRef op);
  void unindex_subject(OpRef op);
  void unindex_kind(const ScheduleJob& schedule);
  void remove_delegation(OpRef op);
  void remove_if_unused(const Token& token);

  [[nodiscard]] const OpRecord& at(OpRef op) const { return records_[op]; }
  [[nodiscard]] Ref ref_of(const Digest& hash) const;
  [[nodiscard]] Ref ref_of(const OpId& id) const;
  [[nodiscard]] Ref ref_of(const Subject& subject) const;
  Ref intern(const OpId& id);
  Ref intern(const Subject& subject);
  void drop_if_unused(Ref id);
  // Operations with that id; none when it is unknown.
  [[nodiscard]] RefLists::Range carriers(const OpId& id) const;
  // The effective operation with that id and a smaller timestamp; kNoRef when there is none.
  [[nodiscard]] OpRef effective_before(const OpId& id, const Timestamp& at) const;
  // The operations about a subject in the order of the fold; none when it is unknown.
  [[nodiscard]] const std::vector<OpRef>& about(const Subject& subject) const;
  // The place of an operation with that key among operations in the order of the fold.
  [[nodiscard]] std::vector<OpRef>::const_iterator place_in(const std::vector<OpRef>& ops,
                                                            const OrderKey& key) const;
  // The state that the operations leave which come before that place.
  [[nodiscard]] SubjectState state_before(const std::vector<OpRef>& ops, const OrderKey& key) const;
  // The state of a subject just before that operation.
  [[nodiscard]] SubjectState state_before(const Subject& subject, const OrderKey& key) const {
    return state_before(about(subject), key);
  }
  // The same for the subject of an operation, just before it.
  [[nodiscard]] SubjectState state_before(const OpRecord& record) const {
    return state_before(subjects_[record.subject].ops, record.key);
  }
  [[nodiscard]] const SubjectState* latest(const Subject& subject) const;
  [[nodiscard]] JobState latest_job(const JobId& job) const;
  [[nodiscard]] std::string_view kind_of(const JobState& state) const;
  [[nodiscard]] OpView view(OpRef op) const;
  [[nodiscard]] std::vector<OpView> views(const std::vector<OpRef>& ops) const;
  [[nodiscard]] std::vector<const Operation*> operations(const std::vector<OpRef>& ops) const;
  // The same operations in the order of the fold.
  template <typename Refs>
  [[nodiscard]] std::vector<OpRef> in_order(const Refs& ops) const;
  // The operations for which a condition holds, in the order of the fold.
  template <typename Condition>
  [[nodiscard]] std::vector<OpRef> all_with(Condition condition) const;

  struct Author {
    std::vector<OpRef> ops;   // in no order
    std::set<OpRef> refused;  // those that nothing authorises
    Timestamp newest;
  };

  RosterRules rules_;
  TokenGraph graph_;
  std::deque<OpRecord> records_;
  std::vector<OpRef> free_records_;  // of removed operations
  RefTable by_hash_;
  RefTable by_time_;  // one of each ring of twins
  std::vector<IdRecord> ids_;
  std::vector<Ref> free_ids_;
  RefTable by_id_;
  RefLists id_lists_;
  std::vector<SubjectRecord> subjects_;
  std::vector<Ref> free_subjects_;
  RefTable by_subject_;
  std::map<NodeId, Author> authors_;
  std::map<std::string, std::vector<JobId>, std::less<>> jobs_of_kind_;  // by any ScheduleJob
  std::map<Digest, std::vector<OpRef>> delegations_;  // and revocations, by their token
  std::vector<OpRef> derivations_;
  std::vector<OpRef> outputs_;
  std::map<JobId, Timeline> snapshots_;
  std::map<JobId, std::set<OpRef>> watchers_;  // derivations and outputs that looked at the job
  std::map<std::string, std::map<Timestamp, std::optional<NodeId>>, std::less<>> routes_;
  std::map<Timestamp, NodeId> coordinators_;
  MarkQueue marked_;
  std::uint64_t judgements_ = 0;

  JobIndex jobs_;
  std::vector<std::pair<JobId, JobState>> before_;  // of the jobs touched since the last settle
  std::vector<JobRegressed> regressed_;
  std::vector<OpView> integrity_events_;
  std::vector<OpRef> logged_;
  std::map<Digest, std::uint32_t> spare_tokens_;  // of quarantined operations
};

}  // namespace holdfast::mesh
