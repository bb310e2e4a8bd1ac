#include "lab/bench/bench_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ostream>

#include "base/json_writer.h"
#include "base/text.h"
#include "holdfast/assert.h"

namespace holdfast {

namespace {

constexpr double kThousandths = 1000.0;
constexpr double kNoFraction = 100.0;

// More digits would not be reproducible.
double rounded(double value) {
  return std::abs(value) >= kNoFraction ? std::round(value)
                                        : std::round(value * kThousandths) / kThousandths;
}

std::string shown(double value) {
  const double short_value = rounded(value);
  return short_value >= kNoFraction ? with_thousands(static_cast<std::uint64_t>(short_value))
                                    : fmt::format("{:.3f}", short_value);
}

std::optional<double> ratio_of(const BenchResult& result) {
  if (!result.limit.has_value() || *result.limit <= 0) {
    return std::nullopt;
  }
  return std::round(result.value / *result.limit * kThousandths) / kThousandths;
}

}  // namespace

std::string bench_json(std::string_view bench, const BenchResult& result) {
  JsonWriter writer;
  writer.begin_object();
  writer.member("bench", bench);
  writer.member("case", result.name);
  writer.member("value", rounded(result.value));
  writer.member("unit", result.unit);
  if (const auto ratio = ratio_of(result); ratio.has_value()) {
    writer.member("limit", rounded(*result.limit));
    writer.member("ratio", *ratio);
  }
  writer.end_object();
  return std::move(writer).take();
}

void BenchReport::add(const BenchResult& result) {
  if (form_ == BenchForm::json_lines) {
    *out_ << bench_json(bench_, result) << '\n' << std::flush;
    return;
  }
  constexpr const char* kRow = "{:<34} {:>14} {:<14} {:>14} {:>7}\n";
  if (!header_shown_) {
    *out_ << fmt::format(kRow, bench_, "value", "unit", "limit", "ratio");
    header_shown_ = true;
  }
  const auto ratio = ratio_of(result);
  *out_ << fmt::format(kRow, result.name, shown(result.value), result.unit,
                       ratio.has_value() ? shown(*result.limit) : "",
                       ratio.has_value() ? fmt::format("{:.2f}", *ratio) : "")
        << std::flush;
}

double median(std::vector<double> values) {
  HOLDFAST_ASSERT(!values.empty());
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double quantile(std::vector<double>& values, double share) {
  HOLDFAST_ASSERT(!values.empty());
  std::sort(values.begin(), values.end());
  const auto last = static_cast<double>(values.size() - 1);
  return values[static_cast<std::size_t>(share * last)];
}

}  // namespace holdfast
