// Hostile input, one test for each threat that a mesh must withstand. What arrives is bytes with
// real signatures; most tests go through the store, as a node does.
#include <filesystem>

#include "base/blake3.h"
#include "mesh/ops/sanitise.h"
#include "mesh/store/mesh_verify.h"
#include "tests/support/mesh_store_fixture.h"

namespace holdfast::mesh::mesh_threats_test {
namespace {

class MeshThreats : public MeshStoreFixture {
 protected:
  void SetUp() override {
    open();
    enroll_anna();
    EXPECT_EQ(ingest(bootstrap(bert, {grant("Job", "*")})).intake, Intake::appended);
  }
  std::string phase(unsigned number = 1) const {
    const auto job = store->replica().roster().job(numbered_job(number));
    return job.has_value() ? std::string(to_text(job->state.phase)) : "Unknown";
  }
  ClaimWork claim(const SigningKey& by, std::uint64_t lease_ms = 1000) const {
    return {numbered_job(1), by.node_id(), lease_ms};
  }
  // Of anna, at another time than the store would choose.
  Bytes at(std::uint64_t wall_ms, Payload payload, std::uint32_t logical = 77) {
    return wire(anna, wall_ms, std::move(payload), logical);
  }
  const ScheduleJob one{numbered_job(1), "k", {}, {}};
};

TEST_F(MeshThreats, a_forged_operation_is_refused) {
  Operation forged;
  forged.timestamp = {kNowMs, 7, anna.node_id()};
  forged.payload = one;
  EXPECT_EQ(ingest(encode_operation(sign_operation(forged, bert))).reason, Reason::bad_signature);
  EXPECT_EQ(phase(), "Unknown");
}

TEST_F(MeshThreats, a_replayed_operation_changes_nothing) {
  const Bytes scheduled = at(kNowMs, one, 5);
  EXPECT_EQ(ingest(scheduled).intake, Intake::appended);
  const Digest before = store->replica().roster().state_digest();
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(ingest(scheduled).intake, Intake::duplicated);
  }
  EXPECT_EQ(store->replica().roster().state_digest(), before);
  EXPECT_EQ(store->last_arrival(), 3U);
}

TEST_F(MeshThreats, a_back_dated_operation_of_an_expired_node_ends_with_its_retirement) {
  const SigningKey lost = numbered_key(4);
  TokenSpec spec = spec_for(lost, {grant("Job", "*")});
  spec.expires_s = kNowMs / 1000;
  const DelegateUcan original = delegation_of(user, spec);
  ingest(wire(lost, kNowMs - 9000, original));
  EXPECT_EQ(ingest(wire(lost, kNowMs + 1001, one)).reason, Reason::chain_expired);
  EXPECT_EQ(ingest(wire(lost, kNowMs - 5000, one)).intake, Intake::appended);
  EXPECT_EQ(phase(), "Pending");  // as an old one would be, until the token is revoked
  must(store->author(draft_of(RevokeUcan{original.ucan_cid}, random), anna, kNowMs));
  EXPECT_EQ(phase(), "Unknown");
}

TEST_F(MeshThreats, an_operation_from_the_future_neither_expires_a_lease_nor_moves_the_clock) {
  ingest(at(kNowMs, one));
  ingest(wire(bert, kNowMs + 1, claim(bert, 90'000'000)));
  const ExpireWork expiry{numbered_job(1), bert.node_id(), ""};
  EXPECT_EQ(ingest(wire(bert, kNowMs + 100'000'000, expiry)).intake, Intake::quarantined);
  EXPECT_EQ(phase(), "Claimed");
  EXPECT_LT(store->replica().local_time().state().wall_ms, kNowMs + 1000);
  open();  // nor after a restart
  EXPECT_LT(store->replica().local_time().state().wall_ms, kNowMs + 1000);
}

TEST_F(MeshThreats, two_stories_of_one_node_at_one_time_are_both_void) {
  ingest(at(kNowMs, one));
  ingest(wire(bert, kNowMs + 5, claim(bert)));
  EXPECT_EQ(phase(), "Claimed");
  EXPECT_EQ(ingest(wire(bert, kNowMs + 5, claim(bert, 2000))).reason,
            Reason::integrity_duplicate_hlc);
  EXPECT_EQ(phase(), "Pending");
}

TEST_F(MeshThreats, a_stolen_operation_id_does_not_suppress_its_owner) {
  Operation honest;
  random.fill(honest.id.bytes);
  honest.timestamp = {kNowMs, 5, anna.node_id()};
  honest.payload = one;
  Operation thief = honest;
  thief.timestamp = {kNowMs + 1, 0, bert.node_id()};
  thief.payload = ScheduleJob{numbered_job(2), "k", {}, {}};
  EXPECT_EQ(ingest(encode_operation(sign_operation(thief, bert))).intake, Intake::appended);
  EXPECT_EQ(ingest(encode_operation(sign_operation(honest, anna))).reason, Reason::none);
  EXPECT_EQ(phase(1), "Pending");
  EXPECT_EQ(phase(2), "Unknown");
}

TEST_F(MeshThreats, a_node_id_cannot_be_bound_to_another_key) {
  const SigningKey thief = numbered_key(66);
  Operation hijack;
  hijack.timestamp = {1, 0, anna.node_id()};
  hijack.payload = delegation_of(user, spec_for(thief, {grant("*", "*")}));
  EXPECT_EQ(ingest(encode_operation(sign_operation(hijack, thief))).reason, Reason::bad_signature);
  EXPECT_EQ(store->replica().key_of(anna.node_id()), anna.public_key());
}

TEST_F(MeshThreats, a_delegation_with_a_wider_prefix_grants_nothing) {
  const SigningKey middle = numbered_key(5);
  const SigningKey leaf = numbered_key(6);
  const Token parent =
      make_token(user, spec_for(middle, {grant("Job", "*", kinds({"cortex.synthesize."}))}));
  ingest(wire(
      middle, kNowMs,
      delegation_of(user, spec_for(middle, {grant("Job", "*", kinds({"cortex.synthesize."}))}))));
  const TokenSpec wider = spec_for(leaf, {grant("Job", "*", kinds({"cortex."}))}, {parent.cid});
  EXPECT_EQ(ingest(wire(leaf, kNowMs, delegation_of(middle, wider))).reason, Reason::not_admitted);
  EXPECT_EQ(ingest(wire(leaf, kNowMs + 1, one)).reason, Reason::no_chain);
}

TEST_F(MeshThreats, revoking_the_revoker_does_not_undo_a_revocation) {
  const SigningKey second = numbered_key(7);
  const DelegateUcan owner = delegation_of(user, spec_for(second, {grant("*", "*")}));
  ingest(wire(second, kNowMs, owner));
  const DelegateUcan granted = delegation_of(user, spec_for(bert, {grant("Job", "*")}));
  ingest(at(kNowMs, one));
  ingest(wire(bert, kNowMs + 1, claim(bert)));
  EXPECT_EQ(phase(), "Claimed");
  ingest(wire(second, kNowMs + 2, RevokeUcan{granted.ucan_cid}));
  EXPECT_EQ(phase(), "Pending");
  must(store->author(draft_of(RevokeUcan{owner.ucan_cid}, random), anna, kNowMs + 3));
  EXPECT_EQ(phase(), "Pending");
}

TEST_F(MeshThreats, a_hoarded_lease_is_void_or_ends_with_its_holder) {
  ingest(at(kNowMs, one));
  ingest(wire(bert, kNowMs + 1, claim(bert, ~0ULL)));
  EXPECT_EQ(phase(), "Claimed");
  const DelegateUcan granted = delegation_of(user, spec_for(bert, {grant("Job", "*")}));
  must(store->author(draft_of(RevokeUcan{granted.ucan_cid}, random), anna, kNowMs));
  EXPECT_EQ(phase(), "Pending");
  MeshStoreOptions options;
  options.limits.rules.max_lease_ms = 60'000;
  open(std::move(options));
  must(store->author(draft_of(claim(anna), random), anna, kNowMs));
  const auto hoarded = store->author(draft_of(claim(anna, ~0ULL), random), anna, kNowMs);
  EXPECT_EQ(hoarded.error().field("reason"), "lease_too_long");
}

TEST_F(MeshThreats, a_flood_into_quarantine_costs_other_authors_nothing) {
  MeshStoreOptions options;
  options.limits.aside.author_ops = 4;
  open(std::move(options));
  const Bytes honest = at(kNowMs + 90'000'000, one);
  EXPECT_EQ(ingest(honest).intake, Intake::quarantined);
  for (unsigned i = 0; i < 40; ++i) {
    ingest(wire(bert, kNowMs + 90'000'000, one, i));
  }
  EXPECT_EQ(store->replica().aside_ops(), 5U);
  EXPECT_EQ(ingest(honest).intake, Intake::duplicated);
  EXPECT_EQ(store->replica().authors_with_losses(), std::set{bert.node_id()});
}

TEST_F(MeshThreats, a_batch_that_claims_to_be_huge_allocates_nothing) {
  const Bytes scheduled = at(kNowMs, one);
  Bytes batch = {std::byte{0xff}, std::byte{0xff}, std::byte{0xff}, std::byte{0xff},
                 std::byte{0x0f}};
  batch.insert(batch.end(), scheduled.begin(), scheduled.end());
  const DecodedSequence decoded = decode_sequence(batch);
  EXPECT_TRUE(decoded.malformed.has_value());
  EXPECT_LE(decoded.operations.size(), 1U);
}

TEST_F(MeshThreats, an_unsigned_copy_is_content_of_a_fetch_and_nothing_else) {
  Caveats redacted;
  redacted.sanitize = std::vector<SanitiseRule>{{SanitiseRule::Kind::strip_geo, 0}};
  const DelegateUcan scoped =
      delegation_of(user, spec_for(anna, {grant("Evidence", "Read", redacted)}));
  must(store->author(draft_of(scoped, random), anna, kNowMs));
  Operation evidence;
  random.fill(evidence.id.bytes);
  evidence.timestamp = {kNowMs, 9, bert.node_id()};
  evidence.payload = IngestEvidence{{}, {}, "mail", "", EvidenceMetadata{}};
  const Operation copy = sanitise(evidence, {*redacted.sanitize, scoped.ucan_cid});
  const auto fetch = [&](const Operation& operation, IngestSource source) {
    return must(store->ingest({.operations = {encode_operation(operation)}, .source = source},
                              kNowMs))
        .front();
  };
  EXPECT_EQ(fetch(copy, IngestSource::pushed).reason, Reason::unsigned_operation);
  Operation other =
      sanitise(evidence, {{{SanitiseRule::Kind::redact_participants, 0}}, scoped.ucan_cid});
  EXPECT_EQ(fetch(other, IngestSource::fetched).reason, Reason::unsigned_operation);
  const Digest before = store->replica().roster().state_digest();
  EXPECT_EQ(fetch(copy, IngestSource::fetched).intake, Intake::appended);
  EXPECT_EQ(store->replica().roster().state_digest(), before);
  open();
  ASSERT_NE(store->replica().find_sanitised(evidence.id), nullptr);
  // The signed original takes its place.
  EXPECT_EQ(fetch(sign_operation(evidence, bert), IngestSource::pushed).intake, Intake::parked);
  EXPECT_EQ(store->replica().find_sanitised(evidence.id), nullptr);
  Operation job = evidence;
  job.payload = one;
  job.sanitised = copy.sanitised;
  EXPECT_EQ(fetch(job, IngestSource::fetched).reason, Reason::malformed);
}

TEST_F(MeshThreats, a_restored_copy_has_the_cursor_of_its_operations_and_reuses_no_timestamp) {
  store.reset();
  std::filesystem::copy(folder(), dir.path() + "/backup", std::filesystem::copy_options::recursive);
  open();
  const Operation lost = schedule(1);
  const Bytes page = wire(bert, kNowMs + 1, ScheduleJob{numbered_job(2), "k", {}, {}});
  must(store->ingest({.operations = {page},
                      .source = IngestSource::fetched,
                      .cursor = Received::Cursor{bert.node_id(), bytes_of("2")}},
                     kNowMs));
  store.reset();
  store = must(MeshStore::open(dir.path() + "/backup", identity(), kNowMs));
  EXPECT_EQ(must(store->file().cursor(bert.node_id())), std::nullopt);
  EXPECT_EQ(ingest(page).intake, Intake::appended);
  // The peer has its own newer operation: once it is fetched, the next one comes after it.
  EXPECT_EQ(ingest(encode_operation(lost)).intake, Intake::appended);
  const Operation next = schedule(3);
  EXPECT_LT(lost.timestamp, next.timestamp);
  EXPECT_EQ(store->replica().roster().verdicts(lost.id)[0].verdict, applied());
}

TEST_F(MeshThreats, nodes_with_other_rules_have_other_hashes) {
  const RosterRules rules;
  RosterRules drifted;
  drifted.max_lease_ms = 60'000;
  EXPECT_NE(rules_hash(user.public_key(), rules, {}), rules_hash(user.public_key(), drifted, {}));
}

}  // namespace
}  // namespace holdfast::mesh::mesh_threats_test
