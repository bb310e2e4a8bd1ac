#include "apps/terminal/text_table.h"

#include <gtest/gtest.h>

namespace holdfast::text_table_test {
namespace {

using Align = Table::Column::Align;

Table cups() {
  Table table({{"CUP", Align::left, 4},
               {"HOLE", Align::left},
               {"ML", Align::right},
               {"NOTE", Align::left, 6, true}});
  table.add({{"blue"}, {""}, {"80"}, {"has a crack, and a long story"}});
  table.add_below("  made of clay");
  table.add({{"striped"}, {""}, {"1,250", Ink::red}, {""}});
  return table;
}

TEST(Table, columns_are_as_wide_as_what_stands_in_them) {
  EXPECT_EQ(cups().text({}),
            "CUP         ML  NOTE\n"
            "blue        80  has a crack, and a long story\n"
            "  made of clay\n"
            "striped  1,250\n");
}

TEST(Table, the_last_column_that_may_gives_way_first) {
  EXPECT_EQ(cups().text({.width = 24}, 2),
            "  CUP         ML  NOTE\n"
            "  blue        80  has ..\n"
            "    made of clay\n"
            "  striped  1,250\n");
}

TEST(Table, a_column_that_gets_too_narrow_is_left_out) {
  EXPECT_EQ(cups().text({.width = 11}),
            "CUP      ML\n"
            "blue     80\n"
            "  made of clay\n"
            "st..  1,250\n");
}

TEST(Table, titles_are_dim_and_cells_have_their_ink) {
  Table table({{"A"}, {"B"}});
  table.add({{"one", Ink::green}, {"two"}});
  EXPECT_EQ(table.text({.colour = true}),
            "\x1b[2mA\x1b[0m    \x1b[2mB\x1b[0m\n"
            "\x1b[32mone\x1b[0m  two\n");
}

TEST(Table, without_titles_there_is_no_line_of_them) {
  Table table({{""}, {""}});
  table.add({{"one"}, {"two"}});
  EXPECT_EQ(table.text({}), "one  two\n");
}

}  // namespace
}  // namespace holdfast::text_table_test
