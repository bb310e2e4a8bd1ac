#include "storage/journal/journal.h"

#include <gtest/gtest.h>

#include "base/packed.h"
#include "storage/journal/journal_keys.h"
#include "tests/support/test_log.h"

namespace holdfast::journal_test {
namespace {

class JournalTest : public testing::Test {
 protected:
  Result<Revision> append(Journal& journal, std::string_view name, std::string kind,
                          std::optional<Revision> expected = std::nullopt) {
    return journal.append(thread(name), {entry(std::move(kind))}, expected);
  }

  std::string kinds(Journal& journal, std::string_view name, Revision from = {},
                    std::size_t limit = SIZE_MAX) {
    std::string out;
    Revision expected = from;
    for (const Entry& loaded : must(journal.load(thread(name), from, limit))) {
      EXPECT_EQ(loaded.seq, expected);
      expected = expected.next();
      out += std::string(loaded.kind) + " ";
    }
    return out;
  }

  std::shared_ptr<MemoryDisk> disk_ = std::make_shared<MemoryDisk>();
  std::unique_ptr<Journal> journal_ = open_memory_journal(disk_);
};

TEST_F(JournalTest, a_thread_begins_at_revision_zero_and_counts_its_entries) {
  EXPECT_EQ(must(journal_->revision(thread("run:1"))), Revision{0});
  EXPECT_EQ(must(append(*journal_, "run:1", "a")), Revision{1});
  EXPECT_EQ(must(journal_->append(thread("run:1"), {entry("b"), entry("c")})), Revision{3});
  EXPECT_EQ(must(journal_->revision(thread("run:1"))), Revision{3});
  EXPECT_EQ(kinds(*journal_, "run:1"), "a b c ");
  EXPECT_EQ(kinds(*journal_, "run:2"), "");
}

TEST_F(JournalTest, load_takes_a_range) {
  for (const char* kind : {"a", "b", "c", "d", "e"}) {
    must(append(*journal_, "run:1", kind));
    must(append(*journal_, "run:2", "x"));
  }
  EXPECT_EQ(kinds(*journal_, "run:1", Revision{2}), "c d e ");
  EXPECT_EQ(kinds(*journal_, "run:1", Revision{1}, 2), "b c ");
  EXPECT_EQ(kinds(*journal_, "run:1", Revision{0}, 0), "");
  EXPECT_EQ(kinds(*journal_, "run:1", Revision{5}), "");
  EXPECT_EQ(kinds(*journal_, "run:1", Revision{99}), "");
}

TEST_F(JournalTest, loaded_entries_outlive_the_journal) {
  must(journal_->append(thread("run:1"), {entry("a", R"({"n":1})", 42)}));
  const auto entries = must(journal_->load(thread("run:1")));
  journal_.reset();
  disk_.reset();
  EXPECT_EQ(entries.front().data, R"({"n":1})");
  EXPECT_EQ(entries.front().at, TimeMs{42});
  EXPECT_EQ(entries.front().position, Position{1});
}

TEST_F(JournalTest, a_stale_expected_revision_is_a_conflict_and_writes_nothing) {
  must(append(*journal_, "run:1", "a", Revision{0}));
  const auto stale = append(*journal_, "run:1", "late", Revision{0});
  EXPECT_EQ(code_of(stale), "conflict");
  EXPECT_EQ(stale.error().field("revision"), "1");
  EXPECT_EQ(stale.error().field("thread"), "run:1");
  EXPECT_EQ(code_of(append(*journal_, "run:1", "early", Revision{2})), "conflict");
  EXPECT_EQ(kinds(*journal_, "run:1"), "a ");
  EXPECT_EQ(must(journal_->log().refresh()).head, Position{1});
}

CommitBuffer buffer(std::initializer_list<std::pair<std::string_view, std::string_view>> entries) {
  CommitBuffer commit;
  for (const auto& [name, kind] : entries) {
    must(commit.add(thread(name), kind, TimeMs{1}, [](std::string& out) -> Result<void> {
      out += "{}";
      return {};
    }));
  }
  return commit;
}

TEST_F(JournalTest, a_commit_at_a_position_keeps_the_order_of_its_entries) {
  const Committed committed = must(journal_->commit_at(
      Position{0}, buffer({{"run:1", "a"}, {"dispatch:q", "b"}, {"run:1", "c"}, {"run:1", "d"}})));
  EXPECT_EQ(committed.position, Position{1});
  EXPECT_EQ(kinds(*journal_, "run:1"), "a c d ");
  const std::string body = bodies_from(journal_->log(), Position{1}).front();
  EXPECT_LT(body.find(R"("kind":"b")"), body.find(R"("kind":"c")"));
  EXPECT_EQ(kinds(*open_memory_journal(disk_), "run:1"), "a c d ");
}

TEST_F(JournalTest, a_commit_at_a_position_conflicts_with_any_batch_after_it) {
  const auto other = open_memory_journal(disk_);
  must(append(*other, "run:2", "x"));
  const auto commit_at = [&](std::uint64_t position) {
    return journal_->commit_at(Position{position}, buffer({{"run:1", "a"}}));
  };
  EXPECT_EQ(code_of(commit_at(0)), "conflict");
  EXPECT_EQ(must(journal_->revision(thread("run:1"))), Revision{0});
  EXPECT_EQ(code_of(commit_at(5)), "conflict");
  EXPECT_EQ(must(commit_at(1)).position, Position{2});
  EXPECT_EQ(code_of(commit_at(1)), "conflict");
  EXPECT_EQ(kinds(*journal_, "run:1"), "a ");
}

TEST_F(JournalTest, truncated_entries_of_a_buffer_are_not_written) {
  CommitBuffer commit = buffer({{"run:1", "a"}});
  const CommitBuffer::Mark mark = commit.mark();
  const auto add = [&](std::string_view name, std::string data) {
    return commit.add(thread(name), "b", TimeMs{1}, [&](std::string& out) -> Result<void> {
      out += data;
      return {};
    });
  };
  must(add("run:1", "{}"));
  must(add("run:2", "{}"));
  commit.truncate(mark);
  EXPECT_EQ(code_of(add("run:3", std::string(kMaxDataBytes + 1, ' '))), "too_large");
  EXPECT_EQ(commit.entries(), 1U);
  must(journal_->commit_at(Position{0}, std::move(commit)));
  EXPECT_EQ(kinds(*journal_, "run:1"), "a ");
  EXPECT_EQ(must(journal_->stat()).unsealed_threads, 1U);
  EXPECT_EQ(code_of(journal_->commit_at(Position{1}, CommitBuffer())), "empty_entries");
}

TEST_F(JournalTest, a_commit_over_several_threads_is_all_or_nothing) {
  Commit good;
  good.push_back({thread("run:1"), Revision{0}, {entry("a"), entry("b")}});
  good.push_back({thread("dispatch:default"), std::nullopt, {entry("c")}});
  const Committed committed = must(journal_->commit(good));
  EXPECT_EQ(committed.position, Position{1});
  EXPECT_EQ(committed.revisions, (std::vector<Revision>{Revision{2}, Revision{1}}));

  Commit bad;
  bad.push_back({thread("run:1"), Revision{2}, {entry("x")}});
  bad.push_back({thread("dispatch:default"), Revision{7}, {entry("y")}});
  EXPECT_EQ(code_of(journal_->commit(bad)), "conflict");
  EXPECT_EQ(kinds(*journal_, "run:1"), "a b ");
  EXPECT_EQ(kinds(*journal_, "dispatch:default"), "c ");
}

TEST_F(JournalTest, bad_commits_are_refused_with_the_code_that_names_the_fault) {
  EXPECT_EQ(code_of(journal_->append(thread("run:1"), {})), "empty_entries");
  EXPECT_EQ(code_of(journal_->commit({})), "empty_entries");
  EXPECT_EQ(code_of(append(*journal_, "run:1", "")), "missing_fields");
  Commit twice;
  twice.push_back({thread("run:1"), std::nullopt, {entry("a")}});
  twice.push_back({thread("run:1"), std::nullopt, {entry("b")}});
  EXPECT_EQ(code_of(journal_->commit(twice)), "invalid_argument");
  EXPECT_EQ(must(journal_->log().refresh()).head, Position{0});
}

TEST_F(JournalTest, entries_survive_reopening) {
  must(append(*journal_, "run:1", "a"));
  must(append(*journal_, "run:2", "b"));
  must(append(*journal_, "run:1", "c"));
  journal_ = open_memory_journal(disk_);
  EXPECT_EQ(kinds(*journal_, "run:1"), "a c ");
  EXPECT_EQ(must(append(*journal_, "run:1", "d", Revision{2})), Revision{3});
}

TEST_F(JournalTest, another_process_is_noticed_by_expected_revisions) {
  const auto other = open_memory_journal(disk_);
  must(append(*journal_, "run:1", "a"));
  EXPECT_EQ(code_of(append(*other, "run:1", "late", Revision{0})), "conflict");
  EXPECT_EQ(must(append(*other, "run:1", "b", Revision{1})), Revision{2});
  EXPECT_EQ(must(append(*journal_, "run:1", "c")), Revision{3}) << "no expectation, no conflict";
  EXPECT_EQ(kinds(*journal_, "run:1"), "a b c ");
  must(other->catch_up());
  EXPECT_EQ(kinds(*other, "run:1"), "a b c ");
}

TEST_F(JournalTest, an_entry_out_of_sequence_in_the_log_is_corruption) {
  must(append(*journal_, "run:1", "a"));
  must(journal_->log().append(Position{1},
                              R"([{"thread":"run:1","seq":5,"kind":"x","at":1,"data":{}}])"));
  const auto opened = Journal::open(open_memory_log(disk_));
  ASSERT_EQ(code_of(opened), "invalid_journal_entry");
  EXPECT_EQ(opened.error().field("reason"), "seq_gap");
  EXPECT_EQ(opened.error().field("position"), "2");
  EXPECT_EQ(opened.error().field("seq"), "5");
}

TEST_F(JournalTest, a_checkpoint_is_loaded_with_its_exact_revision) {
  must(append(*journal_, "run:1", "a"));
  must(append(*journal_, "run:1", "b"));
  EXPECT_EQ(must(journal_->find_checkpoint(thread("run:1"), 1)), std::nullopt);
  must(journal_->put_checkpoint(thread("run:1"), {1, Revision{1}, "first"}));
  must(journal_->put_checkpoint(thread("run:1"), {1, Revision{2}, std::string("se\0cond\n", 8)}));
  const auto found = *must(journal_->find_checkpoint(thread("run:1"), 1));
  EXPECT_EQ(found.revision, Revision{2});
  EXPECT_EQ(found.data, std::string("se\0cond\n", 8));
  must(journal_->delete_checkpoint(thread("run:1")));
  EXPECT_EQ(must(journal_->find_checkpoint(thread("run:1"), 1)), std::nullopt);
}

TEST_F(JournalTest, a_checkpoint_that_cannot_be_right_is_ignored) {
  must(append(*journal_, "run:1", "a"));
  EXPECT_EQ(code_of(journal_->put_checkpoint(thread("run:1"), {1, Revision{2}, "x"})),
            "invalid_argument");
  must(journal_->put_checkpoint(thread("run:1"), {1, Revision{1}, "x"}));
  EXPECT_EQ(must(journal_->find_checkpoint(thread("run:1"), 2)), std::nullopt) << "other version";
  const std::string key = checkpoint_key("run:1");
  const std::string good = disk_->side.at(key);
  for (std::size_t i = 0; i < good.size(); ++i) {
    if (i == 3) {
      continue;  // the version byte is the caller's
    }
    disk_->side.at(key) = good;
    disk_->side.at(key)[i] = static_cast<char>(good[i] ^ 1);
    EXPECT_EQ(must(journal_->find_checkpoint(thread("run:1"), 1)), std::nullopt) << i;
  }
  disk_->side.at(key) = pack(PackedType::checkpoint, 1, "9\nnewer than the thread");
  EXPECT_EQ(must(journal_->find_checkpoint(thread("run:1"), 1)), std::nullopt);
  disk_->side.at(key) = pack(PackedType::checkpoint, 1, "no number");
  EXPECT_EQ(must(journal_->find_checkpoint(thread("run:1"), 1)), std::nullopt);
}

TEST_F(JournalTest, current_checkpoints_are_those_that_cover_the_whole_thread) {
  for (const std::string name : {"run:1", "run:2", "run:3", "run:4"}) {
    must(append(*journal_, name, "a"));
  }
  const std::vector<ThreadId> threads{thread("run:1"), thread("run:2"), thread("run:3"),
                                      thread("run:4"), thread("run:5")};
  const auto found = [&] {
    std::string all;
    for (const auto& one : must(journal_->find_current_checkpoints(threads, 1))) {
      all += one.has_value() ? one->data : "-";
    }
    return all;
  };
  EXPECT_EQ(found(), "-----");
  must(journal_->put_checkpoints(std::vector<NamedCheckpoint>{
      {threads[0], {1, Revision{1}, "A"}},
      {threads[1], {1, Revision{1}, "B"}},
      {threads[2], {2, Revision{1}, "C"}},
      {threads[4], {1, Revision{0}, "E"}},
  }));
  EXPECT_EQ(found(), "AB--E") << "of another version, never put, and of no thread at all";
  must(append(*journal_, "run:2", "b"));
  EXPECT_EQ(found(), "A---E") << "the thread has moved on";
  must(journal_->seal());
  EXPECT_EQ(found(), "A---E") << "sealed whole, or in part";
  journal_ = must(Journal::open(open_memory_log(disk_)));
  EXPECT_EQ(found(), "A---E");
  disk_->side.at(checkpoint_key("run:1")) = "garbage";
  EXPECT_EQ(found(), "----E");
  EXPECT_EQ(code_of(journal_->put_checkpoints(std::vector<NamedCheckpoint>{
                {threads[3], {1, Revision{1}, "D"}}, {threads[0], {1, Revision{2}, "A"}}})),
            "invalid_argument");
  EXPECT_EQ(found(), "----E") << "all or none";
}

TEST_F(JournalTest, opening_reads_only_the_tail_after_the_directory) {
  for (int i = 0; i < 10; ++i) {
    must(append(*journal_, "run:" + std::to_string(i % 3), "a"));
  }
  journal_ = open_memory_journal(disk_);
  EXPECT_EQ(must(journal_->stat()).opened_from_batches, 10U);
  must(journal_->save_directory());
  must(append(*journal_, "run:1", "b"));
  journal_ = open_memory_journal(disk_);
  EXPECT_EQ(must(journal_->stat()).opened_from_batches, 1U);
  EXPECT_EQ(kinds(*journal_, "run:1"), "a a a b ");
  EXPECT_EQ(kinds(*journal_, "run:0"), "a a a a ");
}

TEST_F(JournalTest, a_directory_of_another_history_is_ignored) {
  must(append(*journal_, "run:1", "a"));
  must(append(*journal_, "run:1", "b"));
  must(journal_->save_directory());
  const std::string directory = disk_->side.at(std::string(kDirectoryKey));

  const auto other_disk = std::make_shared<MemoryDisk>();
  const auto other = open_memory_journal(other_disk);
  must(append(*other, "run:7", "x"));
  must(append(*other, "run:7", "y"));
  other_disk->side[std::string(kDirectoryKey)] = directory;
  const auto opened = open_memory_journal(other_disk);
  EXPECT_EQ(must(opened->stat()).opened_from_batches, 2U);
  EXPECT_EQ(kinds(*opened, "run:7"), "x y ");
  EXPECT_EQ(kinds(*opened, "run:1"), "");

  disk_->side[std::string(kDirectoryKey)] = "garbage";
  EXPECT_EQ(kinds(*open_memory_journal(disk_), "run:1"), "a b ");
}

TEST_F(JournalTest, a_read_only_journal_refuses_appends_and_stays_readable) {
  must(append(*journal_, "run:1", "a"));
  const auto reader = must(Journal::open(open_memory_log(disk_, OpenMode::read)));
  EXPECT_EQ(code_of(append(*reader, "run:1", "b")), "read_only");
  EXPECT_EQ(kinds(*reader, "run:1"), "a ");
}

}  // namespace
}  // namespace holdfast::journal_test
