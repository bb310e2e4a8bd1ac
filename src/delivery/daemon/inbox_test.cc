#include "delivery/daemon/inbox.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/encoding.h"
#include "tests/support/must.h"
#include "tests/support/temp_dir.h"

namespace holdfast::delivery::inbox_test {
namespace {

constexpr std::int64_t kStartMs = 1'700'000'000'000;
constexpr std::int64_t kDayMs = 86'400'000;

InboxMessage from(const std::string& sender, const std::string& id, std::uint64_t seq = 0,
                  const std::string& body = "hello") {
  InboxMessage message;
  message.mesh = "team";
  message.sender_pubkey = sender;
  message.client_message_id = id;
  message.recipient = "me";
  message.broker_message_id = "broker-" + sender + "-" + id;
  message.destination = {DestinationKind::topic, "alerts"};
  message.sender_name = "name of " + sender;
  message.meta = R"({"a":1})";
  message.body = body;
  message.history_seq = seq;
  message.created_at = TimeMs{kStartMs - 5};
  return message;
}

class InboxTest : public ::testing::Test {
 protected:
  void SetUp() override { open(); }
  void open(InboxOptions options = {}) {
    inbox_.reset();
    inbox_ = must(Inbox::open(path(), std::move(options), clock_, random_));
  }
  [[nodiscard]] std::string path() const { return folder_.file("inbox.db"); }
  std::vector<std::uint64_t> ids(const InboxFilter& filter = {}) {
    std::vector<std::uint64_t> found;
    for (const InboxMessage& message : must(inbox_->list(filter))) {
      found.push_back(message.id);
    }
    return found;
  }
  std::uint64_t cursor() {
    const auto cursors = must(inbox_->cursors("team"));
    return cursors.empty() ? UINT64_MAX : cursors.at(0).history_seq;
  }

