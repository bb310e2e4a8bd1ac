#include "base/names.h"

#include <gtest/gtest.h>

#include <string>

namespace holdfast::names_test {
namespace {

TEST(Names, letters_digits_and_three_marks_make_a_name) {
  for (const std::string& good :
       {std::string("default"), std::string("a"), std::string("9_.-Z"), std::string(128, 'q')}) {
    EXPECT_TRUE(check_name("queue", good).ok()) << good;
  }
}

TEST(Names, any_other_text_is_rejected_and_named) {
  for (const std::string& bad :
       {std::string(), std::string("a:b"), std::string("-a"), std::string("a b"),
        std::string("\xC3\xA9"), std::string(129, 'q')}) {
    const auto checked = check_name("queue", bad);
    ASSERT_FALSE(checked.ok()) << bad;
    EXPECT_EQ(checked.error().code(), ErrorCode::invalid_argument);
    EXPECT_EQ(checked.error().field("queue"), bad.substr(0, 128));
  }
}

}  // namespace
}  // namespace holdfast::names_test
