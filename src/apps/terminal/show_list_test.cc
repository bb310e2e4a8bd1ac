#include <gtest/gtest.h>

#include "apps/terminal/show.h"
#include "tests/support/marked.h"

namespace holdfast::show_list_test {
namespace {

constexpr TimeMs kNow{1'800'000'000'000};

RunRow row_of(int number, std::string status, std::int64_t ms_ago) {
  RunRow row;
  row.run_id = "01982b7e-5c00-7000-8000-00000000000" + std::to_string(number);
  row.workflow = "order";
  row.status = std::move(status);
  row.started_at = TimeMs{kNow.value - ms_ago};
  return row;
}

RunRows page() {
  RunRows page;
  page.rows = {row_of(1, "running", 12'300), row_of(2, "paused", 200'000),
               row_of(3, "failed", 90'000'000), row_of(4, "completed", 3000)};
  page.rows[1].waits_at = "manager";
  page.rows[2].ended_at = TimeMs{kNow.value - 89'999'150};
  page.rows[2].error = "card declined by the bank of the\x1b[2J customer [card_error]";
  page.rows[3].ended_at = kNow;
  page.rows[3].archived = true;
  page.rows[3].anomalies = 2;
  return page;
}

TEST(ShowList, a_row_says_what_a_run_is_and_waits_for) {
  EXPECT_EQ("\n" + show_list(page(), kNow, {}), R"(
RUN                                   WORKFLOW  STATUS     STARTED            TOOK  NOTE
01982b7e-5c00-7000-8000-000000000001  order     running    07:59:47         12.3 s
01982b7e-5c00-7000-8000-000000000002  order     paused     07:56:40     3 min 20 s  waits at manager
01982b7e-5c00-7000-8000-000000000003  order     failed     01-14 07:00      850 ms  card declined ..
01982b7e-5c00-7000-8000-000000000004  order     completed  07:59:57            3 s  archived, 2 an..
)");
}

TEST(ShowList, on_a_narrow_terminal_the_id_stays_whole) {
  EXPECT_EQ("\n" + show_list(page(), kNow, {.width = 80}), R"(
RUN                                   WORKFLOW  STATUS     STARTED
01982b7e-5c00-7000-8000-000000000001  order     running    07:59:47
01982b7e-5c00-7000-8000-000000000002  order     paused     07:56:40
  waits at manager
01982b7e-5c00-7000-8000-000000000003  order     failed     01-14 07:00
  card declined by the bank of the [2J customer [card_error]
01982b7e-5c00-7000-8000-000000000004  order     completed  07:59:57
  archived, 2 anomalies
)");
}

TEST(ShowList, statuses_have_colours) {
  RunRows rows = page();
  for (RunRow& row : rows.rows) {
    row.run_id = row.run_id.substr(row.run_id.size() - 4);
  }
  rows.rows[2].error = "card declined";
  EXPECT_EQ("\n" + marked(show_list(rows, kNow, {.colour = true})), R"(
{2}RUN{}   {2}WORKFLOW{}  {2}STATUS{}     {2}STARTED{}            {2}TOOK{}  {2}NOTE{}
0001  order     {34}running{}    07:59:47         12.3 s
0002  order     {33}paused{}     07:56:40     3 min 20 s  {33}waits at manager{}
0003  order     {31}failed{}     01-14 07:00      850 ms  {31}card declined{}
0004  order     {32}completed{}  07:59:57            3 s  archived, 2 anomalies
)");
}

TEST(ShowList, the_next_page_has_a_cursor) {
  RunRows one;
  one.rows = {row_of(1, "running", 12'300)};
  one.next = "c-17";
  EXPECT_EQ("\n" + show_list(one, kNow, {}), R"(
RUN                                   WORKFLOW  STATUS   STARTED     TOOK
01982b7e-5c00-7000-8000-000000000001  order     running  07:59:47  12.3 s
more: --cursor c-17
)");
  one.rows.clear();
  EXPECT_EQ(show_list(one, kNow, {}), "No runs on this page.\nmore: --cursor c-17\n");
}

TEST(ShowList, no_runs_is_a_place_to_start) {
  EXPECT_EQ(show_list({}, kNow, {.command_suffix = " --store demo.db"}),
            "No runs. This starts one:\n"
            "  holdfast run FILE.yaml --store demo.db\n");
}

}  // namespace
}  // namespace holdfast::show_list_test
