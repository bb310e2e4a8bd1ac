// A journal on a real PostgreSQL server: one pass through every feature, and copies in both
// directions.
#include <gtest/gtest.h>

#include <sstream>

#include "storage/journal/journal_transfer.h"
#include "storage/journal/journal_verify.h"
#include "tests/support/postgres_cluster.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_log.h"

namespace holdfast::postgres_journal_test {
namespace {

class PostgresJournal : public testing::Test {
 protected:
  std::unique_ptr<Journal> open(const std::string& url) {
    SystemClock clock;
    SystemRandom random;
    return must(open_journal(url, OpenMode::create, clock, random));
  }

  std::string schema_url() {
    static int count = 0;
    return PostgresCluster::shared().url("journal_" + std::to_string(count++));
  }

  void fill(Journal& journal, int count) {
    for (int i = 0; i < count; ++i) {
      Commit commit;
      commit.push_back({thread("run:" + std::to_string(i % 7)),
                        std::nullopt,
                        {entry("fact", R"({"text":"\u0000 äöü 🐙"})"), entry("fact")}});
      commit.push_back({thread("dispatch:default"), std::nullopt, {entry("fact")}});
      must(journal.commit(commit));
    }
  }

  std::string exported(Journal& journal) {
    std::ostringstream out;
    must(export_journal(journal.log(), out));
    return out.str();
  }

  TempDir dir_;
};

TEST_F(PostgresJournal, keeps_threads_through_seals_checkpoints_and_reopening) {
  const std::string url = schema_url();
  auto journal = open(url);
  fill(*journal, 50);
  must(journal->put_checkpoint(thread("run:3"), {1, Revision{4}, "state"}));
  must(journal->seal({.below = Position{30}, .step_bytes = 2000}));
  fill(*journal, 10);
  journal = open(url);
  EXPECT_EQ(must(journal->load(thread("dispatch:default"))).size(), 60U);
  EXPECT_EQ(must(journal->load(thread("run:3"), Revision{5}, 4)).size(), 4U);
  EXPECT_EQ(must(journal->find_checkpoint(thread("run:3"), 1))->data, "state");
  EXPECT_EQ(must(verify_journal(journal->log())).entries, 180U);
}

TEST_F(PostgresJournal, two_processes_see_the_revisions_of_each_other) {
  const std::string url = schema_url();
  const auto first = open(url);
  const auto second = open(url);
  must(first->append(thread("run:1"), {entry("a")}, Revision{0}));
  EXPECT_EQ(code_of(second->append(thread("run:1"), {entry("b")}, Revision{0})), "conflict");
  EXPECT_EQ(must(second->append(thread("run:1"), {entry("b")}, Revision{1})), Revision{2});
  must(second->seal());
  EXPECT_EQ(must(first->append(thread("run:1"), {entry("c")})), Revision{3});
  EXPECT_EQ(must(first->load(thread("run:1"))).size(), 3U);
}

TEST_F(PostgresJournal, a_copy_to_postgres_and_back_is_the_same_journal) {
  const std::string there = schema_url();
  const std::string here = "sqlite:" + dir_.file("here.db");
  const std::string back = "sqlite:" + dir_.file("back.db");
  const auto journal = open(here);
  fill(*journal, 40);
  must(journal->seal({.below = Position{25}}));
  const auto first = must(copy_journal(journal->log(), there));
  EXPECT_EQ(first.chain, journal->log().head().chain);
  fill(*journal, 5);
  EXPECT_EQ(must(copy_journal(journal->log(), there)).batches, 5U) << "only new batches";
  const auto copy = open(there);
  EXPECT_EQ(exported(*copy), exported(*journal));
  EXPECT_EQ(must(verify_journal(copy->log())).sealed_batches, 24U);
  must(copy_journal(copy->log(), back));
  EXPECT_EQ(exported(*open(back)), exported(*journal));
}

}  // namespace
}  // namespace holdfast::postgres_journal_test
