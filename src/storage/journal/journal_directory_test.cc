#include "storage/journal/journal_directory.h"

#include <gtest/gtest.h>

#include "tests/support/test_log.h"

namespace holdfast::journal_directory_test {
namespace {

std::string body_of(std::string_view thread_name, std::uint64_t seq) {
  return R"([{"thread":")" + std::string(thread_name) + R"(","seq":)" + std::to_string(seq) +
         R"(,"kind":"a","at":1,"data":{}}])";
}

Directory three_threads() {
  Directory directory(Position{0}, Digest{});
  must(directory.fold(Position{1}, body_of("run:a", 0), Digest{}));
  must(directory.fold(Position{2}, body_of("run:b", 5), Digest{}));
  must(directory.fold(Position{3}, body_of("run:a", 1), Digest{}));
  must(directory.fold(Position{300}, body_of("run:c", 0), Digest{std::byte{9}}));
  return directory;
}

TEST(Directory, a_fold_tracks_revisions_and_batches) {
  const Directory directory = three_threads();
  EXPECT_EQ(directory.at(), Position{300});
  const ThreadState* a = directory.find("run:a");
  ASSERT_NE(a, nullptr);
  EXPECT_EQ(a->durable, Revision{2});
  EXPECT_EQ(a->batches,
            (std::vector<ThreadBatch>{{Position{1}, Revision{0}}, {Position{3}, Revision{1}}}));
  EXPECT_EQ(directory.find("run:b")->sealed, Revision{5});
  EXPECT_EQ(directory.find("run:x"), nullptr);
}

TEST(Directory, a_gap_or_a_repeat_is_corruption_that_names_its_position) {
  for (const std::uint64_t wrong : {0U, 1U, 3U}) {
    Directory directory = three_threads();
    const auto folded = directory.fold(Position{301}, body_of("run:a", wrong), Digest{});
    ASSERT_EQ(code_of(folded), "invalid_journal_entry");
    EXPECT_EQ(folded.error().field("reason"), "seq_gap");
    EXPECT_EQ(folded.error().field("position"), "301");
    EXPECT_EQ(folded.error().field("seq"), std::to_string(wrong));
  }
}

TEST(Directory, encoding_round_trips) {
  const Directory before = three_threads();
  const Directory after = must(Directory::decode(before.encode()));
  EXPECT_EQ(after.at(), before.at());
  EXPECT_EQ(after.chain(), before.chain());
  EXPECT_EQ(after.thread_count(), 3U);
  for (const char* name : {"run:a", "run:b", "run:c"}) {
    EXPECT_EQ(after.find(name)->sealed, before.find(name)->sealed);
    EXPECT_EQ(after.find(name)->durable, before.find(name)->durable);
    EXPECT_EQ(after.find(name)->batches, before.find(name)->batches);
  }
}

// Position, chain, number of threads, then each thread.
std::string stored(std::string_view position, std::string_view threads) {
  return std::string(position) + std::string(32, 'c') + std::string(threads);
}

TEST(Directory, bytes_that_encode_does_not_write_are_refused) {
  using std::string_view_literals::operator""sv;
  EXPECT_TRUE(Directory::decode(stored("\x07"sv, "\x01\x01x\0\x02\x02\x05\0\x02\x01"sv)).ok());
  for (const std::string& bytes : {
           stored("\x87\0"sv, "\0"sv),                                    // a longer 7
           stored("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"sv, "\0"sv),  // over 64 bits
           stored("\x07"sv, "\x02\x01x\0\0\0\x01x\0\0\0"sv),              // x twice
           stored("\x07"sv, "\x01\x01x\0\x02\x02\x05\0\0\x01"sv),         // a batch twice
           stored("\x07"sv, "\x01\x01x\0\x02\x01\x08\0"sv),               // after the newest
           stored("\x07"sv, "\x01\x01x\0\x02\x01\x05\x02"sv),             // an entry too many
       }) {
    EXPECT_EQ(code_of(Directory::decode(bytes)), "corrupt_segment");
  }
}

TEST(Directory, cut_bytes_are_refused) {
  const std::string bytes = three_threads().encode();
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_FALSE(Directory::decode(std::string_view(bytes).substr(0, length)).ok()) << length;
  }
  EXPECT_FALSE(Directory::decode(bytes + "x").ok());
}

TEST(Directory, forgetting_moves_the_sealed_revision) {
  Directory directory = three_threads();
  directory.forget_below(Position{3});
  EXPECT_EQ(directory.find("run:a")->sealed, Revision{1});
  EXPECT_EQ(directory.find("run:b"), nullptr);
  EXPECT_EQ(directory.thread_count(), 2U);
}

TEST(Directory, a_batch_of_this_process_is_added_as_if_it_had_been_folded) {
  Directory directory = three_threads();
  const Position next = directory.at().next();
  directory.advance(next, {});
  directory.add(next, "run:a", directory.find("run:a")->durable, 3);
  EXPECT_EQ(directory.find("run:a")->durable, Revision{5});
  directory.add(next, "run:sealed", Revision{7}, 1);
  EXPECT_EQ(directory.find("run:sealed")->sealed, Revision{7});
  EXPECT_EQ(directory.find("run:sealed")->durable, Revision{8});
}

}  // namespace
}  // namespace holdfast::journal_directory_test
