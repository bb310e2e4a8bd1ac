// Lists of runs, page by page, now and in the past; runs found by a part of their id.
#include "runs/inspect/run_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runs/language/data/canonical_json.h"
#include "tests/support/core_fixture.h"

namespace holdfast::run_list_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;

class RunList : public CoreTest {
 protected:
  void SetUp() override { core_ = &open(); }

  void start(const StartRun& command) {
    const auto started = core_->start(command);
    core_->settle();
    ASSERT_EQ(started->code(), "ok");
  }
  void start(int number) { start(start_of(number, one_)); }
  // A worker completes, or fails, the oldest visible attempt.
  void work(bool well = true) {
    const auto worker = core_->worker();
    core_->settle();
    ASSERT_TRUE(worker->given.has_value());
    core_->core.drop(worker->assignment().claim_id);
    const ClaimProof proof = proof_of(worker->assignment());
    const auto done = well ? core_->complete(proof, completion()) : core_->fail(proof, failure());
    core_->settle();
    ASSERT_EQ(done->code(), "ok");
  }
  template <typename Decision>
  void change(int run, const Decision& decision) {
    const auto done = core_->change(run_no(run), decision);
    core_->settle();
    ASSERT_EQ(done->code(), "ok");
  }
  void archive(int run) {
    change(run, [](RunProjection& known, const Surroundings&, TimeMs now) {
      return decide_archive(known, "old", now);
    });
  }
  Moment now() { return must(find_moment(*journal_, {}, clock_.now())); }
  Moment at(std::uint64_t position) {
    return must(find_moment(*journal_, {At::Kind::position, position, {}}, clock_.now()));
  }
  RunRows page(const RunListQuery& query) { return must(list_runs(*journal_, query, now())); }
  static std::vector<int> numbers(const RunRows& page) {
    std::vector<int> found;
    for (const RunRow& row : page.rows) {
      const RunId id = must(parse_run_id(row.run_id));
      found.push_back(static_cast<int>(id.uuid.bytes[14]) * 256 +
                      static_cast<int>(id.uuid.bytes[15]));
    }
    return found;
  }
  std::vector<int> list(const RunFilter& filter) {
    RunListQuery query;
    query.filter = filter;
    return numbers(page(query));
  }
  // "ok", or the field and reason of the refusal.
  std::string refusal(const RunListQuery& query) {
    const auto listed = list_runs(*journal_, query, now());
    if (listed.ok()) {
      return "ok";
    }
    EXPECT_EQ(listed.error().code(), ErrorCode::invalid_argument);
    return std::string(listed.error().field("field")) + " " +
           std::string(listed.error().field("reason"));
  }

  TestCore* core_ = nullptr;
  std::unique_ptr<Journal> journal_ = open_memory_journal(disk_);
};

std::vector<int> from_to(int from, int to) {
  std::vector<int> numbers;
  for (int i = from; i != to; i += from < to ? 1 : -1) {
    numbers.push_back(i);
  }
  numbers.push_back(to);
  return numbers;
}

TEST_F(RunList, every_run_is_on_one_page_while_others_start_and_end) {
  for (int run = 1; run <= 30; ++run) {
    start(run);
  }
  int next_run = 30;
  for (const bool newest_first : {true, false}) {
    const int there = next_run;
    RunListQuery query;
    query.newest_first = newest_first;
    query.limit = 7;
    std::vector<int> seen;
    int pages = 0;
    do {
      const RunRows rows = page(query);
      EXPECT_LE(rows.rows.size(), 7U);
      EXPECT_TRUE(rows.rows.size() == 7U || rows.next.empty());
      const auto found = numbers(rows);
      seen.insert(seen.end(), found.begin(), found.end());
      query.cursor = rows.next;
      ASSERT_LT(++pages, 50);
      if (pages < 6) {
        start(++next_run);
        start(++next_run);
        work(pages % 2 == 0);
      }
    } while (!query.cursor.empty());
    EXPECT_EQ(seen, newest_first ? from_to(there, 1) : from_to(1, next_run));
  }
}

