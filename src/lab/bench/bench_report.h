// BenchReport: the common output format of all benchmarks.
//   {"bench":"journal","case":"append_group_128","value":212000,"unit":"entries/s",
//    "limit":286000,"ratio":0.741}
// limit is the best that the machine could do, measured in the same run; ratio is value / limit.
// Both are omitted if no limit was measured.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast {

struct BenchResult {
  std::string name;  // the case
  double value = 0;
  std::string unit;
  std::optional<double> limit = std::nullopt;
};

enum class BenchForm : std::uint8_t {
  json_lines,
  table,  // aligned columns, for terminals
};

class BenchReport {
 public:
  BenchReport(std::string bench, BenchForm form, std::ostream& out)
      : bench_(std::move(bench)), form_(form), out_(&out) {}

  // Prints at once, so that an interrupted benchmark has shown its results so far.
  void add(const BenchResult& result);

 private:
  std::string bench_;
  BenchForm form_;
  std::ostream* out_;
  bool header_shown_ = false;
};

std::string bench_json(std::string_view bench, const BenchResult& result);

// The middle value; of an even number of values the lower of the two. `values` must not be empty.
double median(std::vector<double> values);
// The value below which that share of the values lies: 0.99 of them, for example. Sorts `values`,
// which must not be empty.
double quantile(std::vector<double>& values, double share);

}  // namespace holdfast
