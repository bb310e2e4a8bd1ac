// The state of one job, and the decision table that folds its operations: what each operation does
// in each state. step_job is pure and total; the roster calls it in the order of timestamps.
//
//   operation       Pending                 Claimed by X                    Completed
//   ScheduleJob     void duplicate_job      void duplicate_job              void duplicate_job
//   ClaimWork by Y  too long: void          too long: void lease_too_long   void job_completed
//                     lease_too_long        routed away from Y:
//                   routed away from Y:       void routed_elsewhere
//                     void                  Y != X: void already_claimed
//                     routed_elsewhere      in time: renewed
//                   else -> Claimed by Y    late: void renew_after_deadline
//   YieldWork by Y  void not_claimed        Y = X -> Pending                void job_completed
//                                           else void not_claimer
//   ExpireWork of C noop                    C != X: void stale_expire       noop
//                                           in time: void lease_not_expired
//                                           late -> Pending
//   CompleteJob     void not_claimed        Y != X: void not_claimer        void job_completed
//     by Y                                  of an old tenure:
//                                             void stale_tenure
//                                           else -> Completed
//
// Before its ScheduleJob a job is Unknown: ScheduleJob makes it Pending, everything else is
// deferred. In time means wall time <= deadline, for renewal and expiry alike.
#pragma once

#include <cstdint>
#include <optional>

#include "mesh/clock/hybrid_time.h"
#include "mesh/ops/mesh_ids.h"
#include "mesh/roster/verdict.h"

namespace holdfast::mesh {

enum class JobPhase : std::uint8_t { unknown, pending, claimed, completed };

// An operation in the roster, by the order in which it was added.
using OpRef = std::uint32_t;

struct JobState {
  JobPhase phase = JobPhase::unknown;
  std::optional<OpRef> schedule;
  std::optional<NodeId> claimer;      // kept by a completed job
  std::optional<OpRef> first_claim;   // of the tenure
  std::optional<OpRef> latest_claim;  // the renewal in force
  std::optional<std::uint64_t> deadline_ms;
  std::optional<OpRef> completion;
  std::uint32_t attempts = 0;  // tenures; renewals do not count
  std::uint32_t yields = 0;
  std::uint32_t expiries = 0;
  Timestamp last_transition;
  bool operator==(const JobState&) const = default;
};

enum class JobOpKind : std::uint8_t { schedule, claim, complete, yield, expire };

struct JobOp {
  JobOpKind kind{};
  OpRef op = 0;
  Timestamp at;                 // its node is the author
  std::uint64_t lease_ms = 0;   // of a claim
  bool too_long = false;        // the lease is longer than the rules allow
  bool of_old_tenure = false;   // a completion that the rules forbid for that reason
  NodeId expired_claimer = {};  // of an expiry
  std::optional<NodeId> route =
      std::nullopt;  // of the job's kind, in force at that time; for a claim
};

struct JobStep {
  Verdict verdict;
  JobState after;
};

JobStep step_job(const JobState& before, const JobOp& op);

}  // namespace holdfast::mesh

namespace holdfast {

template <>
inline constexpr std::string_view kEnumNames<mesh::JobPhase>[] = {"Unknown", "Pending", "Claimed",
                                                                  "Completed"};

}  // namespace holdfast