TEST_F(RunList, an_exactly_full_last_page_has_no_cursor) {
  for (int run = 1; run <= 3; ++run) {
    start(run);
  }
  for (const bool newest_first : {true, false}) {
    RunListQuery query;
    query.newest_first = newest_first;
    query.limit = 3;
    EXPECT_EQ(page(query).next, "");
    query.limit = 2;
    EXPECT_NE(page(query).next, "");
  }
}

TEST_F(RunList, the_limit_is_one_to_a_thousand) {
  start(1);
  for (const auto& [limit, answer] : {std::pair<std::size_t, std::string>{0, "limit "},
                                      {1, "ok"},
                                      {1000, "ok"},
                                      {1001, "limit "},
                                      {SIZE_MAX, "limit "}}) {
    RunListQuery query;
    query.limit = limit;
    EXPECT_EQ(refusal(query), answer) << limit;
  }
}

TEST_F(RunList, a_cursor_is_valid_only_for_its_query) {
  for (int run = 1; run <= 20; ++run) {
    start(run);
  }
  start(start_of(21, two_));
  RunListQuery query;
  query.limit = 5;
  query.cursor = page(query).next;
  EXPECT_EQ(refusal(query), "ok");
  query.limit = 9;
  EXPECT_EQ(refusal(query), "ok") << "the page size may differ";
  RunListQuery other = query;
  other.newest_first = false;
  EXPECT_EQ(refusal(other), "cursor query_mismatch");
  for (const RunFilter& filter :
       {RunFilter{.workflow = "order"}, RunFilter{.workflow = "pair"},
        RunFilter{.workflow = "none"}, RunFilter({.statuses = {"running"}}),
        RunFilter{.started_from = TimeMs{0}}, RunFilter{.started_before = TimeMs{1}},
        RunFilter({.attributes = {{"a", "1"}}}), RunFilter{.archived = true}}) {
    other = query;
    other.filter = filter;
    EXPECT_EQ(refusal(other), "cursor query_mismatch") << filter.text();
  }
}

TEST_F(RunList, an_invalid_cursor_is_malformed) {
  for (int run = 1; run <= 5; ++run) {
    start(run);
  }
  RunListQuery query;
  query.limit = 2;
  const std::string cursor = page(query).next;
  const std::string signature = cursor.substr(0, cursor.find('-'));
  for (const std::string& wrong :
       {std::string("garbage"), std::string("-"), std::string("-3"), std::string("3"),
        std::string("garbage-3"), signature, signature + "-", signature + "-x", signature + "--3",
        signature + "-03", signature + "-6", signature + "-3 ", signature + "-18446744073709551616",
        cursor + "-1"}) {
    query.cursor = wrong;
    EXPECT_EQ(refusal(query), "cursor malformed") << wrong;
  }
}

TEST_F(RunList, a_workflow_is_listed_by_its_index) {
  start(1);
  start(start_of(2, two_));
  start(3);
  EXPECT_THAT(list({.workflow = "order"}), ElementsAre(3, 1));
  EXPECT_THAT(list({.workflow = "pair"}), ElementsAre(2));
  EXPECT_THAT(list({.workflow = "none"}), IsEmpty());
  RunListQuery query;
  query.filter.workflow = "no name";
  EXPECT_NE(refusal(query), "ok");
  // Only in the index, which shows that the index is read.
  RunIndexed indexed;
  indexed.run_id = run_no(9);
  indexed.workflow = "order";
  indexed.queue = "default";
  must(journal_->append(index_thread("order"), {must(to_entry(indexed, kStart))}));
  EXPECT_THAT(list({.workflow = "order"}), ElementsAre(9, 3, 1));
  EXPECT_THAT(list({}), ElementsAre(3, 2, 1));
}

