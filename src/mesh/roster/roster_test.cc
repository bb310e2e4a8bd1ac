// Jobs, routes, the coordinator and dependencies, as operations arrive. The numbers at the tests
// are those of docs/mesh-tests.md.
#include "mesh/roster/roster.h"

#include "tests/support/mesh_fixture.h"

namespace holdfast::mesh::roster_test {
namespace {

class RosterTest : public MeshTest {};

TEST_F(RosterTest, a_scheduled_job_is_pending_and_keeps_its_first_schedule) {  // 37, 38
  EXPECT_EQ(phase(job), "Unknown");
  schedule(20, "late");
  EXPECT_EQ(phase(job), "Pending");
  const OpId duplicate = add(owner, 30, ScheduleJob{job, "other", {}, {}});
  EXPECT_EQ(verdict(duplicate), "void duplicate_job");
  EXPECT_EQ(roster.job(job)->kind, "late");
  schedule(10, "first");  // arrives last
  EXPECT_EQ(roster.job(job)->kind, "first");
}

TEST_F(RosterTest, a_job_is_claimed_completed_and_then_closed) {  // 39, 40, 48
  schedule(10);
  add(anna, 20, claim_by(anna, 100));
  EXPECT_EQ(phase(job), "Claimed");
  EXPECT_EQ(roster.job(job)->state.deadline_ms, 120U);
  add(anna, 30, completion());
  EXPECT_EQ(phase(job), "Completed");
  EXPECT_EQ(verdict(add(bert, 40, claim_by(bert))), "void job_completed");
}

TEST_F(RosterTest, only_the_claimer_completes_and_yields) {  // 41, 42, 43
  schedule(10);
  add(anna, 20, claim_by(anna));
  EXPECT_EQ(verdict(add(bert, 30, completion())), "void not_claimer");
  EXPECT_EQ(verdict(add(bert, 31, yield_by(bert))), "void not_claimer");
  EXPECT_EQ(claimer(job), anna.node_id());
  EXPECT_EQ(verdict(add(anna, 32, yield_by(anna))), "applied");
  EXPECT_EQ(phase(job), "Pending");
}

TEST_F(RosterTest, a_lease_expires_strictly_after_its_deadline_and_by_any_author) {  // 44, 45, 46
  schedule(10);
  add(anna, 20, claim_by(anna, 100));
  EXPECT_EQ(verdict(add(bert, 119, expiry_of(anna))), "void lease_not_expired");
  EXPECT_EQ(verdict(add(bert, 120, expiry_of(anna))), "void lease_not_expired");
  EXPECT_EQ(verdict(add(bert, 121, expiry_of(bert))), "void stale_expire");
  EXPECT_EQ(phase(job), "Claimed");
  EXPECT_EQ(verdict(add(bert, 122, expiry_of(anna))), "applied");
  EXPECT_EQ(phase(job), "Pending");
}

TEST_F(RosterTest, many_expiries_are_one) {  // 47
  schedule(10);
  add(anna, 20, claim_by(anna, 100));
  EXPECT_EQ(verdict(add(bert, 200, expiry_of(anna))), "applied");
  EXPECT_EQ(verdict(add(owner, 201, expiry_of(anna))), "noop");
  EXPECT_EQ(roster.job(job)->state.expiries, 1U);
  add(anna, 202, claim_by(anna, 100));
  EXPECT_EQ(verdict(add(bert, 203, expiry_of(anna))), "void lease_not_expired");
}

TEST_F(RosterTest, a_claimed_job_is_not_claimed_by_another) {  // 49
  schedule(10);
  add(anna, 20, claim_by(anna));
  EXPECT_EQ(verdict(add(bert, 30, claim_by(bert))), "void already_claimed");
}

TEST_F(RosterTest, a_renewal_extends_until_the_deadline_and_not_after) {  // 50, 51, 52
  schedule(10);
  add(anna, 20, claim_by(anna, 100));
  EXPECT_EQ(verdict(add(anna, 120, claim_by(anna, 100))), "applied");
  EXPECT_EQ(roster.job(job)->state.deadline_ms, 220U);
  EXPECT_EQ(verdict(add(anna, 221, claim_by(anna, 100))), "void renew_after_deadline");
  EXPECT_EQ(roster.job(job)->state.deadline_ms, 220U);
  EXPECT_EQ(roster.job(job)->state.attempts, 1U);
}

TEST_F(RosterTest, a_job_stays_claimed_past_its_deadline_and_may_still_complete) {  // 54, 55
  schedule(10);
  add(anna, 20, claim_by(anna, 100));
  schedule(5000);  // time passes
  EXPECT_EQ(phase(job), "Claimed");
  EXPECT_EQ(verdict(add(anna, 900, completion())), "applied");
}

TEST_F(RosterTest, the_smaller_timestamp_wins_in_every_order_of_arrival) {  // 53, 58
  schedule(10);
  const OpId late = add(anna, 30, claim_by(anna));
  EXPECT_EQ(claimer(job), anna.node_id());
  add(bert, 20, claim_by(bert));
  EXPECT_EQ(claimer(job), bert.node_id());
  EXPECT_EQ(verdict(late), "void already_claimed");
}

TEST_F(RosterTest, at_equal_times_the_lower_node_id_wins) {  // 59
  schedule(10);
  add(anna, 20, claim_by(anna));
  add(bert, 20, claim_by(bert));
  EXPECT_EQ(claimer(job), std::min(anna.node_id(), bert.node_id()));
}

TEST_F(RosterTest, two_operations_with_one_timestamp_are_both_void) {  // 27, 60
  schedule(10);
  const OpId first = add(anna, 20, claim_by(anna, 100));
  EXPECT_EQ(verdict(first), "applied");
  const OpId twin = add(anna, 20, claim_by(anna, 200));
  EXPECT_EQ(verdict(first), "void integrity_duplicate_hlc");
  EXPECT_EQ(verdict(twin), "void integrity_duplicate_hlc");
  EXPECT_EQ(phase(job), "Pending");
  add(bert, 30, claim_by(bert));
  EXPECT_EQ(claimer(job), bert.node_id());
  EXPECT_EQ(roster.history(job).size(), 4U);  // both stay
}

TEST_F(RosterTest, an_id_belongs_to_the_first_authorised_operation) {
  schedule(10);
  const VerifiedOperation good = make(anna, 30, claim_by(anna));
  const auto with_id = [&](const SigningKey& author, std::uint64_t wall_ms) {
    Operation thief;
    thief.id = good.operation.id;
    thief.timestamp = {wall_ms, 0, author.node_id()};
    thief.payload = claim_by(author);
    return verified(thief, author.public_key());
  };
  add(with_id(bert, 40));
  EXPECT_EQ(claimer(job), bert.node_id());
  add(good);
  EXPECT_EQ(claimer(job), anna.node_id());
  const auto views = roster.verdicts(good.operation.id);
  ASSERT_EQ(views.size(), 2U);
  EXPECT_EQ(to_text(views[1].verdict), "void integrity_id_conflict");
  // A stranger cannot take an id away.
  add(with_id(numbered_key(77), 20));
  EXPECT_EQ(to_text(roster.verdicts(good.operation.id)[1].verdict), "applied");
}

TEST_F(RosterTest, a_late_operation_judges_the_rest_of_its_own_job_again) {
  for (unsigned number = 1; number <= 100; ++number) {
    const JobId each = job_id(number);
    add(owner, 10, ScheduleJob{each, "k", {}, {}}, {}, number);
    add(anna, 30, ClaimWork{each, anna.node_id(), 100}, {}, number);
    add(anna, 40, CompleteJob{each, {}, {}, {}}, {}, number);
  }
  const std::uint64_t before = roster.judgements();
  add(bert, 20, ClaimWork{job_id(50), bert.node_id(), 100});
  EXPECT_EQ(claimer(job_id(50)), bert.node_id());
  EXPECT_EQ(roster.judgements() - before, 3U);  // itself, the claim and the completion
}

TEST_F(RosterTest, tokens_without_a_chain_judge_only_what_is_refused_again) {
  const SigningKey stranger = numbered_key(60);
  for (unsigned number = 1; number <= 100; ++number) {
    add(anna, 10, ScheduleJob{job_id(number), "k", {}, {}}, {}, number);
  }
  const OpId refused = add(anna, 20, RouteKind{"k", std::nullopt});
  const std::uint64_t before = roster.judgements();
  delegate(bert, stranger, spec_for(anna, {grant("*", "*")}));
  delegate(bert, stranger, spec_for(anna, {grant("Job", "*")}, {blake3("nothing")}));
  EXPECT_EQ(roster.judgements() - before, 4U);  // each delegation, and what is refused
  EXPECT_EQ(verdict(refused), "parked not_owner");
  const SigningKey clara = numbered_key(9);
  const OpId waits = add(clara, 30, ScheduleJob{job_id(200), "k", {}, {}});
  EXPECT_EQ(verdict(waits), "parked no_chain");
  delegate(bert, stranger, spec_for(clara, {grant("Job", "*")}, {blake3("nothing")}));
  EXPECT_EQ(verdict(waits), "parked missing_proof");
}

TEST_F(RosterTest, twins_and_taken_ids_are_reported_once) {
  schedule(10);
  const OpId first = add(anna, 20, claim_by(anna));
  EXPECT_TRUE(roster.take_integrity_events().empty());
  const OpId second = add(anna, 20, claim_by(anna, 200));
  const auto ids = [&] {
    std::set<OpId> found;
    for (const OpView& event : roster.take_integrity_events()) {
      EXPECT_EQ(event.verdict.outcome, Outcome::void_);
      found.insert(event.id);
    }
    return found;
  };
  EXPECT_EQ(ids(), (std::set{first, second}));
  Operation thief = make(bert, 30, claim_by(bert)).operation;
  thief.id = add(anna, 25, yield_by(anna));
  add(verified(thief, bert.public_key()));
  EXPECT_EQ(ids(), std::set{thief.id});
  add(owner, 5, RouteKind{"k", bert.node_id()});  // all are judged again
  EXPECT_EQ(ids(), std::set<OpId>());
}

TEST_F(RosterTest, a_claim_counts_only_after_its_schedule_in_time_whenever_it_arrives) {  // 61, 62
  const OpId early = add(anna, 5, claim_by(anna));
  const OpId later = add(bert, 20, claim_by(bert));
  EXPECT_EQ(verdict(later), "deferred unknown_job");
  schedule(10);
  EXPECT_EQ(verdict(early), "deferred unknown_job");
  EXPECT_EQ(verdict(later), "applied");
  EXPECT_EQ(claimer(job), bert.node_id());
}

TEST_F(RosterTest, a_losing_claim_wins_when_an_earlier_yield_arrives_late) {  // 63
  schedule(10);
  add(anna, 20, claim_by(anna));
  const OpId losing = add(bert, 40, claim_by(bert));
  EXPECT_EQ(verdict(losing), "void already_claimed");
  add(anna, 30, yield_by(anna));
  EXPECT_EQ(verdict(losing), "applied");
  EXPECT_EQ(claimer(job), bert.node_id());
}

TEST_F(RosterTest, a_late_renewal_voids_an_expiry_and_the_claim_built_on_it) {  // 64
  schedule(10);
  add(anna, 20, claim_by(anna, 100));
  const OpId expiry = add(bert, 150, expiry_of(anna));
  const OpId built_on = add(bert, 160, claim_by(bert));
  EXPECT_EQ(claimer(job), bert.node_id());
  add(anna, 110, claim_by(anna, 100));
  EXPECT_EQ(verdict(expiry), "void lease_not_expired");
  EXPECT_EQ(verdict(built_on), "void already_claimed");
  EXPECT_EQ(claimer(job), anna.node_id());
}

TEST_F(RosterTest, a_late_smaller_claim_reopens_a_completed_job_and_is_reported) {  // 65
  schedule(10);
  add(anna, 30, claim_by(anna));
  const OpId done = add(anna, 40, completion());
  EXPECT_TRUE(roster.take_regressed().empty());
  add(bert, 20, claim_by(bert));
  EXPECT_EQ(phase(job), "Claimed");
  EXPECT_EQ(verdict(done), "void not_claimer");
  EXPECT_EQ(roster.take_regressed(), (std::vector<JobRegressed>{{job, done}}));
  EXPECT_TRUE(roster.take_regressed().empty());
}

TEST_F(RosterTest, a_released_job_is_claimed_again_by_either_worker) {  // 66
  schedule(10);
  add(anna, 20, claim_by(anna, 100));
  add(anna, 30, yield_by(anna));
  EXPECT_EQ(verdict(add(anna, 40, claim_by(anna, 100))), "applied");
  add(bert, 200, expiry_of(anna));
  EXPECT_EQ(verdict(add(bert, 210, claim_by(bert, 100))), "applied");
  add(bert, 220, yield_by(bert));
  EXPECT_EQ(verdict(add(bert, 230, claim_by(bert, 100))), "applied");
  EXPECT_EQ(roster.job(job)->state.attempts, 4U);
}

TEST_F(RosterTest, only_the_owner_routes_and_designates) {  // 68, 69, 78
  const Token root = delegate(owner, user, spec_for(owner, {grant("Mesh", "*")}));
  delegate(anna, owner, spec_for(anna, {grant("Mesh", "Write")}, {root.cid}));
  EXPECT_EQ(verdict(add(anna, 5, RouteKind{"k", anna.node_id()})), "parked not_owner");
  EXPECT_EQ(verdict(add(bert, 6, RouteKind{"k", anna.node_id()})), "parked not_owner");
  EXPECT_EQ(verdict(add(anna, 7, DesignateCoordinator{anna.node_id()})), "parked not_owner");
  EXPECT_EQ(verdict(add(owner, 8, RouteKind{"k", anna.node_id()})), "applied");
  EXPECT_EQ(verdict(add(owner, 9, DesignateCoordinator{anna.node_id()})), "applied");
}

TEST_F(RosterTest, a_routed_kind_is_claimed_by_its_target_only) {  // 70, 71
  add(owner, 5, RouteKind{"k", anna.node_id()});
  schedule(10);
  EXPECT_EQ(verdict(add(bert, 20, claim_by(bert))), "void routed_elsewhere");
  EXPECT_EQ(verdict(add(anna, 30, claim_by(anna))), "applied");
}

TEST_F(RosterTest, the_latest_route_is_in_force_and_clearing_it_opens_the_kind) {  // 72, 73
  add(owner, 7, RouteKind{"k", bert.node_id()});
  add(owner, 6, RouteKind{"k", anna.node_id()});  // arrives later, is older
  schedule(10);
  const OpId claim = add(anna, 20, claim_by(anna));
  EXPECT_EQ(verdict(claim), "void routed_elsewhere");
  add(owner, 8, RouteKind{"k", std::nullopt});
  EXPECT_EQ(verdict(claim), "applied");
  EXPECT_EQ(roster.route_at("k", {8, 0, {0}}), bert.node_id());
  EXPECT_EQ(roster.route_at("k", {9, 0, {0}}), std::nullopt);
}

TEST_F(RosterTest, a_route_is_for_one_exact_kind) {  // 74
  add(owner, 5, RouteKind{"k", bert.node_id()});
  schedule(10, "k.sub");
  EXPECT_EQ(verdict(add(anna, 20, claim_by(anna))), "applied");
}

TEST_F(RosterTest, a_late_route_voids_only_claims_after_it) {  // 75
  schedule(10);
  const OpId claim = add(anna, 20, claim_by(anna));
  add(owner, 25, RouteKind{"k", bert.node_id()});
  EXPECT_EQ(verdict(claim), "applied");
  add(owner, 15, RouteKind{"k", bert.node_id()});
  EXPECT_EQ(verdict(claim), "void routed_elsewhere");
}

TEST_F(RosterTest, a_route_during_a_lease_stops_renewals_and_not_the_completion) {  // 76
  schedule(10);
  add(anna, 20, claim_by(anna, 100));
  add(owner, 30, RouteKind{"k", bert.node_id()});
  EXPECT_EQ(verdict(add(anna, 40, claim_by(anna, 100))), "void routed_elsewhere");
  EXPECT_EQ(verdict(add(anna, 50, completion())), "applied");
}

TEST_F(RosterTest, the_routes_of_a_revoked_owner_vanish) {  // 77
  const SigningKey second = numbered_key(8);
  const Token root = delegate(second, user, spec_for(second, {grant("*", "*")}));
  add(second, 5, RouteKind{"k", bert.node_id()});
  schedule(10);
  const OpId claim = add(anna, 20, claim_by(anna));
  EXPECT_EQ(verdict(claim), "void routed_elsewhere");
  add(owner, 30, RevokeUcan{root.cid});
  EXPECT_EQ(verdict(claim), "applied");
}

TEST_F(RosterTest, the_coordinator_derives_and_others_do_not) {  // 79, 80, 81, 82
  const auto entity = [&](const SigningKey& author, std::uint64_t wall_ms) {
    return add(author, wall_ms, CreateEntity{{}, EntityType::person, "x", {}});
  };
  const OpId by_anna = entity(anna, 20);
  EXPECT_EQ(verdict(entity(owner, 21)), "applied");  // the owner, by default
  EXPECT_EQ(verdict(by_anna), "void not_coordinator");
  add(owner, 25, DesignateCoordinator{bert.node_id()});
  EXPECT_EQ(verdict(entity(bert, 30)), "applied");
  add(owner, 15, DesignateCoordinator{anna.node_id()});  // arrives late
  EXPECT_EQ(verdict(by_anna), "applied");
  EXPECT_EQ(verdict(entity(anna, 31)), "void not_coordinator");
  EXPECT_EQ(roster.coordinator_at({15, 0, owner.node_id()}), owner.node_id());
  EXPECT_EQ(roster.coordinator_at({20, 0, {0}}), anna.node_id());
  EXPECT_EQ(roster.coordinator_at({30, 0, {0}}), bert.node_id());
}

TEST_F(RosterTest, the_output_of_a_job_that_the_author_holds_is_not_blocked) {  // 83
  schedule(10);
  const OpId claim = add(anna, 20, claim_by(anna));
  CreateClaim output;
  output.provenance.jobs = {job};
  const OpId named = add(anna, 30, output);
  const OpId caused = add(anna, 31, CreateEntity{{}, EntityType::person, "x", {}}, {claim});
  EXPECT_EQ(verdict(named), "applied");
  EXPECT_EQ(verdict(caused), "applied");
  EXPECT_EQ(verdict(add(bert, 32, output)), "void not_coordinator");
  add(anna, 25, yield_by(anna));  // arrives late: the job was not held any more
  EXPECT_EQ(verdict(named), "void not_coordinator");
  EXPECT_EQ(verdict(caused), "void not_coordinator");
}

TEST_F(RosterTest, an_operation_waits_for_its_dependencies_in_any_order) {  // 85, 86
  schedule(10);
  const VerifiedOperation claim = make(anna, 20, claim_by(anna));
  const VerifiedOperation done = make(anna, 30, completion(), {claim.operation.id});
  const JobId next = job_id(2);
  const VerifiedOperation chained =
      make(owner, 40, ScheduleJob{next, "k", {}, {}}, {done.operation.id});
  add(chained);
  EXPECT_EQ(verdict(chained.operation.id), "deferred missing_dep");
  EXPECT_EQ(phase(next), "Unknown");
  EXPECT_EQ(roster.unmet_dependencies(chained.hash), Deps{done.operation.id});
  add(done);
  EXPECT_EQ(verdict(done.operation.id), "deferred missing_dep");
  EXPECT_EQ(verdict(chained.operation.id), "deferred dep_void");
  EXPECT_EQ(roster.blocked().size(), 2U);
  add(claim);
  EXPECT_EQ(verdict(chained.operation.id), "applied");
  EXPECT_EQ(phase(next), "Pending");
  EXPECT_TRUE(roster.blocked().empty());
}

TEST_F(RosterTest, a_dependency_that_is_not_earlier_is_a_violation) {  // 87, 88
  const VerifiedOperation second = make(owner, 20, ScheduleJob{job_id(2), "k", {}, {}});
  VerifiedOperation first =
      make(owner, 10, ScheduleJob{job_id(3), "k", {}, {}}, {second.operation.id});
  add(first);
  EXPECT_EQ(verdict(first.operation.id), "deferred missing_dep");
  Operation cyclic = second.operation;
  cyclic.causal_deps = {first.operation.id};
  add(verified(cyclic, owner.public_key()));
  EXPECT_EQ(verdict(first.operation.id), "rejected causality_violation");
  EXPECT_EQ(verdict(cyclic.id), "deferred dep_void");
  // At equal times the node decides which one is earlier.
  const bool anna_first = anna.node_id() < bert.node_id();
  const SigningKey& low = anna_first ? anna : bert;
  const SigningKey& high = anna_first ? bert : anna;
  const OpId by_high = add(high, 50, ScheduleJob{job_id(4), "k", {}, {}});
  EXPECT_EQ(verdict(add(low, 50, ScheduleJob{job_id(5), "k", {}, {}}, {by_high})),
            "rejected causality_violation");
  const OpId by_low = add(low, 60, ScheduleJob{job_id(6), "k", {}, {}});
  EXPECT_EQ(verdict(add(high, 60, ScheduleJob{job_id(7), "k", {}, {}}, {by_low})), "applied");
}

TEST_F(RosterTest, a_void_dependency_defers_until_it_takes_effect) {  // 89, 91
  schedule(10);
  add(anna, 20, claim_by(anna));
  const OpId losing = add(bert, 30, claim_by(bert));
  const JobId next = job_id(2);
  const OpId chained = add(owner, 40, ScheduleJob{next, "k", {}, {}}, {losing});
  EXPECT_EQ(verdict(chained), "deferred dep_void");
  EXPECT_EQ(phase(next), "Unknown");
  EXPECT_EQ(roster.pending("k").size(), 0U);  // not offered to workers
  const OpId yielded = add(anna, 25, yield_by(anna));
  EXPECT_EQ(verdict(yielded), "applied");
  EXPECT_EQ(verdict(chained), "applied");
  EXPECT_EQ(roster.pending("k").size(), 1U);
}

TEST_F(RosterTest, a_dependency_is_the_operation_that_owns_its_id) {
  const VerifiedOperation cause = make(owner, 10, ScheduleJob{job, "k", {}, {}});
  const auto with_its_id = [&](const SigningKey& author, std::uint64_t wall_ms) {
    Operation thief = cause.operation;
    thief.timestamp = {wall_ms, 0, author.node_id()};
    thief.payload = ScheduleJob{job_id(2), "k", {}, {}};
    return verified(thief, author.public_key());
  };
  const OpId claimed = add(anna, 20, claim_by(anna), {cause.operation.id});
  EXPECT_EQ(verdict(claimed), "deferred missing_dep");
  add(with_its_id(bert, 30));  // as far as this replica knows, the cause is later than the claim
  EXPECT_EQ(verdict(claimed), "rejected causality_violation");
  add(cause);
  EXPECT_EQ(verdict(claimed), "applied");
  add(with_its_id(numbered_key(77), 5));  // an earlier one that nothing authorises
  EXPECT_EQ(verdict(claimed), "applied");
  EXPECT_EQ(phase(job_id(2)), "Unknown");
  add(with_its_id(bert, 8));  // an earlier one that is authorised takes the id away
  EXPECT_EQ(phase(job_id(2)), "Pending");
  EXPECT_EQ(phase(job), "Unknown");
  EXPECT_EQ(verdict(claimed), "deferred unknown_job");  // its dependency is met, by that one
}

TEST_F(RosterTest, a_second_creation_of_an_artifact_has_nothing_left_to_do) {
  CreateArtifact created;
  created.artifact_id = sample_id<ArtifactId>();
  const OpId first = add(anna, 10, created);
  const OpId second = add(bert, 20, created);
  EXPECT_EQ(verdict(first), "applied");
  EXPECT_EQ(verdict(second), "noop");
  EXPECT_EQ(verdict(add(bert, 30, EvictArtifact{created.artifact_id})), "void not_owner");
  EXPECT_EQ(verdict(add(bert, 40, ScheduleJob{job, "k", {}, {}}, {second})), "applied");
  const OpId earlier = add(bert, 5, created);
  EXPECT_EQ(verdict(earlier), "applied");
  EXPECT_EQ(verdict(first), "noop");
}

TEST_F(RosterTest, an_artifact_is_evicted_by_its_creator_or_an_owner_once) {
  const ArtifactId artifact = sample_id<ArtifactId>();
  const OpId early = add(anna, 5, EvictArtifact{artifact});
  CreateArtifact created;
  created.artifact_id = artifact;
  add(anna, 10, created);
  EXPECT_EQ(verdict(early), "deferred missing_dep");
  EXPECT_EQ(verdict(add(bert, 20, EvictArtifact{artifact})), "void not_owner");
  EXPECT_EQ(verdict(add(owner, 30, EvictArtifact{artifact})), "applied");
  EXPECT_EQ(verdict(add(anna, 40, EvictArtifact{artifact})), "noop");
}

}  // namespace
}  // namespace holdfast::mesh::roster_test
