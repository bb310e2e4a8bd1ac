#include "runs/view/run_row.h"

#include <gmock/gmock.h>

#include "runs/language/data/canonical_json.h"
#include "tests/support/run_fixture.h"

namespace holdfast::run_row_test {
namespace {

using ::testing::HasSubstr;

RunRow row() {
  RunRow row;
  row.run_id = to_string(run_no(1));
  row.workflow = "order";
  row.status = "running";
  row.listed_at = TimeMs{500};
  row.started_at = TimeMs{1000};
  row.attributes = {{"sum", json("12")}, {"city", json(R"("Ulm")")}};
  return row;
}

TEST(RunFilter, nothing_given_takes_everything_that_is_not_put_away) {
  EXPECT_TRUE(RunFilter{}.matches(row()));
  EXPECT_TRUE(RunFilter{}.matches(RunRow{}));
  RunRow archived = row();
  archived.archived = true;
  EXPECT_FALSE(RunFilter{}.matches(archived));
  EXPECT_TRUE(RunFilter{.archived = true}.matches(archived));
  EXPECT_TRUE(RunFilter{.archived = true}.matches(row())) << "also those, not only those";
}

TEST(RunFilter, each_member_must_fit) {
  EXPECT_TRUE(RunFilter{.workflow = "order"}.matches(row()));
  EXPECT_FALSE(RunFilter{.workflow = "orde"}.matches(row()));
  EXPECT_TRUE(RunFilter({.statuses = {"paused", "running"}}).matches(row()));
  EXPECT_FALSE(RunFilter({.statuses = {"paused", "failed"}}).matches(row()));
  EXPECT_TRUE(RunFilter{.started_from = TimeMs{1000}}.matches(row()));
  EXPECT_FALSE(RunFilter{.started_from = TimeMs{1001}}.matches(row()));
  EXPECT_FALSE(RunFilter{.started_before = TimeMs{1000}}.matches(row()));
  EXPECT_TRUE(RunFilter{.started_before = TimeMs{1001}}.matches(row()));
  EXPECT_FALSE(RunFilter({.workflow = "order", .statuses = {"failed"}}).matches(row()))
      << "all of them";
}

TEST(RunFilter, a_run_that_was_not_started_counts_from_when_it_was_listed) {
  RunRow listed = row();
  listed.started_at.reset();
  EXPECT_TRUE(RunFilter{.started_from = TimeMs{500}}.matches(listed));
  EXPECT_FALSE(RunFilter{.started_from = TimeMs{501}}.matches(listed));
  EXPECT_FALSE(RunFilter{.started_before = TimeMs{500}}.matches(listed));
}

RunFilter with(std::string_view name, std::string_view value) {
  return RunFilter{.attributes = {{std::string(name), canonical_json(value)}}};
}

TEST(RunFilter, attributes_are_equal_when_they_mean_the_same) {
  EXPECT_TRUE(with("sum", "12").matches(row()));
  EXPECT_TRUE(with("sum", "12.0").matches(row()));
  EXPECT_TRUE(with("sum", "1.2e1").matches(row()));
  EXPECT_FALSE(with("sum", "12.5").matches(row()));
  EXPECT_FALSE(with("sum", R"("12")").matches(row()));
  EXPECT_TRUE(with("city", R"("\u0055lm")").matches(row()));
  EXPECT_FALSE(with("town", R"("Ulm")").matches(row()));
  RunRow other = row();
  other.attributes["sum"] = json("12.0");
  EXPECT_TRUE(with("sum", "12").matches(other));
  RunFilter both = with("sum", "12");
  both.attributes["city"] = canonical_json(R"("Bonn")");
  EXPECT_FALSE(both.matches(row()));
}

TEST(RunFilter, the_text_is_equal_exactly_for_equal_questions) {
  const std::vector<RunFilter> filters = {
      {},
      {.workflow = "order"},
      {.workflow = "orders"},
      {.statuses = {"failed"}},
      {.statuses = {"failed", "paused"}},
      {.started_from = TimeMs{0}},
      {.started_from = TimeMs{5}},
      {.started_before = TimeMs{0}},
      {.started_before = TimeMs{5}},
      with("a", "1"),
      with("a", "2"),
      with("b", "1"),
      with("a", R"("1")"),
      {.archived = true},
  };
  for (std::size_t i = 0; i < filters.size(); ++i) {
    for (std::size_t j = 0; j < filters.size(); ++j) {
      EXPECT_EQ(filters[i].text() == filters[j].text(), i == j) << i << " and " << j;
    }
  }
  EXPECT_EQ(RunFilter({.statuses = {"paused", "failed"}}).text(),
            RunFilter({.statuses = {"failed", "paused"}}).text());
  EXPECT_EQ(with("a", "12").text(), with("a", "12.0").text());
}

TEST(RunStatusName, only_those_there_are) {
  for (const std::string_view status : kEnumNames<RunStatus>) {
    EXPECT_TRUE(check_run_status(status).ok()) << status;
  }
  for (const std::string_view wrong : {"", "done", "Failed", "running "}) {
    const auto checked = check_run_status(wrong);
    ASSERT_FALSE(checked.ok()) << wrong;
    EXPECT_EQ(checked.error().code(), ErrorCode::invalid_argument);
    EXPECT_EQ(checked.error().field("field"), "status");
    EXPECT_THAT(checked.error().text(), HasSubstr("compensating"));
  }
}

TEST(RunRow, says_what_a_run_is_and_not_what_it_holds) {
  TestRun test(R"([{"name":"look","pause":{}},{"name":"act","after":["look"]}])");
  StartRun command = test.start_command();
  command.input = json(R"({"card":"4711"})");
  command.search_attributes = json(R"({"sum":12})");
  test.start(command);
  RunRow row;
  row.run_id = to_string(run_no(1));
  row.workflow = "order";
  row.queue = "default";
  row.listed_at = TimeMs{900};
  fill_in(row, *test.run);
  JsonWriter paused;
  write_json(paused, row);
  EXPECT_EQ(std::move(paused).take(),
            R"({"run_id":"00000000-0000-0000-0000-000000000001","workflow":"order","version":"1",)"
            R"("queue":"default","status":"paused","terminal":false,"listed_at":900,)"
            R"("started_at":1000,"waits_at":"look","archived":false,)"
            R"("search_attributes":{"sum":12},"revision":4,"anomalies":0})");
  test.now = TimeMs{3000};
  test.resolve(ManualAction::resumed);
  test.fail("act", R"({"code":"declined","message":"card\ndeclined"})");
  RunRow failed;
  fill_in(failed, *test.run);
  EXPECT_EQ(failed.status, "failed");
  EXPECT_TRUE(failed.terminal);
  EXPECT_EQ(failed.ended_at, TimeMs{3000});
  EXPECT_EQ(failed.error, "card declined [declined]");
  EXPECT_EQ(failed.waits_at, "");
}

}  // namespace
}  // namespace holdfast::run_row_test