TEST_F(RunList, filters_select_the_runs_that_match) {
  for (int run = 1; run <= 6; ++run) {
    StartRun command = start_of(run, one_);
    command.search_attributes =
        Payload::trusted(R"({"lot":)" + std::to_string(run % 2) + R"(,"city":"Ulm"})");
    start(command);
    clock_.advance_ms(100);
  }
  work();
  work(false);
  EXPECT_THAT(list({.statuses = {"completed"}}), ElementsAre(1));
  EXPECT_THAT(list({.statuses = {"failed"}}), ElementsAre(2));
  EXPECT_THAT(list({.statuses = {"failed", "running"}}), ElementsAre(6, 5, 4, 3, 2));
  EXPECT_THAT(list({.started_from = after(kStart, 300)}), ElementsAre(6, 5, 4));
  EXPECT_THAT(list({.started_before = after(kStart, 300)}), ElementsAre(3, 2, 1));
  EXPECT_THAT(list({.started_from = after(kStart, 100), .started_before = after(kStart, 101)}),
              ElementsAre(2));
  EXPECT_THAT(list({.attributes = {{"lot", "1"}}}), ElementsAre(5, 3, 1));
  EXPECT_THAT(list({.attributes = {{"lot", "1"}, {"city", R"("Ulm")"}}}), ElementsAre(5, 3, 1));
  EXPECT_THAT(list({.attributes = {{"lot", canonical_json("1.0")}}}), ElementsAre(5, 3, 1));
  EXPECT_THAT(list({.attributes = {{"city", R"("Bonn")"}}}), IsEmpty());
  EXPECT_THAT(list({.statuses = {"running"}, .attributes = {{"lot", "1"}}}), ElementsAre(5, 3));
  archive(1);
  EXPECT_THAT(list({.statuses = {"completed"}}), IsEmpty());
  EXPECT_THAT(list({.statuses = {"completed"}, .archived = true}), ElementsAre(1));
}

TEST_F(RunList, a_page_with_a_filter_is_full_while_runs_match) {
  for (int run = 1; run <= 20; ++run) {
    start(start_of(run, run % 5 == 0 ? two_ : one_));
  }
  for (int i = 0; i < 4; ++i) {
    work();
  }
  RunListQuery query;
  query.filter.statuses = {"completed"};
  query.newest_first = false;
  query.limit = 3;
  RunRows rows = page(query);
  EXPECT_THAT(numbers(rows), ElementsAre(1, 2, 3));
  query.cursor = rows.next;
  rows = page(query);
  EXPECT_THAT(numbers(rows), ElementsAre(4));
  EXPECT_EQ(rows.next, "");
}

TEST_F(RunList, a_page_examines_a_limited_number_of_runs) {
  std::vector<NewEntry> entries;
  const int count = static_cast<int>(kMaxLookedAt) + 50;
  for (int run = 1; run <= count; ++run) {
    RunCataloged cataloged;
    cataloged.run_id = run_no(run);
    cataloged.workflow = "order";
    cataloged.queue = "default";
    entries.push_back(must(to_entry(cataloged, kStart)));
  }
  must(journal_->append(catalog_thread(), std::move(entries)));
  RunListQuery query;
  query.filter.statuses = {"failed"};
  RunRows rows = page(query);
  EXPECT_THAT(rows.rows, IsEmpty());
  ASSERT_NE(rows.next, "");
  query.cursor = rows.next;
  EXPECT_EQ(page(query).next, "");
  query = {};
  query.limit = 1000;
  query.filter.statuses = {"new"};
  int seen = 0;
  do {
    rows = page(query);
    seen += static_cast<int>(rows.rows.size());
    query.cursor = rows.next;
  } while (!rows.next.empty());
  EXPECT_EQ(seen, count) << "runs that exist only in the catalog are listed";
}

