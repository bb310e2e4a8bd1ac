#include "storage/journal/journal_transfer.h"

#include <gtest/gtest.h>

#include <sstream>

#include "base/encoding.h"
#include "storage/journal/journal_verify.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_log.h"

namespace holdfast::journal_transfer_test {
namespace {

class TransferTest : public testing::Test {
 protected:
  std::unique_ptr<Journal> open(const std::string& url, OpenMode mode = OpenMode::create) {
    SystemClock clock;
    SystemRandom random;
    return must(open_journal(url, mode, clock, random));
  }

  void fill(Journal& journal, int count) {
    for (int i = 0; i < count; ++i) {
      Commit commit;
      commit.push_back({thread("run:" + std::to_string(i % 5)),
                        std::nullopt,
                        {entry("fact", R"({"text":"\u0000 \n äöü 🐙"})")}});
      commit.push_back(
          {thread("dispatch:default"), std::nullopt, {entry("fact", R"({"n":1.50})")}});
      must(journal.commit(commit));
    }
  }

  std::string export_text(Journal& journal) {
    std::ostringstream out;
    must(export_journal(journal.log(), out));
    return out.str();
  }

  std::string url(const std::string& name) { return "sqlite:" + dir_.file(name); }

  TempDir dir_;
};

TEST_F(TransferTest, a_copy_has_the_same_bodies_chain_and_side_store) {
  const auto from = open(url("from.db"));
  fill(*from, 20);
  must(from->seal({.below = Position{12}}));
  must(from->put_checkpoint(thread("run:1"), {1, Revision{2}, "kept"}));
  const auto report = must(copy_journal(from->log(), url("to.db")));
  EXPECT_EQ(report.head, Position{20});
  const auto to = open(url("to.db"), OpenMode::write);
  EXPECT_EQ(to->log().id(), from->log().id());
  EXPECT_EQ(to->log().head().chain, from->log().head().chain);
  EXPECT_EQ(must(to->stat()).start, must(from->stat()).start);
  EXPECT_EQ(export_text(*to), export_text(*from));
  EXPECT_EQ(must(to->find_checkpoint(thread("run:1"), 1))->data, "kept");
  EXPECT_EQ(must(verify_journal(to->log())).entries, 40U);
}

TEST_F(TransferTest, copying_again_brings_the_copy_up_to_date_even_over_a_seal) {
  const auto from = open(url("from.db"));
  fill(*from, 5);
  must(copy_journal(from->log(), url("to.db")));
  EXPECT_EQ(must(copy_journal(from->log(), url("to.db"))).batches, 0U);
  fill(*from, 10);
  must(from->seal());
  fill(*from, 2);
  EXPECT_EQ(must(copy_journal(from->log(), url("to.db"))).batches, 12U);
  const auto to = open(url("to.db"), OpenMode::write);
  EXPECT_EQ(must(to->stat()).start, must(from->stat()).start);
  EXPECT_EQ(export_text(*to), export_text(*from));
}

TEST_F(TransferTest, an_unfinished_copy_is_not_a_journal_until_it_is_finished) {
  const auto from = open(url("from.db"));
  fill(*from, 5);
  must(copy_journal(from->log(), url("to.db")));
  {
    SystemClock clock;
    SystemRandom random;
    const auto to = must(open_log(url("to.db"), OpenMode::write, clock, random));
    SideUpdate mark;
    mark.puts.push_back({"copy", "1"});
    must(to->update(mark));
    EXPECT_EQ(code_of(open_journal(url("to.db"), OpenMode::read, clock, random)),
              "unfinished_copy");
    EXPECT_EQ(code_of(copy_journal(*to, url("third.db"))), "unfinished_copy");
  }
  must(copy_journal(from->log(), url("to.db")));
  open(url("to.db"), OpenMode::read);
}

TEST_F(TransferTest, a_journal_is_not_copied_onto_itself_under_another_name) {
  const auto from = open(url("from.db"));
  fill(*from, 3);
  std::filesystem::create_symlink(dir_.file("from.db"), dir_.file("alias.db"));
  EXPECT_EQ(code_of(copy_journal(from->log(), url("alias.db"))), "invalid_argument");
  EXPECT_EQ(must(open(url("from.db"))->stat()).head, Position{3}) << "it still opens";
}

TEST_F(TransferTest, a_target_with_another_journal_is_left_alone) {
  const auto from = open(url("from.db"));
  const auto other = open(url("other.db"));
  fill(*from, 3);
  fill(*other, 2);
  const std::string before = export_text(*other);
  EXPECT_EQ(code_of(copy_journal(from->log(), url("other.db"))), "already_exists");
  EXPECT_EQ(export_text(*other), before);
}

TEST_F(TransferTest, a_diverged_target_is_left_alone) {
  const auto from = open(url("from.db"));
  fill(*from, 3);
  must(copy_journal(from->log(), url("to.db")));
  const auto to = open(url("to.db"));
  fill(*to, 1);
  EXPECT_EQ(code_of(copy_journal(from->log(), url("to.db"))), "diverged");
  must(from->append(thread("run:9"), {entry("other")}));
  EXPECT_EQ(code_of(copy_journal(from->log(), url("to.db"))), "diverged");
  EXPECT_EQ(must(verify_journal(to->log())).batches, 4U);
}

TEST_F(TransferTest, import_of_an_export_gives_the_same_chain_sealed_or_not) {
  const auto from = open(url("from.db"));
  fill(*from, 20);
  const std::string text = export_text(*from);
  must(from->seal({.below = Position{12}}));
  EXPECT_EQ(export_text(*from), text);
  std::istringstream file(text);
  const auto report = must(import_journal(file, url("to.db")));
  EXPECT_EQ(report.batches, 20U);
  EXPECT_EQ(report.entries, 40U);
  EXPECT_EQ(report.chain, from->log().head().chain);
  EXPECT_EQ(export_text(*open(url("to.db"))), text);
}

TEST_F(TransferTest, an_interrupted_import_resumes_where_it_stopped) {
  const auto from = open(url("from.db"));
  fill(*from, 5);
  std::istringstream first(export_text(*from));
  must(import_journal(first, url("to.db")));
  fill(*from, 5);
  std::istringstream second(export_text(*from));
  EXPECT_EQ(must(import_journal(second, url("to.db"))).batches, 5U);
  EXPECT_EQ(export_text(*open(url("to.db"))), export_text(*from));
}

TEST_F(TransferTest, a_bad_export_is_refused_with_its_line_and_nothing_is_written) {
  const auto from = open(url("from.db"));
  fill(*from, 3);
  const std::string good = export_text(*from);
  const auto refused = [&](std::string text, const char* code, const char* line) {
    std::istringstream file(std::move(text));
    const auto result = import_journal(file, url("to.db"));
    EXPECT_EQ(code_of(result), code);
    EXPECT_EQ(result.error().field("line"), line) << result.error().text();
    EXPECT_FALSE(std::filesystem::exists(dir_.file("to.db")));
  };
  refused("", "invalid_export", "1");
  refused("hello\n", "invalid_export", "1");
  refused(R"({"holdfast_export":2,"log_id":"x"})", "newer_format", "");
  refused(good.substr(0, good.rfind("{\"end\"")), "invalid_export", "8");
  refused(good.substr(0, good.size() / 2), "invalid_export", "5");
  std::string changed = good;
  changed.replace(changed.find("1.50"), 4, "1.51");
  refused(changed, "invalid_export", "");
  std::string broken = good;
  broken.replace(broken.find("\"n\":1.50"), 8, "\"n\":1.5x");
  refused(broken, "invalid_export", "3");
  const std::size_t second_batch = good.find("{\"position\":2");
  refused(good.substr(0, good.find("{\"position\":1")) + good.substr(second_batch),
          "invalid_export", "2");
}

}  // namespace
}  // namespace holdfast::journal_transfer_test
