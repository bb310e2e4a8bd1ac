// The queries of the roster. The numbers at the tests are those of docs/mesh-tests.md.
#include "tests/support/mesh_fixture.h"

namespace holdfast::mesh::roster_queries_test {
namespace {

using RosterQueriesTest = MeshTest;

TEST_F(RosterQueriesTest, the_state_of_a_job_is_complete) {  // 157
  EXPECT_EQ(roster.job(job), std::nullopt);
  const OpId scheduled = schedule(10, "a.b");
  EXPECT_EQ(roster.job(job)->kind, "a.b");
  add(anna, 20, claim_by(anna, 100));
  const JobState state = roster.job(job)->state;
  EXPECT_EQ(state.phase, JobPhase::claimed);
  EXPECT_EQ(state.claimer, anna.node_id());
  EXPECT_EQ(state.deadline_ms, 120U);
  EXPECT_EQ(state.attempts, 1U);
  EXPECT_EQ(state.last_transition, (Timestamp{20, 0, anna.node_id()}));
  const auto history = roster.history(job);
  ASSERT_EQ(history.size(), 2U);
  EXPECT_EQ(history[0].id, scheduled);
}

TEST_F(RosterQueriesTest, pending_jobs_come_by_time_of_schedule_with_their_route) {  // 158
  const auto add_job = [&](unsigned number, std::uint64_t wall_ms) {
    add(owner, wall_ms, ScheduleJob{job_id(number), "k", {}, {}});
  };
  add_job(5, 30);
  add_job(6, 10);
  add_job(7, 20);
  add(owner, 40, ScheduleJob{job_id(8), "other", {}, {}});
  const Timestamp now{100, 0, {0}};
  const auto ids = [](const std::vector<PendingJob>& jobs) {
    std::vector<JobId> found;
    for (const PendingJob& each : jobs) {
      found.push_back(each.job);
    }
    return found;
  };
  EXPECT_EQ(ids(roster.pending("k")), (std::vector{job_id(6), job_id(7), job_id(5)}));
  EXPECT_EQ(roster.pending("k")[0].route, std::nullopt);
  add(anna, 50, ClaimWork{job_id(7), anna.node_id(), 10});
  EXPECT_EQ(ids(roster.pending("k")), (std::vector{job_id(6), job_id(5)}));
  add(owner, 60, RouteKind{"k", anna.node_id()});
  EXPECT_EQ(roster.pending("k")[0].route, anna.node_id());
  EXPECT_EQ(roster.pending_for("k", anna.public_key(), now).size(), 2U);
  EXPECT_TRUE(roster.pending_for("k", bert.public_key(), now).empty());
  EXPECT_TRUE(roster.pending_for("k", numbered_key(9).public_key(), now).empty());
  EXPECT_EQ(roster.pending_for("other", bert.public_key(), now).size(), 1U);
}

TEST_F(RosterQueriesTest, overdue_jobs_are_past_their_deadline_at_the_given_time) {  // 159
  schedule(10);
  add(anna, 20, claim_by(anna, 100));
  EXPECT_TRUE(roster.overdue({120, 9, {9}}).empty());
  EXPECT_EQ(roster.overdue({121, 0, {0}}), std::vector{job});
  add(anna, 100, claim_by(anna, 100));
  EXPECT_TRUE(roster.overdue({121, 0, {0}}).empty());
  add(anna, 110, completion());
  EXPECT_TRUE(roster.overdue({9'999, 0, {0}}).empty());
}

TEST_F(RosterQueriesTest, operations_are_found_by_id_by_time_and_by_frontier) {  // 33
  const OpId scheduled = schedule(10);
  const OpId claimed = add(anna, 20, claim_by(anna, 100));
  add(anna, 20, claim_by(anna, 200));
  EXPECT_EQ(roster.find(scheduled)->timestamp.wall_ms, 10U);
  EXPECT_EQ(roster.find(claimed), nullptr);  // void by its twin
  EXPECT_EQ(roster.verdicts(claimed).size(), 1U);
  EXPECT_EQ(roster.find_at({10, 0, owner.node_id()}).size(), 1U);
  EXPECT_EQ(roster.find_at({20, 0, anna.node_id()}).size(), 2U);
  EXPECT_TRUE(roster.find_at({20, 0, bert.node_id()}).empty());
  EXPECT_EQ(roster.newer_than({}).size(), roster.size());
  const Frontier known{{owner.node_id(), {10, 0, owner.node_id()}},
                       {anna.node_id(), {19, 0, anna.node_id()}},
                       {bert.node_id(), {10, 0, bert.node_id()}}};
  EXPECT_EQ(roster.newer_than(known).size(), 2U);
}

TEST_F(RosterQueriesTest, a_silent_coordinator_shows_and_stays_coordinator) {  // 84
  add(owner, 10, DesignateCoordinator{bert.node_id()});
  add(owner, 9'000'000, ScheduleJob{job, "k", {}, {}});
  EXPECT_EQ(roster.newest_of(bert.node_id())->wall_ms, 0U);
  EXPECT_EQ(roster.newest_of(numbered_key(9).node_id()), std::nullopt);
  EXPECT_EQ(roster.coordinator_at({9'000'001, 0, {0}}), bert.node_id());
}

TEST_F(RosterQueriesTest, a_completion_settles_when_every_possible_claimer_was_heard_after_it) {
  schedule(10);
  add(anna, 20, claim_by(anna));
  EXPECT_FALSE(roster.is_settled(job, {}));
  add(anna, 30, completion());
  EXPECT_FALSE(roster.is_settled(job, {}));
  add(anna, 31, YieldWork{job_id(9), anna.node_id(), ""});
  add(owner, 40, ScheduleJob{job_id(9), "k", {}, {}});
  EXPECT_FALSE(roster.is_settled(job, {}));  // bert may still have an older claim
  EXPECT_TRUE(roster.is_settled(job, {bert.node_id()}));
  add(bert, 41, ClaimWork{job_id(9), bert.node_id(), 5});
  EXPECT_TRUE(roster.is_settled(job, {}));
}

}  // namespace
}  // namespace holdfast::mesh::roster_queries_test
