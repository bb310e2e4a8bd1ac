#include <gtest/gtest.h>

#include "storage/journal/journal_history.h"
#include "storage/journal/journal_keys.h"
#include "storage/journal/journal_verify.h"
#include "tests/support/test_log.h"

namespace holdfast::journal_seal_test {
namespace {

class SealTest : public testing::Test {
 protected:
  void append(std::string_view name, int count) {
    for (int i = 0; i < count; ++i) {
      must(journal_->append(thread(name),
                            {entry("fact", R"({"n":)" + std::to_string(next_++) + "}")}));
    }
  }

  std::string data(Journal& journal, std::string_view name, Revision from = {},
                   std::size_t limit = SIZE_MAX) {
    std::string out;
    for (const Entry& loaded : must(journal.load(thread(name), from, limit))) {
      out += std::string(loaded.data.substr(5, loaded.data.size() - 6)) + " ";
    }
    return out;
  }

  Error verify_error() {
    auto report = verify_journal(journal_->log());
    EXPECT_FALSE(report.ok());
    return std::move(report).error();
  }

  // Flips one bit in a value of the side store.
  void damage(const std::string& key) {
    std::string& value = disk_->side.at(key);
    value[value.size() / 2] = static_cast<char>(value[value.size() / 2] ^ 4);
  }

  int next_ = 0;
  std::shared_ptr<MemoryDisk> disk_ = std::make_shared<MemoryDisk>();
  std::unique_ptr<Journal> journal_ = open_memory_journal(disk_);
};

TEST_F(SealTest, sealing_moves_entries_and_loses_nothing) {
  append("run:1", 3);
  append("run:2", 2);
  append("run:1", 1);
  const Digest chain = journal_->log().head().chain;
  const SealReport report = must(journal_->seal());
  EXPECT_EQ(report.batches, 5U);
  EXPECT_EQ(report.entries, 5U);
  EXPECT_EQ(must(journal_->stat()).start, Position{6});
  EXPECT_EQ(data(*journal_, "run:1"), "0 1 2 5 ");
  EXPECT_EQ(data(*journal_, "run:2"), "3 4 ");
  EXPECT_EQ(data(*journal_, "run:1", Revision{1}, 2), "1 2 ");
  EXPECT_EQ(journal_->log().head().chain, chain);
  EXPECT_EQ(must(verify_journal(journal_->log())).sealed_batches, 5U);
}

TEST_F(SealTest, sealed_threads_continue_at_their_revision) {
  append("run:1", 3);
  append("run:2", 1);
  must(journal_->seal());
  EXPECT_EQ(must(journal_->revision(thread("run:1"))), Revision{3});
  EXPECT_EQ(code_of(journal_->append(thread("run:1"), {entry("x")}, Revision{0})), "conflict");
  append("run:1", 2);
  journal_ = open_memory_journal(disk_);
  EXPECT_EQ(data(*journal_, "run:1"), "0 1 2 4 5 ");
  must(journal_->seal());
  append("run:1", 1);
  EXPECT_EQ(data(*journal_, "run:1", Revision{2}), "2 4 5 6 ");
  EXPECT_EQ(must(verify_journal(journal_->log())).entries, 7U);
}

TEST_F(SealTest, start_up_does_not_grow_with_sealed_history) {
  for (int i = 0; i < 50; ++i) {
    append("run:" + std::to_string(i), 2);
  }
  must(journal_->seal());
  journal_ = open_memory_journal(disk_);
  const JournalStat stat = must(journal_->stat());
  EXPECT_EQ(stat.opened_from_batches, 0U);
  EXPECT_EQ(stat.unsealed_threads, 1U);
  EXPECT_EQ(data(*journal_, "run:7"), "14 15 ");
}

TEST_F(SealTest, small_steps_and_one_big_step_give_the_same_history) {
  for (int i = 0; i < 40; ++i) {
    append("run:" + std::to_string(i % 7), 1);
  }
  must(journal_->seal({.below = Position{11}, .step_bytes = 1}));
  EXPECT_EQ(must(journal_->stat()).start, Position{11});
  must(journal_->seal({.below = {}, .step_bytes = 300}));
  EXPECT_EQ(must(journal_->stat()).start, Position{40});
  History history(journal_->log());
  std::vector<Batch> all;
  for (auto some = must(history.next()); !some.empty(); some = must(history.next())) {
    std::move(some.begin(), some.end(), std::back_inserter(all));
  }
  ASSERT_EQ(all.size(), 40U);
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].position, Position{i + 1});
    EXPECT_NE(all[i].body.find("\"n\":" + std::to_string(i) + "}"), std::string::npos);
  }
  EXPECT_EQ(all.back().chain, journal_->log().head().chain);
}

TEST_F(SealTest, history_begins_at_any_position) {
  append("run:1", 20);
  must(journal_->seal({.below = Position{15}, .step_bytes = 300}));
  for (std::uint64_t from = 1; from <= 20; ++from) {
    History history(journal_->log(), Position{from});
    EXPECT_EQ(must(history.next()).front().position, Position{from});
  }
  History ahead(journal_->log(), Position{25});
  EXPECT_TRUE(must(ahead.next()).empty());
  append("run:1", 5);
  EXPECT_EQ(must(ahead.next()).front().position, Position{25});
}

