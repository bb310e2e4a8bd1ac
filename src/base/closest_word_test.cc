#include "base/closest_word.h"

#include <gtest/gtest.h>

#include <string>

namespace holdfast::closest_word_test {
namespace {

const std::vector<std::string_view> kWords{"after", "name", "handler", "queue"};

TEST(ClosestWord, finds_words_with_added_dropped_changed_and_swapped_letters) {
  EXPECT_EQ(closest_word("nmae", kWords), "name");
  EXPECT_EQ(closest_word("handlr", kWords), "handler");
  EXPECT_EQ(closest_word("handlerr", kWords), "handler");
  EXPECT_EQ(closest_word("qeue", kWords), "queue");
}

TEST(ClosestWord, is_empty_when_nothing_is_close) {
  EXPECT_EQ(closest_word("retry", kWords), "");
  EXPECT_EQ(closest_word("", kWords), "");
  EXPECT_EQ(closest_word("name", {}), "");
  EXPECT_EQ(closest_word(std::string(41, 'a'), {std::string_view("a")}), "");
}

TEST(ClosestWord, prefers_the_smallest_difference) {
  EXPECT_EQ(closest_word("ship_itt", {"ship_ita", "ship_it"}), "ship_ita");
  EXPECT_EQ(closest_word("ship_itt", {"shop_ita", "ship_it"}), "ship_it");
}

}  // namespace
}  // namespace holdfast::closest_word_test
