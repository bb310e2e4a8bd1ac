#include "base/read_file.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "tests/support/temp_dir.h"

namespace holdfast::read_file_test {
namespace {

constexpr std::size_t kMost = 1U << 20U;

TEST(ReadFile, whole_file_of_any_bytes) {
  const TempDir folder;
  std::string bytes(200'000, '\0');
  bytes += "end\n";
  std::ofstream(folder.file("bytes"), std::ios::binary) << bytes;
  EXPECT_EQ(read_file(folder.file("bytes"), kMost).value(), bytes);
}

TEST(ReadFile, missing_file_and_folder_are_errors_that_say_why) {
  const TempDir folder;
  const auto missing = read_file(folder.file("missing"), kMost);
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code(), ErrorCode::not_found);
  const auto directory = read_file(folder.path(), kMost);
  ASSERT_FALSE(directory.ok());
  EXPECT_EQ(directory.error().code(), ErrorCode::invalid_argument);
  EXPECT_EQ(directory.error().message(), "cannot be read: Is a directory");
}

TEST(ReadFile, reading_stops_beyond_the_limit) {
  const auto endless = read_file("/dev/zero", kMost);
  ASSERT_TRUE(endless.ok());
  EXPECT_GT(endless.value().size(), kMost);
  EXPECT_LE(endless.value().size(), 2 * kMost);
}

}  // namespace
}  // namespace holdfast::read_file_test