TEST_F(SealTest, a_long_thread_is_cut_into_segments_that_load_in_part) {
  const std::string large = R"({"x":")" + std::string(100'000, 'x') + "\"}";
  for (int i = 0; i < 40; ++i) {
    must(journal_->append(thread("run:1"), {entry("fact", large)}));
  }
  const SealReport report = must(journal_->seal({.below = {}, .step_bytes = 64U << 20U}));
  EXPECT_GT(report.segments, 2U);
  for (const std::uint64_t from : {0U, 5U, 11U, 25U, 38U, 39U}) {
    const auto loaded = must(journal_->load(thread("run:1"), Revision{from}, 3));
    ASSERT_EQ(loaded.size(), std::min<std::size_t>(3, 40 - from));
    EXPECT_EQ(loaded.front().seq, Revision{from});
  }
}

TEST_F(SealTest, a_process_that_had_not_read_the_sealed_batches_finds_them_in_segments) {
  append("run:1", 3);
  const auto other = open_memory_journal(disk_);
  append("run:1", 3);
  append("run:2", 1);
  must(journal_->seal());
  EXPECT_EQ(data(*other, "run:1"), "0 1 2 3 4 5 ");
  EXPECT_EQ(must(other->append(thread("run:1"), {entry("x", R"({"n":99})")})), Revision{7});
  EXPECT_EQ(data(*other, "run:1"), "0 1 2 3 4 5 99 ");
  EXPECT_EQ(data(*other, "run:2"), "6 ");
}

TEST_F(SealTest, two_processes_that_seal_at_once_lose_nothing) {
  append("run:1", 10);
  const auto other = open_memory_journal(disk_);
  must(journal_->seal({.below = Position{5}}));
  must(other->seal());
  append("run:1", 1);
  EXPECT_EQ(data(*journal_, "run:1"), "0 1 2 3 4 5 6 7 8 9 10 ");
  EXPECT_EQ(must(verify_journal(other->log())).entries, 11U);
}

TEST_F(SealTest, verify_finds_damage_in_every_kind_of_sealed_value) {
  append("run:1", 5);
  append("run:2", 5);
  must(journal_->seal());
  const auto intact = disk_->side;
  EXPECT_TRUE(verify_journal(journal_->log()).ok());

  damage(segment_key("run:1", Revision{0}));
  EXPECT_EQ(verify_error().code(), ErrorCode::corrupt_segment);
  EXPECT_EQ(code_of(journal_->load(thread("run:1"))), "corrupt_segment");
  disk_->side = intact;

  damage(seal_key(Position{1}));
  EXPECT_EQ(verify_error().code(), ErrorCode::corrupt_segment);
  disk_->side = intact;

  damage(thread_key("run:2"));
  EXPECT_EQ(verify_error().code(), ErrorCode::invalid_journal_thread);
  disk_->side = intact;

  disk_->side.erase(segment_key("run:2", Revision{0}));
  EXPECT_EQ(verify_error().field("reason"), "missing_segment");
  disk_->side = intact;

  disk_->side.erase(seal_key(Position{1}));
  EXPECT_EQ(verify_error().field("reason"), "missing_seal");
  disk_->side = intact;

  disk_->side.erase(thread_key("run:1"));
  EXPECT_EQ(verify_error().field("reason"), "rev_mismatch");
  disk_->side = intact;

  // A whole segment of another thread under this key: valid bytes at the wrong address.
  disk_->side.at(segment_key("run:1", Revision{0})) =
      disk_->side.at(segment_key("run:2", Revision{0}));
  EXPECT_EQ(verify_error().field("reason"), "thread_mismatch");
  EXPECT_EQ(code_of(journal_->load(thread("run:1"))), "invalid_journal_entry");
}

TEST_F(SealTest, a_segment_swapped_for_an_older_version_of_itself_breaks_the_chain) {
  append("run:1", 4);
  must(journal_->seal());
  const std::string key = segment_key("run:1", Revision{0});
  std::string forged;
  append_segment_line(
      forged, Position{1}, 0,
      R"({"thread":"run:1","seq":0,"kind":"fact","at":1700000000000,"data":{"n":7}})");
  append_segment_line(
      forged, Position{2}, 0,
      R"({"thread":"run:1","seq":1,"kind":"fact","at":1700000000000,"data":{"n":1}})");
  append_segment_line(
      forged, Position{3}, 0,
      R"({"thread":"run:1","seq":2,"kind":"fact","at":1700000000000,"data":{"n":2}})");
  disk_->side.at(key) = pack_segment(forged);
  const Error error = verify_error();
  EXPECT_EQ(error.code(), ErrorCode::corrupt_segment);
  EXPECT_NE(error.text().find("chain"), std::string::npos) << error.text();
}

}  // namespace
}  // namespace holdfast::journal_seal_test
