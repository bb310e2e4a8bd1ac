#include <gtest/gtest.h>

#include "apps/terminal/show.h"

namespace holdfast::show_changes_test {
namespace {

using Kind = JsonChange::Kind;

const std::vector<JsonChange>& changes() {
  static const std::vector<JsonChange> all = {
      {Kind::changed, "steps.charge.status", R"("running")", R"("completed")"},
      {Kind::added, "result", "", R"({"ok":true})"},
      {Kind::removed, "manual_state", R"({"step":"manager"})", ""}};
  return all;
}

TEST(ShowChanges, a_line_says_where_and_what) {
  EXPECT_EQ(show_changes(changes(), {}),
            "~ steps.charge.status: \"running\" -> \"completed\"\n"
            "+ result: {\"ok\":true}\n"
            "- manual_state: {\"step\":\"manager\"}\n");
}

TEST(ShowChanges, what_changed_is_coloured) {
  EXPECT_EQ(show_changes(changes(), {.colour = true}),
            "\x1b[33m~ steps.charge.status\x1b[0m: \"running\" -> \"completed\"\n"
            "\x1b[32m+ result\x1b[0m: {\"ok\":true}\n"
            "\x1b[31m- manual_state\x1b[0m: {\"step\":\"manager\"}\n");
}

TEST(ShowChanges, values_are_cut_to_fit_and_a_short_one_leaves_its_columns_to_the_other) {
  const std::string text(50, 'x');
  EXPECT_EQ(show_changes({{Kind::changed, "a", "1", text},
                          {Kind::changed, "b", text, "22"},
                          {Kind::changed, "c", text, text},
                          {Kind::added, "d", "", text},
                          {Kind::added, "e", "", "\"\x1b[2J\""}},
                         {.width = 30}),
            "~ a: 1 -> xxxxxxxxxxxxxxxxxx..\n"
            "~ b: xxxxxxxxxxxxxxxxx.. -> 22\n"
            "~ c: xxxxxxxx.. -> xxxxxxxxx..\n"
            "+ d: xxxxxxxxxxxxxxxxxxxxxxx..\n"
            "+ e: \" [2J\"\n");
}

TEST(ShowChanges, no_difference_is_said) { EXPECT_EQ(show_changes({}, {}), "No differences.\n"); }

}  // namespace
}  // namespace holdfast::show_changes_test
