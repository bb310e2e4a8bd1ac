// What a node does with bytes that it receives. The numbers at the tests are those of
// docs/mesh-tests.md.
#include "mesh/roster/replica.h"

#include <malloc.h>

#include <cstring>
#include <functional>

#include "tests/support/mesh_fixture.h"

namespace holdfast::mesh::replica_test {
namespace {

constexpr std::uint64_t kNowMs = 1'000'000;

class ReplicaTest : public MeshTest {
 protected:
  Bytes signed_bytes(const SigningKey& author, const VerifiedOperation& operation) const {
    return encode_operation(sign_operation(operation.operation, author));
  }
  IntakeResult ingest(const SigningKey& signer, const VerifiedOperation& operation) {
    return replica.ingest(signed_bytes(signer, operation), kNowMs);
  }
  // The node's first operation: a delegation to itself.
  VerifiedOperation bootstrap(const SigningKey& node, std::vector<Grant> grants) {
    return make_delegation(node, user, spec_for(node, std::move(grants)));
  }
  VerifiedOperation scheduled(const SigningKey& node, std::uint64_t wall_ms) {
    return make(node, wall_ms, ScheduleJob{job, "k", {}, {}});
  }

  const IntakeResult appended{Intake::appended, Reason::none};
  const IntakeResult duplicated{Intake::duplicated, Reason::none};
  Replica replica{user_key().public_key(), numbered_key(50).node_id()};
};

TEST_F(ReplicaTest, an_operation_twice_is_one_entry) {  // 29
  const VerifiedOperation first = bootstrap(anna, {grant("*", "*")});
  EXPECT_EQ(ingest(anna, first), appended);
  EXPECT_EQ(ingest(anna, first), duplicated);
  EXPECT_EQ(replica.roster().size(), 1U);
}

TEST_F(ReplicaTest, unsigned_operations_are_refused) {  // 14
  ingest(anna, bootstrap(anna, {grant("*", "*")}));
  const VerifiedOperation operation = scheduled(anna, 10);
  EXPECT_EQ(replica.ingest(encode_operation(operation.operation), kNowMs),
            (IntakeResult{Intake::rejected, Reason::unsigned_operation}));
  EXPECT_EQ(replica.ingest(bytes_of("nonsense"), kNowMs),
            (IntakeResult{Intake::rejected, Reason::malformed}));
}

TEST_F(ReplicaTest, hybrid_time_advances_with_valid_signatures_only) {  // 21
  ingest(anna, bootstrap(anna, {}));
  const Timestamp before = replica.local_time().state();
  EXPECT_EQ(ingest(bert, scheduled(anna, kNowMs + 500)).reason, Reason::bad_signature);
  EXPECT_EQ(replica.local_time().state(), before);
  EXPECT_EQ(ingest(anna, scheduled(anna, kNowMs + 500)),
            (IntakeResult{Intake::parked, Reason::not_admitted}));
  EXPECT_GT(replica.local_time().state().wall_ms, before.wall_ms);
  EXPECT_LT((Timestamp{kNowMs + 500, 0, anna.node_id()}), *replica.local_time().tick(0));
}

TEST_F(ReplicaTest, a_timestamp_too_far_ahead_is_quarantined_until_time_comes) {  // 25
  ingest(anna, bootstrap(anna, {grant("*", "*")}));
  const std::uint64_t far = kNowMs + SkewLimits{}.max_ms + 1;
  const Timestamp before = replica.local_time().state();
  EXPECT_EQ(ingest(anna, scheduled(anna, far)),
            (IntakeResult{Intake::quarantined, Reason::future_skew}));
  EXPECT_EQ(replica.local_time().state(), before);
  EXPECT_EQ(replica.roster().job(job), std::nullopt);
  EXPECT_EQ(replica.release(kNowMs), 0U);
  EXPECT_EQ(replica.release(kNowMs + 1), 1U);
  EXPECT_TRUE(replica.roster().job(job).has_value());
  EXPECT_EQ(replica.suspicious(), 1U);
  EXPECT_EQ(replica.release(kNowMs + 2), 0U);
}

TEST_F(ReplicaTest, a_quarantined_operation_is_known_and_its_token_counts) {
  ingest(anna, bootstrap(anna, {grant("*", "*")}));
  VerifiedOperation future = bootstrap(bert, {grant("*", "*")});
  future.operation.timestamp.wall_ms = kMaxWallMs;
  EXPECT_EQ(ingest(bert, future).intake, Intake::quarantined);
  EXPECT_EQ(ingest(bert, future), duplicated);
  EXPECT_EQ(ingest(bert, scheduled(bert, 20)), appended);
}

TEST_F(ReplicaTest, what_else_is_in_quarantine_counts_when_its_time_comes) {
  ingest(anna, bootstrap(anna, {grant("*", "*")}));
  const TokenSpec granted = spec_for(bert, {grant("Job", "*")});
  ingest(bert, make_delegation(bert, user, granted));
  const std::uint64_t far = kNowMs + SkewLimits{}.max_ms + 1;
  const VerifiedOperation revocation = make(anna, far, RevokeUcan{make_token(user, granted).cid});
  EXPECT_EQ(ingest(anna, revocation).intake, Intake::quarantined);
  EXPECT_EQ(ingest(bert, scheduled(bert, 20)), appended);
  // A dependency in quarantine is not there yet.
  const VerifiedOperation claim = make(bert, 30, claim_by(bert), {revocation.operation.id});
  EXPECT_EQ(ingest(bert, claim), (IntakeResult{Intake::appended, Reason::missing_dep}));
  EXPECT_EQ(replica.release(kNowMs + 1), 1U);
  EXPECT_EQ(replica.roster().job(job), std::nullopt);
  const auto views = replica.roster().verdicts(claim.operation.id);
  ASSERT_EQ(views.size(), 1U);
  EXPECT_EQ(to_text(views[0].verdict), "rejected causality_violation");
}

TEST_F(ReplicaTest, a_forged_twin_does_not_void_the_honest_operation) {  // 28
  ingest(anna, bootstrap(anna, {grant("*", "*")}));
  const VerifiedOperation honest = scheduled(anna, 10);
  EXPECT_EQ(ingest(anna, honest), appended);
  VerifiedOperation twin = make(anna, 10, ScheduleJob{job, "other", {}, {}});
  EXPECT_EQ(ingest(bert, twin).reason, Reason::bad_signature);
  EXPECT_EQ(replica.roster().verdicts(honest.operation.id)[0].verdict, applied());
  EXPECT_EQ(ingest(anna, twin).reason, Reason::integrity_duplicate_hlc);
  EXPECT_EQ(replica.roster().verdicts(honest.operation.id)[0].verdict.reason,
            Reason::integrity_duplicate_hlc);
}

TEST_F(ReplicaTest, the_frontier_follows_every_operation) {  // 34
  const VerifiedOperation first = bootstrap(anna, {grant("*", "*")});
  ingest(anna, first);
  EXPECT_EQ(replica.frontier(), (Frontier{{anna.node_id(), first.operation.timestamp}}));
  ingest(anna, scheduled(anna, 20));
  ingest(anna, make(anna, 10, claim_by(anna)));  // late
  Frontier expected{{anna.node_id(), {20, 0, anna.node_id()}}};
  EXPECT_EQ(replica.frontier(), expected);
}

TEST_F(ReplicaTest, bytes_that_are_not_accepted_change_nothing) {  // 35
  ingest(anna, bootstrap(anna, {grant("*", "*")}));
  ingest(anna, scheduled(anna, 10));
  const auto before = replica.roster().job(job);
  ingest(bert, make(anna, 20, claim_by(anna)));
  replica.ingest(encode_operation(make(anna, 21, claim_by(anna)).operation), kNowMs);
  EXPECT_EQ(replica.roster().job(job), before);
  EXPECT_EQ(replica.roster().size(), 2U);
}

TEST_F(ReplicaTest, an_unknown_node_starts_with_a_delegation_to_itself) {  // 118
  const VerifiedOperation early = scheduled(anna, 10);
  EXPECT_EQ(ingest(anna, early), (IntakeResult{Intake::parked, Reason::unknown_author}));
  EXPECT_EQ(ingest(anna, early), duplicated);
  EXPECT_EQ(replica.key_of(anna.node_id()), std::nullopt);
  const VerifiedOperation first = bootstrap(anna, {grant("*", "*")});
  EXPECT_EQ(ingest(bert, first).reason, Reason::bad_signature);
  EXPECT_EQ(ingest(anna, first), appended);
  EXPECT_EQ(replica.key_of(anna.node_id()), anna.public_key());
  EXPECT_TRUE(replica.roster().job(job).has_value());  // what had waited is applied
  // A token that the user did not sign binds the key and grants nothing.
  const VerifiedOperation forged =
      make_delegation(bert, numbered_key(60), spec_for(bert, {grant("*", "*")}));
  EXPECT_EQ(ingest(bert, forged), (IntakeResult{Intake::parked, Reason::not_admitted}));
  EXPECT_EQ(ingest(bert, make(bert, 20, claim_by(bert))),
            (IntakeResult{Intake::parked, Reason::no_chain}));
}

TEST_F(ReplicaTest, a_node_id_belongs_to_one_key) {  // 119
  ingest(anna, bootstrap(anna, {grant("*", "*")}));
  // A delegation to bert's key, authored under anna's node id and signed by bert.
  const auto bytes = issue_token(spec_for(bert, {grant("*", "*")}), user);
  EXPECT_EQ(ingest(bert, make(anna, 20, DelegateUcan{blake3(bytes), bytes})).reason,
            Reason::bad_signature);
  EXPECT_EQ(replica.key_of(anna.node_id()), anna.public_key());
  // The same under a node id that is not bound yet: it is not the id of that key.
  EXPECT_EQ(ingest(bert, make(owner, 20, DelegateUcan{blake3(bytes), bytes})),
            (IntakeResult{Intake::parked, Reason::unknown_author}));
  EXPECT_EQ(replica.key_of(owner.node_id()), std::nullopt);
}

TEST_F(ReplicaTest, a_flood_of_unknown_authors_is_bounded_and_reported) {
  Replica small(user.public_key(), numbered_key(50).node_id(), {.unknown = {.author_ops = 3}});
  for (std::uint64_t wall_ms = 1; wall_ms <= 5; ++wall_ms) {
    small.ingest(signed_bytes(anna, scheduled(anna, wall_ms)), kNowMs);
  }
  EXPECT_EQ(small.lost(), 2U);
  EXPECT_TRUE(small.authors_with_losses().empty());  // who they are is not proven
  small.ingest(signed_bytes(anna, bootstrap(anna, {grant("*", "*")})), kNowMs);
  EXPECT_EQ(small.roster().size(), 4U);
  EXPECT_EQ(small.authors_with_losses(), std::set{anna.node_id()});
}

// Everything that a node without authority can send, without end.
TEST_F(ReplicaTest, no_flood_grows_without_bound) {
  constexpr AsideLimits kFew{.author_ops = 20, .total_ops = 100};
  using Make = std::function<Bytes(std::uint64_t)>;
  const auto growth = [&](const Make& made) {
    Replica small(user.public_key(), numbered_key(50).node_id(), {.aside = kFew, .unknown = kFew});
    small.ingest(signed_bytes(anna, bootstrap(anna, {})), kNowMs);
    std::size_t before = 0;
    for (std::uint64_t i = 1; i <= 1200; ++i) {
      small.ingest(made(i), kNowMs);
      small.take_changes();
      before = i == 600 ? mallinfo2().uordblks : before;
    }
    EXPECT_LE(small.aside_ops(), 200U);
    EXPECT_GT(small.lost(), 1000U);
    EXPECT_LE(small.authors_with_losses().size(), 100U);
    const std::size_t after = mallinfo2().uordblks;
    return after > before ? after - before : 0;
  };
  constexpr std::size_t kSlack = 64 * 1024;
  EXPECT_LT(growth([&](std::uint64_t i) {  // by authors that are not known
              VerifiedOperation one = scheduled(anna, 10);
              one.operation.timestamp.node = {i};
              return signed_bytes(anna, one);
            }),
            kSlack);
  EXPECT_LT(growth([&](std::uint64_t i) {  // by nodes that grant themselves everything
              const SigningKey key = numbered_key(10'000 + static_cast<unsigned>(i));
              return signed_bytes(key, make_delegation(key, key, spec_for(key, {grant("*", "*")})));
            }),
            kSlack);
  EXPECT_LT(growth([&](std::uint64_t i) {  // of jobs, dependencies and kinds
              JobId other = job;
              std::memcpy(other.bytes.data(), &i, sizeof(i));
              const ScheduleJob schedule{other, "k" + std::to_string(i), {}, {}};
              return signed_bytes(anna, make(anna, i, schedule, {next_id()}));
            }),
            kSlack);
  EXPECT_LT(growth([&](std::uint64_t i) {  // into quarantine
              return signed_bytes(anna, scheduled(anna, kNowMs + 90'000'000 + i));
            }),
            kSlack);
  EXPECT_LT(growth([&](std::uint64_t i) {  // of revocations of tokens that are not there
              const RevokeUcan revocation{blake3(std::to_string(i))};
              return signed_bytes(anna, make(anna, i, revocation));
            }),
            kSlack);
  EXPECT_LT(growth([&](std::uint64_t i) {  // of tokens whose proof is not there
              const Digest proof = blake3(std::to_string(i));
              return signed_bytes(
                  anna, make_delegation(anna, anna, spec_for(bert, {grant("*", "*")}, {proof})));
            }),
            kSlack);
}

}  // namespace
}  // namespace holdfast::mesh::replica_test
