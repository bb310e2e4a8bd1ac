#include "lab/bench/bench_report.h"

#include <gtest/gtest.h>

#include <sstream>

#include "base/json_value.h"

namespace holdfast::bench_report_test {
namespace {

TEST(BenchReport, a_line_has_the_common_format) {
  const BenchResult result{
      .name = "append_group_16", .value = 34800.4, .unit = "entries/s", .limit = 46500.0};
  EXPECT_EQ(bench_json("journal", result),
            R"({"bench":"journal","case":"append_group_16","value":34800,"unit":"entries/s",)"
            R"("limit":46500,"ratio":0.748})");
}

TEST(BenchReport, limit_and_ratio_are_left_out_where_none_was_measured) {
  const BenchResult result{.name = "open", .value = 0.12345, .unit = "s"};
  EXPECT_EQ(bench_json("journal", result),
            R"({"bench":"journal","case":"open","value":0.123,"unit":"s"})");
}

TEST(BenchReport, json_lines_are_one_value_each) {
  std::ostringstream out;
  BenchReport report("journal", BenchForm::json_lines, out);
  report.add({.name = "a", .value = 1, .unit = "s"});
  report.add({.name = "b", .value = 2, .unit = "s", .limit = 4.0});
  std::istringstream lines(out.str());
  std::string line;
  int count = 0;
  while (std::getline(lines, line)) {
    EXPECT_TRUE(Json::parse(line).ok()) << line;
    ++count;
  }
  EXPECT_EQ(count, 2);
}

TEST(BenchReport, the_table_has_one_header_and_aligned_columns) {
  std::ostringstream out;
  BenchReport report("journal", BenchForm::table, out);
  report.add({.name = "a", .value = 1234567, .unit = "entries/s"});
  report.add({.name = "b", .value = 2, .unit = "s", .limit = 4.0});
  std::istringstream lines(out.str());
  std::string header;
  std::string first;
  std::string second;
  std::getline(lines, header);
  std::getline(lines, first);
  std::getline(lines, second);
  EXPECT_TRUE(header.starts_with("journal"));
  EXPECT_NE(first.find("1,234,567 entries/s"), std::string::npos);
  EXPECT_NE(second.find("0.50"), std::string::npos);
  EXPECT_EQ(header.size(), second.size());
}

TEST(Median, is_the_middle_value) {
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 2, 3}), 2);
  EXPECT_EQ(median({7}), 7);
}

TEST(BenchReport, a_quantile_is_one_of_the_values) {
  std::vector<double> values{5, 1, 4, 2, 3};
  EXPECT_EQ(quantile(values, 0.0), 1);
  EXPECT_EQ(quantile(values, 0.5), 3);
  EXPECT_EQ(quantile(values, 0.99), 4);
  EXPECT_EQ(quantile(values, 1.0), 5);
}

}  // namespace
}  // namespace holdfast::bench_report_test