TEST_F(RunList, the_past_is_listed_with_the_state_of_that_time) {
  std::map<std::uint64_t, std::string> then;
  const auto list_now = [&](const Moment& moment) {
    std::string text;
    for (const RunFilter& filter : {RunFilter{}, RunFilter{.workflow = "order"},
                                    RunFilter({.statuses = {"running", "completed"}})}) {
      const RunListQuery query{.filter = filter, .limit = 4};
      text +=
          to_json(must(list_runs(*journal_, query, moment)), Moment{moment.position, {}}).view();
    }
    return text;
  };
  const auto note = [&] { then[now().position.value] = list_now(now()); };
  note();
  for (int run = 1; run <= 6; ++run) {
    start(start_of(run, run == 3 ? two_ : one_));
    note();
    clock_.advance_ms(50);
    if (run % 2 == 0) {
      work(run % 4 == 0);
      note();
    }
  }
  archive(1);
  note();
  EXPECT_GE(then.size(), 10U);
  std::set<std::string> different;
  for (const auto& [position, listed] : then) {
    EXPECT_EQ(list_now(at(position)), listed) << position;
    different.insert(listed);
  }
  EXPECT_EQ(different.size(), then.size());
}

class FindRunByPart : public RunList {
 protected:
  void SetUp() override {
    RunList::SetUp();
    for (const std::string_view id : kIds) {
      StartRun command = start_of(1, one_);
      command.run_id = must(parse_run_id(id));
      start(command);
    }
  }
  std::string find(std::string_view part, std::optional<std::uint64_t> position = std::nullopt) {
    const auto found = find_run(*journal_, part, position.has_value() ? at(*position) : now());
    return found.ok() ? to_string(found.value())
                      : std::string(error_info(found.error().code()).name);
  }
  static constexpr std::array<std::string_view, 3> kIds = {"aaaa1111-0000-4000-8000-00000000cccc",
                                                           "aaaa2222-0000-4000-8000-00000000dddd",
                                                           "bbbb1111-0000-4000-8000-00000000aaaa"};
};

TEST_F(FindRunByPart, a_run_is_found_by_its_whole_id_its_start_or_its_end) {
  for (const std::string_view id : kIds) {
    EXPECT_EQ(find(id), id);
    EXPECT_EQ(find(id.substr(0, 8)), id);
    EXPECT_EQ(find(id.substr(0, 35)), id);
    EXPECT_EQ(find(id.substr(24)), id);
  }
  EXPECT_EQ(find("bbbb"), kIds[2]);
  EXPECT_EQ(find("cccc"), kIds[0]);
  EXPECT_EQ(find("cccccccc-0000-4000-8000-000000000000"), "cccccccc-0000-4000-8000-000000000000")
      << "a whole id is not looked up";
}

TEST_F(FindRunByPart, a_part_of_several_ids_is_ambiguous) {
  EXPECT_EQ(find("aaaa"), "invalid_argument") << "one id starts and another ends with it";
  EXPECT_EQ(find("aaaa2"), kIds[1]);
  const auto refused = find_run(*journal_, "aaaa", now());
  EXPECT_EQ(refused.error().field("field"), "run_id");
}

TEST_F(FindRunByPart, a_part_that_is_too_short_or_in_the_middle_finds_nothing) {
  for (const std::string_view part : {"", "a", "bbb", "ddd"}) {
    EXPECT_EQ(find(part), "invalid_argument") << part;
  }
  for (const std::string_view part : {"1111", "0000-4000", "eeee", "lates", "latest1"}) {
    EXPECT_EQ(find(part), "run_not_found") << part;
  }
}

TEST_F(FindRunByPart, the_latest_run_is_the_newest_at_that_position) {
  EXPECT_EQ(find("latest"), kIds[2]);
  std::set<std::string> found;
  for (std::uint64_t position = 0; position <= now().position.value; ++position) {
    found.insert(find("latest", position));
  }
  EXPECT_THAT(found, IsSupersetOf({std::string(kIds[0]), std::string(kIds[1]), std::string(kIds[2]),
                                   std::string("run_not_found")}));
  EXPECT_EQ(find("dddd", 0), "run_not_found");
}

}  // namespace
}  // namespace holdfast::run_list_test
