#include "storage/sqlite/sqlite_header.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/temp_dir.h"

namespace holdfast::sqlite_header_test {
namespace {

// A process that opens a store rolls back what a killed creator left, which cuts the file to
// nothing. Another process may have taken its size just before.
TEST(SqliteHeader, a_file_that_was_cut_since_its_size_was_taken_is_empty) {
  const TempDir dir;
  const std::string path = dir.file("log.db");
  std::ofstream(path).close();
  const auto header = SqliteHeader::read(path, 8192);
  ASSERT_TRUE(header.ok()) << header.error().text();
  EXPECT_TRUE(header.value().empty());
}

TEST(SqliteHeader, a_file_that_is_missing_is_an_error) {
  const TempDir dir;
  EXPECT_FALSE(SqliteHeader::read(dir.file("log.db"), 0).ok());
}

}  // namespace
}  // namespace holdfast::sqlite_header_test
