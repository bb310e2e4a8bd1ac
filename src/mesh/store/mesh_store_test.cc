// What a store keeps, and how it is found again. The numbers at the tests are those of
// docs/mesh-tests.md.
#include "mesh/store/mesh_store.h"

#include <fstream>

#include "base/blake3.h"
#include "mesh/store/mesh_verify.h"
#include "storage/sqlite/sqlite_db.h"
#include "tests/support/mesh_store_fixture.h"

namespace holdfast::mesh::mesh_store_test {
namespace {

class MeshStoreTest : public MeshStoreFixture {
 protected:
  void SetUp() override {
    open();
    enroll_anna();
  }
  void run_sql(const std::string& sql) {
    store.reset();
    const auto db = must(SqliteDb::open(folder() + "/mesh.db", SqliteAccess::read_write, "",
                                        std::chrono::milliseconds(100)));
    must(db->exec(sql.c_str()));
    open();
  }
  std::vector<std::string> problems() { return must(verify_mesh(*store)).problems; }
};

TEST_F(MeshStoreTest, a_store_opened_again_has_the_same_state) {  // 32
  const Operation scheduled = schedule(1);
  must(store->author(draft_of(ClaimWork{numbered_job(1), anna.node_id(), 1000}, random), anna,
                     kNowMs));
  EXPECT_EQ(ingest(bootstrap(bert, {grant("Job", "Claim")})).intake, Intake::appended);
  EXPECT_EQ(ingest(wire(bert, kNowMs + 1, ClaimWork{numbered_job(1), bert.node_id(), 5})).reason,
            Reason::already_claimed);
  const Digest before = store->replica().roster().state_digest();
  const Frontier frontier = store->replica().frontier();
  open();
  EXPECT_EQ(store->replica().roster().state_digest(), before);
  EXPECT_EQ(store->replica().frontier(), frontier);
  EXPECT_EQ(store->replica().roster().job(numbered_job(1))->state.claimer, anna.node_id());
  EXPECT_EQ(store->last_arrival(), 5U);
  EXPECT_EQ(problems(), std::vector<std::string>());
}

TEST_F(MeshStoreTest, operations_are_found_by_id_by_time_by_frontier_and_by_arrival) {  // 33
  const Operation first = schedule(1);
  const Operation second = schedule(2);
  EXPECT_EQ(must(store->file().find(first.id)).at(0).bytes, encode_operation(first));
  EXPECT_EQ(must(store->file().find_at(second.timestamp)).at(0).bytes, encode_operation(second));
  EXPECT_TRUE(must(store->file().find_at({1, 2, anna.node_id()})).empty());
  const auto newer = must(store->file().newer_than({{anna.node_id(), first.timestamp}}, 10));
  ASSERT_EQ(newer.size(), 1U);
  EXPECT_EQ(newer[0].id, second.id);
  EXPECT_EQ(must(store->file().newer_than({}, 10)).size(), 3U);
  EXPECT_EQ(must(store->file().newer_than({}, 2)).size(), 2U);
  const auto arrived = must(store->file().arrived_after(2, 10));
  ASSERT_EQ(arrived.size(), 1U);
  EXPECT_EQ(arrived[0].arrival, 3U);
  EXPECT_EQ(arrived[0].id, second.id);
}

TEST_F(MeshStoreTest, the_clock_survives_a_restart) {  // 24
  const Operation last = schedule(1);
  EXPECT_EQ(ingest(bootstrap(bert, {grant("Job", "*")})).intake, Intake::appended);
  // Refused for authority, so not on the log; the clock has still seen it.
  EXPECT_EQ(ingest(wire(bert, kNowMs + 5000, RouteKind{"k", {}})).reason, Reason::not_owner);
  store.reset();
  store = must(MeshStore::open(folder(), identity(), kNowMs - 1'000'000));
  const Operation next = must(store->author(
      draft_of(ScheduleJob{numbered_job(2), "k", {}, {}}, random), anna, kNowMs - 1'000'000));
  EXPECT_LT(last.timestamp, next.timestamp);
  EXPECT_LT(kNowMs + 4999, next.timestamp.wall_ms);
}

TEST_F(MeshStoreTest, deferred_operations_survive_a_restart) {  // 90
  OpId missing;
  missing.bytes[0] = std::byte{9};
  must(store->author(draft_of(ScheduleJob{numbered_job(1), "k", {}, {}}, random, {missing}), anna,
                     kNowMs));
  open();
  ASSERT_EQ(store->replica().roster().blocked().size(), 1U);
  Operation cause;
  cause.id = missing;
  cause.timestamp = {kNowMs - 1, 0, anna.node_id()};
  cause.payload = ScheduleJob{numbered_job(2), "k", {}, {}};
  EXPECT_EQ(ingest(encode_operation(sign_operation(cause, anna))).intake, Intake::appended);
  EXPECT_TRUE(store->replica().roster().job(numbered_job(1)).has_value());
}

TEST_F(MeshStoreTest, what_waits_aside_enters_the_log_with_a_new_arrival) {
  const Bytes early = wire(bert, kNowMs, ScheduleJob{numbered_job(1), "k", {}, {}}, 1);
  EXPECT_EQ(ingest(early).reason, Reason::unknown_author);
  const Bytes far = wire(anna, kNowMs + 86'400'001, ScheduleJob{numbered_job(2), "k", {}, {}});
  EXPECT_EQ(ingest(far).intake, Intake::quarantined);
  open();
  EXPECT_EQ(ingest(early).intake, Intake::duplicated);
  EXPECT_EQ(ingest(far).intake, Intake::duplicated);
  EXPECT_EQ(store->last_arrival(), 1U);
  EXPECT_EQ(ingest(bootstrap(bert, {grant("Ops", "Write")})).intake, Intake::appended);
  // bert is known now, and may not schedule.
  EXPECT_EQ(store->last_arrival(), 2U);
  open();
  EXPECT_EQ(ingest(early).intake, Intake::duplicated);
  EXPECT_EQ(must(store->release(kNowMs + 1)), 1U);
  must(store->author(draft_of(delegation_of(user, spec_for(bert, {grant("Job", "*")})), random),
                     anna, kNowMs));
  EXPECT_TRUE(store->replica().roster().job(numbered_job(1)).has_value());
  EXPECT_EQ(store->last_arrival(), 5U);
  open();
  EXPECT_TRUE(store->replica().roster().job(numbered_job(1)).has_value());
  EXPECT_TRUE(store->replica().roster().job(numbered_job(2)).has_value());
  EXPECT_EQ(problems(), std::vector<std::string>());
}

TEST_F(MeshStoreTest, a_cursor_moves_with_the_operations_of_its_page) {
  const Bytes cursor = bytes_of("page 2");
  must(store->ingest({.operations = {bootstrap(bert, {grant("Job", "*")})},
                      .source = IngestSource::fetched,
                      .cursor = Received::Cursor{bert.node_id(), cursor}},
                     kNowMs));
  open();
  EXPECT_EQ(must(store->file().cursor(bert.node_id())), cursor);
  EXPECT_EQ(must(store->file().cursor(anna.node_id())), std::nullopt);
}

TEST_F(MeshStoreTest, a_failed_commit_stops_the_store_and_loses_only_itself) {
  const Operation kept = schedule(1);
  for (int point = 0; point < static_cast<int>(StoreFault::committed); ++point) {
    if (point == static_cast<int>(StoreFault::operation_erased)) {
      continue;  // nothing leaves here
    }
    bool failed = false;
    open({.fault = [&](StoreFault at) -> Result<void> {
      if (static_cast<int>(at) != point || failed) {
        return {};
      }
      failed = true;
      return Error{ErrorCode::io_error, "planned"};
    }});
    const auto lost = store->ingest({.operations = {bootstrap(bert, {grant("Job", "*")})},
                                     .cursor = Received::Cursor{bert.node_id(), bytes_of("x")}},
                                    kNowMs);
    ASSERT_TRUE(failed) << point;
    EXPECT_EQ(lost.error().code(), ErrorCode::io_error);
    EXPECT_EQ(store->release(kNowMs).error().code(), ErrorCode::log_stopped);
    open();
    EXPECT_EQ(store->replica().key_of(bert.node_id()), std::nullopt) << point;
    EXPECT_EQ(must(store->file().cursor(bert.node_id())), std::nullopt);
    EXPECT_NE(store->replica().roster().find(kept.id), nullptr);
  }
}

TEST_F(MeshStoreTest, a_store_is_open_once_and_belongs_to_one_node) {
  EXPECT_EQ(MeshStore::open(folder(), identity(), kNowMs).error().code(), ErrorCode::busy);
  store.reset();
  EXPECT_EQ(MeshStore::open(folder(), {user.public_key(), bert.node_id()}, kNowMs).error().code(),
            ErrorCode::conflict);
  EXPECT_EQ(MeshStore::open(folder(), {bert.public_key(), anna.node_id()}, kNowMs).error().code(),
            ErrorCode::conflict);
  std::ofstream(folder() + "/mesh.db") << "not a database, but long enough to have a header .....";
  EXPECT_EQ(MeshStore::open(folder(), identity(), kNowMs).error().code(), ErrorCode::corrupt_log);
}

TEST_F(MeshStoreTest, an_operation_that_would_have_no_effect_is_refused) {
  schedule(1);
  const auto again =
      store->author(draft_of(ScheduleJob{numbered_job(1), "k", {}, {}}, random), anna, kNowMs);
  EXPECT_EQ(again.error().code(), ErrorCode::conflict);
  EXPECT_EQ(again.error().field("reason"), "duplicate_job");
  const auto bad =
      store->author(draft_of(ClaimWork{numbered_job(1), bert.node_id(), 5}, random), anna, kNowMs);
  EXPECT_EQ(bad.error().code(), ErrorCode::invalid_argument);
  EXPECT_EQ(store->replica().roster().size(), 2U);
  open();
  EXPECT_EQ(store->replica().roster().size(), 2U);
}

TEST_F(MeshStoreTest, large_contents_are_files_that_verify_reads) {
  const Digest hash = must(store->put_content(Bytes(kMaxInlineBytes + 1, std::byte{1})));
  EXPECT_EQ(must(verify_mesh(*store)).contents, 1U);
  EXPECT_EQ(problems(), std::vector<std::string>());
  std::ofstream(folder() + "/blobs/" + to_hex(hash)) << "x";
  EXPECT_EQ(problems().size(), 1U);
}

TEST_F(MeshStoreTest, verify_finds_every_change_of_a_stored_operation) {
  schedule(1);
  EXPECT_EQ(must(verify_mesh(*store)).signatures, 2U);
  run_sql("UPDATE operations SET hash = zeroblob(32) WHERE row = 2");
  EXPECT_EQ(problems().size(), 1U);
  run_sql("UPDATE operations SET id = zeroblob(16) WHERE row = 2");
  EXPECT_EQ(problems().size(), 1U);
}

TEST_F(MeshStoreTest, verify_finds_a_signature_that_is_not_valid) {
  const Operation honest = schedule(1);
  Operation forged = honest;
  std::get<ScheduleJob>(forged.payload).kind = "other";
  const Bytes bytes = encode_operation(forged);
  run_sql("UPDATE operations SET bytes = x'" + to_hex(std::span<const std::byte>(bytes)) +
          "', hash = x'" + to_hex(blake3(bytes)) + "' WHERE row = 2");
  ASSERT_EQ(problems().size(), 2U);  // and the state depends on it
  EXPECT_NE(problems()[0].find("no valid signature"), std::string::npos);
}

TEST_F(MeshStoreTest, a_flood_of_one_author_is_bounded_on_disk_and_in_memory) {
  open({.limits = {.aside = {.author_ops = 5}}});
  EXPECT_EQ(ingest(bootstrap(bert, {})).intake, Intake::appended);
  for (std::uint64_t i = 1; i <= 50; ++i) {
    EXPECT_EQ(ingest(wire(bert, kNowMs + i, RouteKind{"k" + std::to_string(i), {}})).intake,
              Intake::parked);
    EXPECT_EQ(
        ingest(wire(bert, kNowMs + i, RevokeUcan{blake3("token " + std::to_string(i))}, 1)).intake,
        Intake::parked);
    EXPECT_EQ(ingest(wire(bert, kNowMs + 86'400'000 + i,
                          ScheduleJob{numbered_job(static_cast<unsigned>(i)), "k", {}, {}}))
                  .intake,
              Intake::quarantined);
  }
  EXPECT_EQ(store->replica().aside_ops(), 5U);
  EXPECT_EQ(store->replica().lost(), 145U);
  EXPECT_EQ(store->replica().authors_with_losses(), std::set{bert.node_id()});
  EXPECT_LE(store->replica().roster().size(), 7U);
  open();
  EXPECT_EQ(store->replica().aside_ops(), 5U);
  EXPECT_EQ(problems(), std::vector<std::string>());
}

}  // namespace
}  // namespace holdfast::mesh::mesh_store_test
