#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "lab/bench/bench_run.h"
#include "lab/bench/postgres_probe.h"
#include "lab/bench/raw_file.h"

namespace holdfast {

namespace {

constexpr int kSlices = 15;
constexpr int kQuickSlices = 5;
constexpr std::size_t kQuickDivisor = 10;
constexpr std::uint64_t kProbeRows = 120;

struct GroupCase {
  std::size_t group;
  std::size_t commits;  // per slice
};
constexpr std::array<GroupCase, 4> kGroups{{{1, 120}, {16, 90}, {128, 50}, {1024, 16}}};

std::size_t scaled(std::size_t count, const BenchmarkOptions& options) {
  return options.quick() ? std::max<std::size_t>(count / kQuickDivisor, 2) : count;
}

// What one slice writes to the disk.
struct Traffic {
  std::vector<std::string> bodies;  // one per commit
  std::uint64_t entries = 0;
};

// The rate at which entries are written without a journal: a synced write per commit if the store
// has a directory, one row per commit in the same PostgreSQL, no limit in memory.
class Limit {
 public:
  static Result<Limit> create(BenchRun& run) {
    Limit limit(run);
    if (run.store.directory().has_value()) {
      HOLDFAST_TRY(limit.file_, RawFile::create(*run.store.directory()));
    }
    return limit;
  }

  Result<void> measure(const Traffic& traffic) {
    if (file_ != nullptr) {
      const Stopwatch watch;
      for (const std::string& body : traffic.bodies) {
        HOLDFAST_CHECK(file_->append_and_sync(body));
      }
      rates_.push_back(watch.rate(traffic.entries));
    } else if (const PostgresUrl* url = run_->store.postgres()) {
      const std::uint64_t rows = scaled(kProbeRows, run_->options);
      HOLDFAST_TRY(const double rate, postgres_single_row_inserts_per_second(*url, rows));
      rates_.push_back(rate);
    }
    return {};
  }

  [[nodiscard]] std::optional<double> median_rate() const {
    return rates_.empty() ? std::nullopt : std::optional(median(rates_));
  }

 private:
  explicit Limit(BenchRun& run) : run_(&run) {}

  BenchRun* run_;
  std::unique_ptr<RawFile> file_;
  std::vector<double> rates_;
};

Result<void> bench_group(BenchRun& run, Journal& journal, const GroupCase& group) {
  run.note(fmt::format("appending in groups of {}", group.group));
  HOLDFAST_TRY(Limit limit, Limit::create(run));
  std::vector<double> rates;
  for (int slice = 0; slice < (run.options.quick() ? kQuickSlices : kSlices); ++slice) {
    std::vector<Commit> commits;
    Traffic traffic;
    for (std::size_t i = 0; i < scaled(group.commits, run.options); ++i) {
      commits.push_back(run.samples.commit(group.group));
      traffic.bodies.push_back(sample_body(commits.back()));
      traffic.entries += group.group;
    }
    HOLDFAST_CHECK(limit.measure(traffic));
    const Stopwatch watch;
    for (const Commit& commit : commits) {
      HOLDFAST_CHECK(journal.commit(commit));
    }
    rates.push_back(watch.rate(traffic.entries));
  }
  run.context.report.add({.name = fmt::format("append_group_{}", group.group),
                          .value = median(rates),
                          .unit = "entries/s",
                          .limit = limit.median_rate()});
  return {};
}

Result<void> report_single_rows(BenchRun& run) {
  if (run.store.postgres() == nullptr) {
    return {};
  }
  HOLDFAST_TRY(Limit limit, Limit::create(run));
  HOLDFAST_CHECK(limit.measure({}));
  run.context.report.add(
      {.name = "one_row_inserts", .value = limit.median_rate().value_or(0), .unit = "rows/s"});
  return {};
}

}  // namespace

Result<void> bench_appends(BenchRun& run) {
  HOLDFAST_TRY(const auto journal, run.store.open());
  for (const GroupCase& group : kGroups) {
    HOLDFAST_CHECK(bench_group(run, *journal, group));
  }
  return report_single_rows(run);
}

}  // namespace holdfast
