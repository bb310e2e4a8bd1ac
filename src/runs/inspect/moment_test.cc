#include "runs/inspect/moment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/engine_support.h"

namespace holdfast::moment_test {
namespace {

using ::testing::HasSubstr;

std::string parsed(std::string_view text) {
  const auto at = At::parse(text);
  if (!at.ok()) {
    EXPECT_EQ(at.error().field("field"), "at") << text;
    return std::string(error_info(at.error().code()).name);
  }
  switch (at.value().kind) {
    case At::Kind::now:
      return "now";
    case At::Kind::position:
      return "position " + std::to_string(at.value().number);
    case At::Kind::time:
      return "time " + std::to_string(at.value().time.value);
    case At::Kind::ago:
      return "ago " + std::to_string(at.value().number);
    case At::Kind::run_revision:
      break;
  }
  return "revision " + std::to_string(at.value().number);
}

TEST(AtParse, accepts_every_form) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "now"},
      {"now", "now"},
      {"0", "position 0"},
      {"123", "position 123"},
      {"2026", "position 2026"},
      {"18446744073709551615", "position 18446744073709551615"},
      {"r0", "revision 0"},
      {"r5", "revision 5"},
      {"1970-01-01", "time 0"},
      {"1970-01-02", "time 86400000"},
      {"1970-01-01T00:00:01Z", "time 1000"},
      {"1970-01-01T00:00:01.5Z", "time 1500"},
      {"1970-01-01T01:00:01+01:00", "time 1000"},
      {"10m", "ago 600000"},
      {"200ms", "ago 200"},
      {"1h30m", "ago 5400000"},
      {"0s", "ago 0"},
      {"36600d", "ago 3162240000000"},
  };
  for (const auto& [text, form] : cases) {
    EXPECT_EQ(parsed(text), form) << text;
  }
}

TEST(AtParse, refuses_everything_else) {
  for (const std::string_view text : {"soon",
                                      "-1",
                                      "+1",
                                      "1.5",
                                      " 1",
                                      "1 ",
                                      "007",
                                      "18446744073709551616",
                                      "r",
                                      "r-1",
                                      "r1.5",
                                      "R5",
                                      "rr5",
                                      "r05",
                                      "NOW",
                                      "2026-13-01",
                                      "2026-11-16T25:00:00Z",
                                      "2026-11-16T14:02:00",
                                      "10 m",
                                      "m",
                                      "10x",
                                      "30m1h",
                                      "36601d",
                                      "99999999999999999999999d"}) {
    EXPECT_EQ(parsed(text), "invalid_argument") << text;
  }
}

// Three commits at 1000, 2000 and 4000 ms after kStart: two entries of run 1, one of run 2, and
// two more of run 1.
class Moments : public testing::Test {
 protected:
  void SetUp() override {
    append(run_no(1), {1000, 1000});
    append(run_no(2), {2000});
    append(run_no(1), {3500, 4000});
  }
  void append(const RunId& run, const std::vector<std::int64_t>& times) {
    std::vector<NewEntry> entries;
    for (const std::int64_t time : times) {
      entries.push_back(entry("noted", "{}", after(kStart, time).value));
    }
    must(journal_->append(run_thread(run), std::move(entries)));
  }
  // "2 at 1500", in milliseconds after kStart.
  std::string find(const At& at, const std::optional<RunId>& run = std::nullopt) {
    const auto moment = find_moment(*journal_, at, now_, run);
    if (!moment.ok()) {
      EXPECT_EQ(moment.error().field("field"), "at");
      return std::string(error_info(moment.error().code()).name);
    }
    return std::to_string(moment.value().position.value) + " at " +
           std::to_string(moment.value().now.value - kStart.value);
  }
  static At position(std::uint64_t number) { return {At::Kind::position, number, {}}; }
  static At revision(std::uint64_t number) { return {At::Kind::run_revision, number, {}}; }
  static At time(std::int64_t ms) { return {At::Kind::time, 0, after(kStart, ms)}; }
  static At ago(std::uint64_t ms) { return {At::Kind::ago, ms, {}}; }

