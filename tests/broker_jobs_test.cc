// Retention, the orphan check, and what the stores do beside accepting. The numbers in the names
// are those of docs/delivery-tests.md.
#include <functional>

#include "delivery/broker/broker_schema.h"
#include "delivery/broker/orphan_check.h"
#include "delivery/broker/retention.h"
#include "storage/sqlite/sqlite_db.h"
#include "tests/support/broker_fixture.h"

namespace holdfast::delivery::broker_jobs_test {
namespace {

class BrokerJobs : public BrokerFixture {
 protected:
  // One message of each kind, with a mention.
  void send_some() {
    must(send(request("m-1", "a", {DestinationKind::topic, "alerts"}, {"ben"})));
    must(send(request("m-2", "a", {DestinationKind::dm, ben_.pubkey}, {"ben"})));
    must(send(request("m-3", "a", {DestinationKind::queue, "jobs"}, {"ben"})));
  }

  // The classes that are found, as "O1=1 O5=2".
  std::string orphans() {
    const OrphanReport report = must(check_orphans(*store_, clock_.now(), {}));
    std::string text;
    for (const auto& [mesh_id, counts] : report.found) {
      EXPECT_EQ(mesh_id, team_.mesh_id);
      for (std::size_t i = 0; i < counts.size(); ++i) {
        text += counts[i] == 0 ? "" : orphan_name(i) + "=" + std::to_string(counts[i]) + " ";
      }
    }
    EXPECT_EQ(report.total() == 0, text.empty());
    return text;
  }

