// The decision table of jobs, over every operation in every state. The numbers at the tests are
// those of docs/mesh-tests.md.
#include "mesh/roster/job_state.h"

#include <gtest/gtest.h>

#include <limits>

namespace holdfast::mesh::job_state_test {
namespace {

constexpr NodeId kHolder{1};
constexpr NodeId kOther{2};
constexpr std::uint64_t kDeadlineMs = 1000;

JobState pending_state() {
  JobState state;
  state.phase = JobPhase::pending;
  state.schedule = 0;
  return state;
}

JobState claimed_state() {
  JobState state = pending_state();
  state.phase = JobPhase::claimed;
  state.claimer = kHolder;
  state.first_claim = 1;
  state.latest_claim = 1;
  state.deadline_ms = kDeadlineMs;
  state.attempts = 1;
  return state;
}

JobState completed_state() {
  JobState state = claimed_state();
  state.phase = JobPhase::completed;
  state.deadline_ms.reset();
  state.completion = 2;
  return state;
}

JobOp op(JobOpKind kind, NodeId author, std::uint64_t wall_ms) {
  JobOp made;
  made.kind = kind;
  made.op = 9;
  made.at = {wall_ms, 0, author};
  made.lease_ms = 500;
  made.expired_claimer = kHolder;
  return made;
}

struct Row {
  JobOpKind kind;
  NodeId author;
  std::uint64_t wall_ms;
  std::optional<NodeId> route;
  NodeId expired;
  // When the job is unknown, pending, claimed and completed; and the first letters of the phases
  // that follow.
  std::string_view verdicts[4];
  std::string_view after;
};

constexpr std::uint64_t kInTime = kDeadlineMs;  // equal is in time
constexpr std::uint64_t kLate = kDeadlineMs + 1;
constexpr std::string_view kUnknown = "deferred unknown_job";
constexpr std::string_view kTwice = "void duplicate_job";
constexpr std::string_view kRouted = "void routed_elsewhere";
constexpr std::string_view kOpen = "void not_claimed";
constexpr std::string_view kForeign = "void not_claimer";
constexpr std::string_view kTaken = "void already_claimed";
constexpr std::string_view kDone = "void job_completed";
constexpr std::string_view kYes = "applied";
constexpr auto kNone = std::nullopt;

using enum JobOpKind;
const Row kRows[] = {
    {schedule, kOther, kInTime, kNone, {}, {kYes, kTwice, kTwice, kTwice}, "PPCD"},
    {claim, kHolder, kInTime, kNone, {}, {kUnknown, kYes, kYes, kDone}, "UCCD"},
    {claim,
     kHolder,
     kLate,
     kNone,
     {},
     {kUnknown, kYes, "void renew_after_deadline", kDone},
     "UCCD"},
    {claim, kOther, kInTime, kNone, {}, {kUnknown, kYes, kTaken, kDone}, "UCCD"},
    {claim, kOther, kLate, kNone, {}, {kUnknown, kYes, kTaken, kDone}, "UCCD"},
    {claim, kOther, kInTime, kHolder, {}, {kUnknown, kRouted, kRouted, kDone}, "UPCD"},
    {claim, kHolder, kInTime, kOther, {}, {kUnknown, kRouted, kRouted, kDone}, "UPCD"},
    {claim, kHolder, kInTime, kHolder, {}, {kUnknown, kYes, kYes, kDone}, "UCCD"},
    {yield, kHolder, kLate, kNone, {}, {kUnknown, kOpen, kYes, kDone}, "UPPD"},
    {yield, kOther, kLate, kNone, {}, {kUnknown, kOpen, kForeign, kDone}, "UPCD"},
    {expire,
     kOther,
     kInTime,
     kNone,
     kHolder,
     {kUnknown, "noop", "void lease_not_expired", "noop"},
     "UPCD"},
    {expire, kOther, kLate, kNone, kHolder, {kUnknown, "noop", kYes, "noop"}, "UPPD"},
    {expire, kHolder, kLate, kNone, kHolder, {kUnknown, "noop", kYes, "noop"}, "UPPD"},
    {expire, kOther, kLate, kNone, kOther, {kUnknown, "noop", "void stale_expire", "noop"}, "UPCD"},
    {complete, kHolder, kLate, kNone, {}, {kUnknown, kOpen, kYes, kDone}, "UPDD"},
    {complete, kOther, kInTime, kNone, {}, {kUnknown, kOpen, kForeign, kDone}, "UPCD"},
};

char letter_of(JobPhase phase) { return phase == JobPhase::completed ? 'D' : to_text(phase)[0]; }

TEST(JobTable, every_operation_in_every_state_has_one_verdict) {  // 37 to 52, 54, 55, 70
  const JobState states[] = {JobState{}, pending_state(), claimed_state(), completed_state()};
  for (const Row& row : kRows) {
    for (std::size_t i = 0; i < 4; ++i) {
      JobOp applied_op = op(row.kind, row.author, row.wall_ms);
      applied_op.route = row.route;
      applied_op.expired_claimer = row.expired;
      const JobStep step = step_job(states[i], applied_op);
      const auto where = "row " + std::to_string(&row - kRows) + ", state " + std::to_string(i);
      EXPECT_EQ(to_text(step.verdict), row.verdicts[i]) << where;
      EXPECT_EQ(letter_of(step.after.phase), row.after[i]) << where;
      if (step.verdict.outcome != Outcome::applied) {
        EXPECT_EQ(step.after, states[i]) << where;
      }
    }
  }
}

TEST(JobTable, a_claim_sets_the_deadline_from_its_own_time) {  // 39
  const JobStep step = step_job(pending_state(), op(JobOpKind::claim, kOther, 700));
  EXPECT_EQ(step.after.claimer, kOther);
  EXPECT_EQ(step.after.deadline_ms, 1200U);
  EXPECT_EQ(step.after.first_claim, 9U);
  EXPECT_EQ(step.after.attempts, 1U);
}

TEST(JobTable, a_renewal_replaces_the_deadline_and_is_not_an_attempt) {  // 50, 52
  const JobStep step = step_job(claimed_state(), op(JobOpKind::claim, kHolder, 100));
  EXPECT_EQ(step.after.deadline_ms, 600U);  // earlier than before
  EXPECT_EQ(step.after.first_claim, 1U);
  EXPECT_EQ(step.after.latest_claim, 9U);
  EXPECT_EQ(step.after.attempts, 1U);
  EXPECT_EQ(step_job(claimed_state(), op(JobOpKind::claim, kHolder, kDeadlineMs)).after.deadline_ms,
            kDeadlineMs + 500);
}

TEST(JobTable, a_huge_lease_never_expires) {  // 57
  JobOp forever = op(JobOpKind::claim, kHolder, 700);
  forever.lease_ms = std::numeric_limits<std::uint64_t>::max();
  const JobState held = step_job(pending_state(), forever).after;
  EXPECT_EQ(held.deadline_ms, std::numeric_limits<std::uint64_t>::max());
  const JobStep step = step_job(held, op(JobOpKind::expire, kOther, kMaxWallMs));
  EXPECT_EQ(step.verdict, voided(Reason::lease_not_expired));
}

TEST(JobTable, pending_clears_the_claim_and_completed_keeps_the_claimer) {
  const JobState open =
      step_job(claimed_state(), op(JobOpKind::expire, kOther, kDeadlineMs + 1)).after;
  JobState expected = pending_state();
  expected.attempts = 1;
  expected.expiries = 1;
  expected.last_transition = {kDeadlineMs + 1, 0, kOther};
  EXPECT_EQ(open, expected);
  const JobState done = step_job(claimed_state(), op(JobOpKind::complete, kHolder, 5)).after;
  EXPECT_EQ(done.claimer, kHolder);
  EXPECT_EQ(done.latest_claim, 1U);
  EXPECT_EQ(done.completion, 9U);
  EXPECT_EQ(done.deadline_ms, std::nullopt);
}

}  // namespace
}  // namespace holdfast::mesh::job_state_test