  std::shared_ptr<MemoryDisk> disk_ = std::make_shared<MemoryDisk>();
  std::unique_ptr<Journal> journal_ = open_memory_journal(disk_);
  TimeMs now_ = after(kStart, 10'000);
};

TEST_F(Moments, now_is_the_newest_commit_at_this_time) {
  EXPECT_EQ(find({}), "3 at 10000");
  // Includes what another process has written since.
  const auto other = open_memory_journal(disk_);
  must(other->append(run_thread(run_no(3)), {entry("noted")}));
  EXPECT_EQ(find({}), "4 at 10000");
}

TEST_F(Moments, a_position_has_the_time_of_its_commit) {
  EXPECT_EQ(find(position(1)), "1 at 1000");
  EXPECT_EQ(find(position(2)), "2 at 2000");
  EXPECT_EQ(find(position(3)), "3 at 4000") << "the newest entry of the commit";
  EXPECT_EQ(find(position(0)), "0 at " + std::to_string(-kStart.value)) << "before everything";
  EXPECT_EQ(find(position(4)), "invalid_argument");
  EXPECT_EQ(find(position(UINT64_MAX)), "invalid_argument");
}

TEST_F(Moments, a_time_is_the_newest_commit_up_to_it) {
  EXPECT_EQ(find(time(-1)), "0 at -1");
  EXPECT_EQ(find(time(999)), "0 at 999");
  EXPECT_EQ(find(time(1000)), "1 at 1000") << "the time of the commit itself";
  EXPECT_EQ(find(time(1999)), "1 at 1999");
  EXPECT_EQ(find(time(2000)), "2 at 2000");
  EXPECT_EQ(find(time(3999)), "2 at 3999") << "a commit is atomic";
  EXPECT_EQ(find(time(4000)), "3 at 4000");
  EXPECT_EQ(find(time(10'000)), "3 at 10000");
  EXPECT_EQ(find(time(10'001)), "invalid_argument") << "the time is in the future";
}

TEST_F(Moments, an_age_is_a_time) {
  EXPECT_EQ(find(ago(0)), "3 at 10000");
  EXPECT_EQ(find(ago(6000)), "3 at 4000");
  EXPECT_EQ(find(ago(6001)), "2 at 3999");
  EXPECT_EQ(find(ago(9001)), "0 at 999");
}

TEST_F(Moments, a_revision_is_the_commit_that_created_it) {
  EXPECT_EQ(find(revision(1), run_no(1)), "1 at 1000");
  EXPECT_EQ(find(revision(2), run_no(1)), "1 at 1000");
  EXPECT_EQ(find(revision(3), run_no(1)), "3 at 4000");
  EXPECT_EQ(find(revision(4), run_no(1)), "3 at 4000");
  EXPECT_EQ(find(revision(1), run_no(2)), "2 at 2000");
  EXPECT_EQ(find(revision(0), run_no(1)), "invalid_argument");
  EXPECT_EQ(find(revision(5), run_no(1)), "invalid_argument");
  EXPECT_EQ(find(revision(1), run_no(9)), "invalid_argument");
  EXPECT_EQ(find(revision(UINT64_MAX), run_no(1)), "invalid_argument");
  EXPECT_EQ(find(revision(1)), "invalid_argument") << "a revision needs a run";
  const auto refused = find_moment(*journal_, revision(5), now_, run_no(1));
  EXPECT_THAT(refused.error().text(), HasSubstr("1 to 4"));
}

TEST_F(Moments, an_empty_journal_has_no_past) {
  journal_ = open_memory_journal(std::make_shared<MemoryDisk>());
  EXPECT_EQ(find({}), "0 at 10000");
  EXPECT_EQ(find(time(5000)), "0 at 5000");
  EXPECT_EQ(find(position(1)), "invalid_argument");
}

TEST_F(Moments, sealed_batches_keep_their_positions) {
  must(journal_->seal(SealOptions{}));
  EXPECT_EQ(find(position(1)), "1 at 1000");
  EXPECT_EQ(find(position(2)), "2 at 2000");
  EXPECT_EQ(find(time(3999)), "2 at 3999");
  EXPECT_EQ(find(time(1000)), "1 at 1000");
  EXPECT_EQ(find(revision(2), run_no(1)), "1 at 1000");
}

TEST_F(Moments, every_time_among_many_commits_is_found) {
  for (std::int64_t i = 0; i < 500; ++i) {
    append(run_no(3), {5000 + i});
  }
  for (std::int64_t i = 0; i < 500; i += 7) {
    EXPECT_EQ(find(time(5000 + i)), std::to_string(4 + i) + " at " + std::to_string(5000 + i));
  }
}

}  // namespace
}  // namespace holdfast::moment_test
