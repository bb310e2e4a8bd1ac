#include "runs/language/cron/zone_names.h"

#include <gtest/gtest.h>

namespace holdfast::zone_names_test {
namespace {

TEST(ZoneNames, only_names_of_the_database_have_a_file) {
  EXPECT_TRUE(has_zone_file("UTC"));
  EXPECT_TRUE(has_zone_file("Etc/GMT+1"));
  EXPECT_TRUE(has_zone_file("America/Argentina/Buenos_Aires"));
  for (const std::string_view name :
       {"", "/", "Europe", "Europe/", "/Europe/Berlin", "Europe//Berlin", "../etc/passwd", "..",
        "Europe/../UTC", "localtime", "posixrules", "posix/UTC", "right/UTC", "zone.tab", "UTC0"}) {
    EXPECT_FALSE(has_zone_file(name)) << name;
  }
  EXPECT_FALSE(has_zone_file(std::string_view("UTC\0", 4)));
  EXPECT_FALSE(has_zone_file(std::string(5000, 'a')));
}

TEST(ZoneNames, unknown_names_have_a_suggestion) {
  EXPECT_EQ(similar_timezone("europe/berlin"), "Europe/Berlin");
  EXPECT_EQ(similar_timezone("berlin"), "Europe/Berlin");
  EXPECT_EQ(similar_timezone("Europe/Berln"), "Europe/Berlin");
  EXPECT_EQ(similar_timezone("utc"), "UTC");
  EXPECT_EQ(similar_timezone("Mars/Olympus_Mons"), "");
}

TEST(ZoneNames, the_error_has_the_name_as_a_field) {
  const Error error = unknown_timezone("Europe/Bonn");
  EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
  EXPECT_EQ(error.field("timezone"), "Europe/Bonn");
}

}  // namespace
}  // namespace holdfast::zone_names_test
