// What the roster keeps for one operation, and the subject whose state it may change.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "mesh/capabilities/token.h"
#include "mesh/ops/operation.h"
#include "mesh/roster/job_state.h"
#include "mesh/roster/ref_table.h"

namespace holdfast::mesh {

// The order of the fold. Timestamps are unique among honest operations; the hash orders twins.
struct OrderKey {
  Timestamp at;
  Digest hash{};
  friend auto operator<=>(const OrderKey&, const OrderKey&) = default;
};

// What a group of operations is about; they are folded in the order of their timestamps.
struct Subject {
  enum class Type : std::uint8_t { job, artifact, claim, evidence };
  Type type{};
  IdBytes id{};
  friend auto operator<=>(const Subject&, const Subject&) = default;
};

struct SubjectState {
  JobState job;                   // of a job
  std::optional<OpRef> creation;  // of everything else: the first applied operation that creates it
  bool evicted = false;           // of an artifact
  bool operator==(const SubjectState&) const = default;
};

// The result of judging an operation.
struct Judgement {
  Verdict verdict;
  bool authorised = false;  // may own its id
  SubjectState after;       // of its subject; unchanged by an operation that is not applied
  bool operator==(const Judgement&) const = default;
};

// An operation whose signature is valid for the key of its author.
struct VerifiedOperation {
  Operation operation;
  PublicKey author;
  Digest hash{};               // of its wire bytes
  std::optional<Token> token;  // of a DelegateUcan, if it can be read
};
// The caller has verified the signature.
VerifiedOperation verified(Operation operation, const PublicKey& author);
// With the token that it carries; whose signature it has is still to be found out.
VerifiedOperation with_token(Operation operation, const Digest& hash);

// Operations in the order of the fold.
using Timeline = std::map<OrderKey, OpRef>;

struct OpRecord {
  Operation operation;
  PublicKey author;
  OrderKey key;
  Ref subject = kNoRef;                // of a SubjectRecord
  OpRef twin = 0;                      // the next with the same timestamp, in a ring; mostly itself
  std::shared_ptr<const Token> token;  // of a DelegateUcan; most operations have none
  Judgement judgement;
  bool judged = false;
  bool on_log = false;   // and not aside; never reset
  bool waiting = false;  // to be judged
};

// A subject, with the operations about it in the order of the fold.
struct SubjectRecord {
  Subject subject;
  std::vector<OpRef> ops;
  bool touched = false;  // its job has changed since the last settle
};

// An id that an operation has, or that others depend on.
struct IdRecord {
  OpId id;
  RefLists::Head carriers = kNoRef;    // operations with this id
  RefLists::Head dependents = kNoRef;  // operations that depend on it
};

std::optional<Subject> subject_of(const Payload& payload);
// The job that an operation of kinds 10 to 14 names.
std::optional<JobId> job_of(const Payload& payload);
// Entity and claim operations, which the coordinator authors.
bool is_derivation(const Payload& payload);
// Claims, episodes and suggested actions, which may come from inference.
bool is_output(const Payload& payload);

}  // namespace holdfast::mesh
