#include "storage/journal/journal_directory.h"

#include <gtest/gtest.h>

#include "tests/support/test_log.h"

namespace holdfast {
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

TEST(Directory, a_fold_follows_revisions_and_places) {
  const Directory directory = three_threads();
  EXPECT_EQ(directory.at(), Position{300});
  const ThreadState* a = directory.find("run:a");
  ASSERT_NE(a, nullptr);
  EXPECT_EQ(a->durable, Revision{2});
  EXPECT_EQ(a->places,
            (std::vector<Place>{{Position{1}, Revision{0}}, {Position{3}, Revision{1}}}));
  EXPECT_EQ(directory.find("run:b")->sealed, Revision{5});
  EXPECT_EQ(directory.find("run:x"), nullptr);
}

TEST(Directory, a_gap_or_a_repeat_is_corruption_that_names_the_place) {
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
    EXPECT_EQ(after.find(name)->places, before.find(name)->places);
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

TEST(Directory, staging_numbers_entries_and_unstaging_takes_the_numbers_back) {
  Directory directory = three_threads();
  EXPECT_EQ(directory.stage("run:a", 3), Revision{2});
  EXPECT_EQ(directory.stage("run:a", 1), Revision{5});
  directory.unstage("run:a");
  EXPECT_EQ(directory.find("run:a")->staged, Revision{2});
  directory.admit("run:new", Revision{0});
  directory.unstage("run:new");
  EXPECT_EQ(directory.find("run:new"), nullptr) << "a thread without entries leaves no trace";
}

}  // namespace
}  // namespace holdfast