  TempDir folder_;
  ManualClock clock_{TimeMs{kStartMs}};
  SeededRandom random_{4};
  std::unique_ptr<Inbox> inbox_;
};

using Ids = std::vector<std::uint64_t>;

TEST_F(InboxTest, IN_01_IN_02_a_message_is_stored_once) {
  const InboxStored first = must(inbox_->store({from("ann", "m-1"), from("ann", "m-2")}));
  EXPECT_EQ(first.added, 2U);
  const InboxStored again =
      must(inbox_->store({from("ann", "m-1", 0, "other"), from("ann", "m-3")}));
  EXPECT_EQ(again.added, 1U);
  EXPECT_EQ(again.duplicates, 1U);
  const InboxMessage stored = must(inbox_->find(1));
  EXPECT_EQ(stored.body, "hello");
  EXPECT_EQ(stored.meta, R"({"a":1})");
  EXPECT_EQ(stored.sender_name, "name of ann");
  EXPECT_EQ(stored.received_at, TimeMs{kStartMs});
  EXPECT_EQ(stored.created_at, TimeMs{kStartMs - 5});
  EXPECT_EQ(must(inbox_->last_id()), 3U);
}

TEST_F(InboxTest, IN_12_R_11_another_sender_or_recipient_with_the_same_id_is_another_message) {
  must(inbox_->store({from("ann", "m-1")}));
  EXPECT_EQ(must(inbox_->store({from("ben", "m-1")})).added, 1U);
  InboxMessage other = from("ann", "m-1");
  other.recipient = "queue:jobs";
  EXPECT_EQ(must(inbox_->store({other})).added, 1U);
  other.mesh = "elsewhere";
  EXPECT_EQ(must(inbox_->store({other})).added, 1U);
}

TEST_F(InboxTest, IN_05_IN_06_lists_are_filtered_and_paged_by_id) {
  for (int i = 1; i <= 6; ++i) {
    InboxMessage message = from(i % 2 == 0 ? "ben" : "ann", "m-" + std::to_string(i));
    message.destination.ref = i <= 3 ? "alerts" : "deploys";
    must(inbox_->store({message}));
    clock_.advance_ms(1000);
  }
  EXPECT_EQ(ids({.limit = 2}), (Ids{1, 2}));
  must(inbox_->store({from("cat", "m-7")}));
  EXPECT_EQ(ids({.after = 2, .limit = 3}), (Ids{3, 4, 5}));
  EXPECT_EQ(ids({.topic = "deploys"}), (Ids{4, 5, 6}));
  EXPECT_EQ(ids({.from = "ben"}), (Ids{2, 4, 6}));
  EXPECT_EQ(ids({.from = "name of cat"}), (Ids{7}));
  EXPECT_EQ(ids({.since = TimeMs{kStartMs + 4000}}), (Ids{5, 6, 7}));
  EXPECT_EQ(ids({.order = InboxFilter::Order::newest_first, .limit = 2}), (Ids{7, 6}));
  EXPECT_EQ(must(inbox_->mark_seen({1, 3, 3, 99})), 2U);
  EXPECT_EQ(must(inbox_->mark_seen_up_to(4)), 2U);
  EXPECT_EQ(ids({.seen = InboxFilter::Seen::unread}), (Ids{5, 6, 7}));
  EXPECT_EQ(must(inbox_->counts()).unread, 3U);
}

TEST_F(InboxTest, IN_07_H_24_removed_texts_keep_their_keys_until_much_later) {
  must(inbox_->store({from("ann", "m-1"), from("ann", "m-2")}));
  must(inbox_->remove(2));
  EXPECT_EQ(code_of(inbox_->remove(2)), ErrorCode::not_found);
  EXPECT_EQ(code_of(inbox_->find(2)), ErrorCode::not_found);
  EXPECT_EQ(ids(), (Ids{1}));
  clock_.advance_ms(29 * kDayMs);
  EXPECT_EQ(must(inbox_->prune()), 0U);
  clock_.advance_ms(2 * kDayMs);
  EXPECT_EQ(must(inbox_->prune()), 1U);
  EXPECT_EQ(must(inbox_->counts()).messages, 0U);
  // Beyond the time in which a broker delivers: 30 days.
  clock_.advance_ms(300 * kDayMs);
  EXPECT_EQ(must(inbox_->prune()), 0U);
  EXPECT_EQ(must(inbox_->store({from("ann", "m-1"), from("ann", "m-2")})).duplicates, 2U);
  clock_.advance_ms(100 * kDayMs);
  must(inbox_->prune());
  EXPECT_EQ(must(inbox_->store({from("ann", "m-1")})).added, 1U);
  EXPECT_EQ(must(inbox_->last_id()), 3U) << "an id is never used again";
}

TEST_F(InboxTest, a_cursor_follows_the_history_without_gaps) {
  EXPECT_EQ(cursor(), UINT64_MAX);
  must(inbox_->store({from("ann", "m-7", 7), from("ann", "m-8", 8)}));
  EXPECT_EQ(cursor(), 8U);
  must(inbox_->store({from("ben", "m-11", 11), from("ben", "m-10", 10)}));
  EXPECT_EQ(cursor(), 8U);
  must(inbox_->store({from("ann", "m-9", 9)}));
  EXPECT_EQ(cursor(), 11U);
  const Destination alerts{DestinationKind::topic, "alerts"};
  must(inbox_->advance_cursor("team", {alerts, 5}));
  EXPECT_EQ(cursor(), 11U);
  must(inbox_->advance_cursor("team", {alerts, 20}));
  EXPECT_EQ(cursor(), 20U);
  must(inbox_->drop_cursor("team", alerts));
  EXPECT_EQ(cursor(), UINT64_MAX);
}

TEST_F(InboxTest, CR_05_a_damaged_file_is_kept_as_a_copy_and_a_new_one_begun) {
  must(inbox_->store({from("ann", "m-1")}));
  const std::string epoch = inbox_->epoch();
  open();
  EXPECT_EQ(inbox_->epoch(), epoch);
  EXPECT_TRUE(inbox_->kept_copy().empty());
  inbox_.reset();
  { std::ofstream(path(), std::ios::binary | std::ios::trunc) << std::string(8192, 'x'); }
  open();
  EXPECT_EQ(inbox_->kept_copy(), path() + ".corrupt-" + std::to_string(kStartMs));
  EXPECT_TRUE(std::filesystem::exists(inbox_->kept_copy()));
  EXPECT_NE(inbox_->epoch(), epoch) << "ids begin again";
  EXPECT_TRUE(ids().empty());
  EXPECT_EQ(must(inbox_->store({from("ann", "m-1")})).added, 1U);
}

TEST_F(InboxTest, CR_06_newer_tables_and_files_of_other_kinds_are_refused) {
  inbox_.reset();
  const auto change = [&](const char* sql) {
    auto db = must(SqliteDb::open(path(), SqliteAccess::create, "", std::chrono::seconds(5)));
    must(db->exec(sql));
  };
  change("PRAGMA user_version = 99");
  EXPECT_EQ(code_of(Inbox::open(path(), {}, clock_, random_)), ErrorCode::newer_format);
  change("PRAGMA user_version = 1; PRAGMA application_id = 7");
  EXPECT_EQ(code_of(Inbox::open(path(), {}, clock_, random_)), ErrorCode::not_a_journal);
}

// Released migrations are never edited.
TEST_F(InboxTest, CR_06_the_migrations_are_those_that_were_released) {
  std::vector<std::string> hashes;
  for (const FileMigration& migration : inbox_file_kind().migrations) {
    EXPECT_EQ(migration.version, hashes.size() + 1);
    hashes.push_back(to_hex(sha256(migration.sql)).substr(0, 16));
  }
  EXPECT_EQ(hashes, (std::vector<std::string>{"c2c9b144ff01cd5a"}));
}

TEST_F(InboxTest, CR_07_a_full_inbox_stores_nothing_more_and_keeps_what_it_has) {
  must(inbox_->store({from("ann", "m-1")}));
  InboxOptions small;
  small.max_bytes = 8192;
  open(small);
  EXPECT_EQ(code_of(inbox_->store({from("ann", "m-2")})), ErrorCode::disk_full);
  EXPECT_EQ(ids(), (Ids{1}));
}

}  // namespace
}  // namespace holdfast::delivery::inbox_test