  // What a planted fault is found as, with all others in order before.
  std::string planted(const std::string& sql) {
    send_some();
    EXPECT_EQ(orphans(), "");
    execute(sql);
    return orphans();
  }
};

INSTANTIATE_TEST_SUITE_P(Stores, BrokerJobs,
                         ::testing::Values(StoreKind::sqlite, StoreKind::postgres),
                         store_kind_name);

TEST_P(BrokerJobs, OR_01_a_dedupe_row_without_its_message) {
  EXPECT_EQ(planted("DELETE FROM @.message_queue WHERE client_message_id = 'm-3'"),
            "O1=1 O5=1 O6=1 O8=1 ");
}

TEST_P(BrokerJobs, OR_02_a_dedupe_row_without_its_history) {
  EXPECT_EQ(planted("DELETE FROM @.message_history WHERE destination_kind = 'queue'"),
            "O2=1 O5=1 ");
}

TEST_P(BrokerJobs, OR_03_a_message_without_its_dedupe_row) {
  EXPECT_EQ(planted("DELETE FROM @.client_message_dedupe WHERE client_message_id = 'm-1'"),
            "O3=1 ");
}

TEST_P(BrokerJobs, OR_04_a_dedupe_row_that_names_another_destination) {
  EXPECT_EQ(planted("UPDATE @.client_message_dedupe SET destination_ref = 'other' "
                    "WHERE client_message_id = 'm-1'"),
            "O4=1 ");
}

TEST_P(BrokerJobs, OR_05_a_gap_in_a_history) {
  EXPECT_EQ(planted("UPDATE @.destination SET last_seq = 4 WHERE destination_kind = 'topic' "
                    "AND destination_ref = 'alerts'"),
            "O5=3 ");
}

TEST_P(BrokerJobs, OR_05_a_history_number_beyond_the_last_one_and_one_left_out) {
  must(send(request("m-0", "a", {DestinationKind::topic, "alerts"})));
  EXPECT_EQ(planted("UPDATE @.message_history SET history_seq = 3 WHERE destination_kind = "
                    "'topic' AND history_seq = 2"),
            "O5=1 ")
      << "there are as many numbers as there should be";
}

TEST_P(BrokerJobs, OR_06_a_delivery_of_a_message_without_its_dedupe_row) {
  EXPECT_EQ(planted("DELETE FROM @.client_message_dedupe WHERE client_message_id = 'm-1'"),
            "O3=1 ");
  clock_.advance_ms(60'001);
  EXPECT_EQ(orphans(), "O3=1 O6=2 ");
}

TEST_P(BrokerJobs, OR_06_a_delivery_without_its_message) {
  EXPECT_EQ(planted("UPDATE @.delivery_queue SET broker_message_id = 'gone' WHERE "
                    "broker_message_id IN (SELECT broker_message_id FROM @.message_queue)"),
            "O6=1 O7=1 ");
}

TEST_P(BrokerJobs, OR_07_a_message_without_its_deliveries) {
  EXPECT_EQ(planted("DELETE FROM @.delivery_queue WHERE broker_message_id IN "
                    "(SELECT broker_message_id FROM @.topic_message)"),
            "O7=1 ");
}

TEST_P(BrokerJobs, OR_08_a_mention_without_its_message) {
  EXPECT_EQ(planted("UPDATE @.mention_index SET broker_message_id = 'gone' WHERE "
                    "broker_message_id IN (SELECT broker_message_id FROM @.topic_message)"),
            "O8=1 ");
}

TEST_P(BrokerJobs, OR_09_a_message_that_is_not_the_one_of_its_fingerprint) {
  EXPECT_EQ(planted("UPDATE @.topic_message SET priority = 'low'"), "O9=1 ");
}

TEST_P(BrokerJobs, OR_09_a_swept_id_that_is_used_again_is_not_compared_with_its_first_message) {
  must(send(request("m-1", "a", {DestinationKind::topic, "alerts"})));
  clock_.advance_ms(366 * kDayMs);
  EXPECT_EQ(must(sweep_dedupe(*store_, clock_.now(), 10)), 1U);
  must(send(request("m-1", "b", {DestinationKind::topic, "alerts"})));
  EXPECT_EQ(orphans(), "");
}

TEST_P(BrokerJobs, OR_10_a_row_marked_as_pruned_whose_message_exists) {
  EXPECT_EQ(planted("UPDATE @.client_message_dedupe SET history_available = 0 "
                    "WHERE client_message_id = 'm-1'"),
            "O10=1 ");
}

TEST_P(BrokerJobs, OR_11_OR_12_a_healthy_store_has_none_and_the_check_writes_nothing) {
  for (int i = 0; i < 20; ++i) {
    static_cast<void>(
        send(request("h-" + std::to_string(i % 15), std::to_string(i % 7),
                     {DestinationKind::topic, i % 4 == 0 ? "missing" : "alerts"}, {"ben", "cat"})));
  }
  const std::string before = all_tables();
  EXPECT_EQ(orphans(), "");
  EXPECT_EQ(all_tables(), before);
}

// What is pruned and swept meanwhile is still there for the check, and afterwards it is marked.
TEST_P(BrokerJobs, H_26_the_check_sees_one_snapshot_and_explains_what_was_pruned) {
  execute("UPDATE @.mesh SET message_retention_days = 30");
  must(send(request("m-1", "a", {DestinationKind::queue, "jobs"})));
  clock_.advance_ms(366 * kDayMs);
  must(store_->scan([&](SqlSession& s) -> Result<void> {
    const auto messages = [&] {
      return must(s.query("SELECT count(*) FROM @.message_queue", {}))[0][0].integer;
    };
    const auto ids = [&] {
      return must(s.query("SELECT count(*) FROM @.client_message_dedupe", {}))[0][0].integer;
    };
    EXPECT_EQ(messages(), 1);
    execute("UPDATE @.message_history SET pruned_at = 1");
    execute("DELETE FROM @.message_queue");
    execute("DELETE FROM @.queue_entry");
    EXPECT_EQ(must(sweep_dedupe(*store_, clock_.now(), 10)), 1U);
    EXPECT_EQ(messages(), 1);
    EXPECT_EQ(ids(), 1);
    return {};
  }));
  EXPECT_EQ(count("message_queue"), 0);
  EXPECT_EQ(orphans(), "");
}

// A scan has as long as it needs: accepts do not wait for it, and neither does the sweep.
TEST_P(BrokerJobs, a_long_scan_delays_no_accept) {
  must(store_->scan([&](SqlSession&) -> Result<void> {
    EXPECT_EQ(outcome_of(send(request("m-1", "a"))), "created");
    EXPECT_EQ(outcome_of(send(request("m-1", "a"))), "duplicate");
    EXPECT_EQ(must(sweep_dedupe(*store_, clock_.now(), 10)), 0U);
    return {};
  }));
}

// Something happens between the search of a job and its transaction.
class InterruptedStore final : public BrokerStore {
 public:
  InterruptedStore(BrokerStore& inner, std::function<void()> after_scan)
      : inner_(inner), after_scan_(std::move(after_scan)) {}
  std::vector<Result<AcceptOutcome>> accept(std::span<const AcceptRow> group) override {
    return inner_.accept(group);
  }
  Result<void> write(const Work& work) override { return inner_.write(work); }
  Result<void> deliver(const Work& work) override { return inner_.deliver(work); }
  Result<void> read(const Work& work) override { return inner_.read(work); }
  Result<void> scan(const Work& work) override {
    auto done = inner_.scan(work);
    after_scan_();
    return done;
  }

 private:
  BrokerStore& inner_;
  std::function<void()> after_scan_;
};

TEST_P(BrokerJobs, a_message_whose_delivery_is_replayed_meanwhile_is_not_pruned) {
  execute("UPDATE @.mesh SET message_retention_days = 30");
  must(send(request("m-1", "a")));
  must(send(request("m-2", "a", {DestinationKind::queue, "jobs"})));
  execute("UPDATE @.delivery_queue SET state = 'dead'");
  execute("UPDATE @.queue_entry SET state = 'done'");
  clock_.advance_ms(31 * kDayMs);
  InterruptedStore store(*store_, [&] { execute("UPDATE @.delivery_queue SET state = 'queued'"); });
  EXPECT_EQ(must(prune_messages(store, clock_.now(), 10)).messages, 1U);
  EXPECT_EQ(count("topic_message"), 1);
  EXPECT_EQ(count("message_queue"), 0);
  EXPECT_EQ(orphans(), "");
}

TEST_P(BrokerJobs, messages_are_pruned_from_place_to_place) {
  execute("UPDATE @.mesh SET message_retention_days = 30");
  for (int i = 0; i < 5; ++i) {
    must(send(request("q-" + std::to_string(i), "a", {DestinationKind::queue, "jobs"})));
    must(send(request("t-" + std::to_string(i), "a", {DestinationKind::topic, "empty"})));
  }
  execute("UPDATE @.queue_entry SET state = 'done'");
  clock_.advance_ms(31 * kDayMs);
  std::uint64_t pruned = 0;
  int calls = 0;
  for (std::optional<HistoryPlace> after = HistoryPlace{}; after.has_value(); ++calls) {
    const Pruned batch = must(prune_messages(*store_, clock_.now(), 3, *after));
    pruned += batch.messages;
    after = batch.last;
  }
  EXPECT_EQ(pruned, 10U);
  EXPECT_EQ(calls, 4);
  EXPECT_EQ(count("message_history WHERE pruned_at IS NULL"), 0);
  EXPECT_EQ(orphans(), "");
}

TEST_P(BrokerJobs, RT_01_H_04_the_sweep_deletes_expired_rows_only_in_bounded_batches) {
  send_some();
  clock_.advance_ms(300 * kDayMs);
  must(send(request("young", "a")));
  clock_.advance_ms(65 * kDayMs);
  EXPECT_EQ(must(sweep_dedupe(*store_, clock_.now(), 2)), 0U) << "exactly at its end";
  clock_.advance_ms(1);
  EXPECT_EQ(must(sweep_dedupe(*store_, clock_.now(), 2)), 2U);
  EXPECT_EQ(must(sweep_dedupe(*store_, clock_.now(), 2)), 1U);
  EXPECT_EQ(must(sweep_dedupe(*store_, clock_.now(), 2)), 0U);
  EXPECT_EQ(count("client_message_dedupe"), 1);
  EXPECT_EQ(outcome_of(send(request("young", "a"))), "duplicate");
  EXPECT_EQ(orphans(), "") << "messages that outlive their window are not orphans";
  EXPECT_EQ(outcome_of(send(request("m-1", "a"))), "created") << "the id was swept";
}

TEST_P(BrokerJobs, RT_02_permanent_rows_are_kept) {
  execute("UPDATE @.mesh SET dedupe_mode = 'permanent'");
  send_some();
  clock_.advance_ms(10'000 * kDayMs);
  EXPECT_EQ(must(sweep_dedupe(*store_, clock_.now(), 10)), 0U);
  EXPECT_EQ(outcome_of(send(request("m-1", "a"))), "duplicate");
}

TEST_P(BrokerJobs, RT_03_BR_10_R_32_a_pruned_message_is_marked_and_its_id_still_answered) {
  execute("UPDATE @.mesh SET message_retention_days = 30");
  send_some();
  clock_.advance_ms(31 * kDayMs);
  must(send(request("young", "a")));
  EXPECT_EQ(must(prune_messages(*store_, clock_.now(), 10)).messages, 0U)
      << "what has not ended is kept: a delivery, a message in its queue";
  execute("UPDATE @.delivery_queue SET state = 'delivered'");
  execute("UPDATE @.queue_entry SET state = 'done'");
  EXPECT_EQ(must(prune_messages(*store_, clock_.now(), 1)).messages, 1U) << "bounded";
  EXPECT_EQ(must(prune_messages(*store_, clock_.now(), 10)).messages, 2U);
  EXPECT_EQ(must(prune_messages(*store_, clock_.now(), 10)).messages, 0U);
  EXPECT_EQ(count("message_queue"), 0);
  EXPECT_EQ(count("topic_message"), 1);
  EXPECT_EQ(count("mention_index"), 0);
  EXPECT_EQ(count("message_history WHERE pruned_at IS NOT NULL"), 3);
  EXPECT_EQ(count("client_message_dedupe WHERE history_available = 0 "
                  "AND history_pruned_at IS NOT NULL"),
            3);
  EXPECT_EQ(orphans(), "");
  const auto reply = must(send(request("m-1", "a")));
  EXPECT_TRUE(reply.duplicate);
  EXPECT_FALSE(reply.history_available);
  EXPECT_EQ(count("topic_message"), 1) << "no new message";
  must(store_->read([&](SqlSession& s) -> Result<void> {
    HOLDFAST_TRY(const auto entries,
                 read_history(s, team_.mesh_id, {DestinationKind::topic, "alerts"}, 0, 10));
    EXPECT_EQ(entries.size(), 2U);
    EXPECT_TRUE(entries.at(0).pruned);
    EXPECT_FALSE(entries.at(1).pruned);
    EXPECT_EQ(entries.at(1).body, "a");
    return {};
  }));
}

TEST_P(BrokerJobs, RT_04_dedupe_rows_must_be_kept_as_long_as_messages) {
  const auto create = [&](DedupeWindow window, std::uint32_t message_days) {
    Workspace workspace;
    workspace.mesh_id = ulid();
    workspace.slug = "w" + std::to_string(message_days) + std::string(to_text(window.mode));
    workspace.dedupe = window;
    workspace.message_retention_days = message_days;
    return code_of(
        store_->write([&](SqlSession& s) { return create_workspace(s, workspace, clock_.now()); }));
  };
  constexpr auto kScoped = DedupeMode::retention_scoped;
  EXPECT_EQ(create({kScoped, 30}, 31), "invalid_argument");
  EXPECT_EQ(create({kScoped, 30}, 0), "invalid_argument");
  EXPECT_EQ(create({kScoped, 6}, 5), "invalid_argument");
  EXPECT_EQ(create({kScoped, 30}, 30), "ok");
  EXPECT_EQ(create({DedupeMode::permanent, 0}, 0), "ok");
}

TEST_P(BrokerJobs, RT_05_deleting_a_workspace_deletes_everything_in_it) {
  const Workspace other = add_workspace("other");
  add_member(other.mesh_id, "eve");
  send_some();
  write([&](SqlSession& s) { return delete_workspace(s, team_.mesh_id); });
  for (const std::string& table : kBrokerTables) {
    EXPECT_EQ(count(table + " WHERE mesh_id = '" + team_.mesh_id + "'"), 0) << table;
  }
  EXPECT_EQ(count("mesh"), 1);
  EXPECT_EQ(count("member"), 1);
}

TEST_P(BrokerJobs, what_exists_is_not_created_twice_and_what_does_not_is_not_found) {
  const auto code = [&](const BrokerStore::Work& work) { return code_of(store_->write(work)); };
  const std::string before = all_tables();
  const TimeMs now = clock_.now();
  Workspace again = team_;
  again.mesh_id = ulid();
  EXPECT_EQ(code([&](SqlSession& s) { return create_workspace(s, again, now); }), "already_exists");
  Member twin = ann_;
  twin.member_id = ulid();
  EXPECT_EQ(code([&](SqlSession& s) { return create_member(s, twin, now); }), "already_exists");
  twin.pubkey = std::string(64, 'b');
  twin.token_hash = sha256("another");
  twin.display_name = "ANN";
  EXPECT_EQ(code([&](SqlSession& s) { return create_member(s, twin, now); }), "already_exists");
  EXPECT_EQ(code([&](SqlSession& s) {
              return create_topic(s, {team_.mesh_id, "alerts", {}, {}}, now);
            }),
            "already_exists");
  EXPECT_EQ(code([&](SqlSession& s) { return create_queue(s, team_.mesh_id, "a b", now); }),
            "invalid_argument");
  EXPECT_EQ(code([&](SqlSession& s) {
              return subscribe(s, {team_.mesh_id, "missing", ann_.member_id, {}}, now);
            }),
            "not_found");
  EXPECT_EQ(code([&](SqlSession& s) {
              return subscribe(s, {team_.mesh_id, "alerts", "missing", {}}, now);
            }),
            "not_found");
  EXPECT_EQ(code([&](SqlSession& s) { return archive_topic(s, team_.mesh_id, "none", now); }),
            "not_found");
  EXPECT_EQ(code([&](SqlSession& s) { return revoke_member(s, "none", now); }), "not_found");
  EXPECT_EQ(all_tables(), before);
}

TEST(BrokerSchema, released_migrations_are_never_edited) {
  const std::vector<std::string> released{
      "cc5a906a38b0b85ee569bac4a32ce134d5ffcd11f1e0caffcc2f5265c72c2806",
      "3028887b57976e9125bbcfdf432aaa84ce4c246d12c4b0eb5676711827dcfd3e",
      "522f02a65134136039353dfed5d47ba89bdf97cc5822bdbb1e5972f83eee4f54",
      "9058f69b632ac6139d92251d5a9d72f1a33e7faf3e6c8d7dea8949902041a766",
      "0c8424fbcb229ccec292a217b9c2a35dd3fdda9e9e6e93ac6556514050192fa5",
      "060346ef95f31f7041af2767016d0ffd37d685472e4b137d03b3c103945a144e",
  };
  ASSERT_EQ(broker_migrations().size(), released.size());
  for (std::size_t i = 0; i < released.size(); ++i) {
    EXPECT_EQ(broker_migrations()[i].version, i + 1);
    EXPECT_EQ(to_hex(sha256(broker_migrations()[i].sql)), released[i]);
  }
}

TEST(SqliteBroker, R_09_one_broker_at_a_time_uses_a_file) {
  const TempDir folder;
  const auto first = must(open_sqlite_broker_store(folder.file("broker.db"), {}));
  EXPECT_EQ(code_of(open_sqlite_broker_store(folder.file("broker.db"), {})), "busy");
}

TEST(SqliteBroker, a_newer_or_foreign_file_is_refused_and_not_changed) {
  const TempDir folder;
  const std::string path = folder.file("broker.db");
  must(open_sqlite_broker_store(path, {}));
  {
    auto db = must(SqliteDb::open(path, SqliteAccess::read_write, "", {}));
    must(db->exec("PRAGMA user_version = 99"));
  }
  EXPECT_EQ(code_of(open_sqlite_broker_store(path, {})), "newer_format");
  const std::string other = folder.file("other.db");
  {
    auto db = must(SqliteDb::open(other, SqliteAccess::create, "", {}));
    must(db->exec("CREATE TABLE mine(x)"));
  }
  EXPECT_EQ(code_of(open_sqlite_broker_store(other, {})), "not_a_journal");
}

TEST(SqliteBroker, H_20_commits_are_synced) {
  const TempDir folder;
  const auto store = must(open_sqlite_broker_store(folder.file("broker.db"), {}));
  must(store->write([](SqlSession& s) -> Result<void> {
    HOLDFAST_TRY(const SqlRows mode, s.query("PRAGMA journal_mode", {}));
    EXPECT_EQ(mode[0][0].bytes, "wal");
    HOLDFAST_TRY(const SqlRows sync, s.query("PRAGMA synchronous", {}));
    EXPECT_EQ(sync[0][0].integer, 2);  // FULL
    return {};
  }));
}

}  // namespace
}  // namespace holdfast::delivery::broker_jobs_test
