#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "lab/bench/bench_run.h"
#include "storage/journal/journal_history.h"
#include "storage/journal/journal_keys.h"

namespace holdfast {

namespace {

constexpr int kRepeats = 3;
constexpr std::size_t kGroup = 128;
constexpr double kMegabyte = 1e6;

Result<std::uint64_t> count_entries(const Batch& batch) {
  BodyScanner scanner(batch.position, batch.body);
  for (;;) {
    HOLDFAST_TRY(const auto entry, scanner.next());
    if (!entry.has_value()) {
      return scanner.count();
    }
  }
}

// The entries that earlier parts of the benchmark left in the journal.
Result<std::uint64_t> entries_so_far(Log& log) {
  std::uint64_t entries = 0;
  History history(log);
  for (;;) {
    HOLDFAST_TRY(const auto batches, history.next());
    if (batches.empty()) {
      return entries;
    }
    for (const Batch& batch : batches) {
      HOLDFAST_TRY(const auto count, count_entries(batch));
      entries += count;
    }
  }
}

Result<std::uint64_t> fill(BenchRun& run, std::uint64_t target) {
  HOLDFAST_TRY(const auto journal, run.store.open());
  HOLDFAST_TRY(std::uint64_t entries, entries_so_far(journal->log()));
  run.note(fmt::format("filling the journal up to {} entries", with_thousands(target)));
  while (entries < target) {
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(kGroup, target - entries));
    HOLDFAST_CHECK(journal->commit(run.samples.commit(count)));
    entries += count;
  }
  return entries;
}

enum class Caches : std::uint8_t { as_they_are, dropped };

struct OpenTime {
  double seconds;
  bool cold;
};

Result<OpenTime> time_open(BenchRun& run, Caches caches) {
  std::vector<double> times;
  bool cold = true;
  for (int i = 0; i < kRepeats; ++i) {
    cold = caches == Caches::dropped && run.store.drop_caches() && cold;
    const Stopwatch watch;
    HOLDFAST_TRY(const auto journal, run.store.open());
    times.push_back(watch.seconds());
  }
  return OpenTime{median(times), cold};
}

Result<double> report_open(BenchRun& run, std::string_view what) {
  run.note(fmt::format("opening {}", what));
  HOLDFAST_TRY(const OpenTime cold, time_open(run, Caches::dropped));
  HOLDFAST_TRY(const OpenTime warm, time_open(run, Caches::as_they_are));
  // Reported only if the system really dropped the file from memory.
  if (cold.cold) {
    run.context.report.add(
        {.name = fmt::format("open_{}_cold", what), .value = cold.seconds, .unit = "s"});
  }
  run.context.report.add(
      {.name = fmt::format("open_{}_warm", what), .value = warm.seconds, .unit = "s"});
  return warm.seconds;
}

Result<void> drop_directory(BenchRun& run) {
  HOLDFAST_TRY(const auto journal, run.store.open());
  SideUpdate update;
  update.deletes.emplace_back(kDirectoryKey);
  return journal->log().update(std::move(update));
}

Result<void> save_directory(BenchRun& run) {
  HOLDFAST_TRY(const auto journal, run.store.open());
  return journal->save_directory();
}

Result<void> report_size(BenchRun& run, std::string_view name, std::uint64_t entries) {
  HOLDFAST_TRY(const auto journal, run.store.open());
  HOLDFAST_TRY(const JournalStat stat, journal->stat());
  run.context.report.add(
      {.name = std::string(name),
       .value = static_cast<double>(stat.size_bytes) / static_cast<double>(entries),
       .unit = "bytes/entry"});
  return {};
}

Result<void> bench_seal(BenchRun& run) {
  run.note("sealing");
  HOLDFAST_TRY(const auto journal, run.store.open());
  const Stopwatch watch;
  HOLDFAST_TRY(const SealReport sealed, journal->seal());
  run.context.report.add(
      {.name = "seal", .value = watch.rate(sealed.entries), .unit = "entries/s"});
  return journal->log().reclaim();
}

}  // namespace

Result<void> bench_decode(BenchRun& run) {
  run.note("decoding");
  constexpr std::size_t kFullBatches = 1500;
  constexpr std::size_t kQuickBatches = 50;
  std::vector<Batch> batches;
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < (run.options.quick() ? kQuickBatches : kFullBatches); ++i) {
    batches.push_back(Batch{Position{i + 1}, sample_body(run.samples.commit(kGroup)), {}});
    bytes += batches.back().body.size();
  }
  const std::uint64_t entries = batches.size() * kGroup;
  std::vector<double> times;
  for (int i = 0; i < kRepeats; ++i) {
    const Stopwatch watch;
    for (const Batch& batch : batches) {
      HOLDFAST_TRY(const auto count, count_entries(batch));
      HOLDFAST_ASSERT(count == kGroup);
    }
    times.push_back(watch.seconds());
  }
  const double seconds = median(times);
  run.context.report.add(
      {.name = "decode", .value = static_cast<double>(entries) / seconds, .unit = "entries/s"});
  run.context.report.add({.name = "decode_bytes",
                          .value = static_cast<double>(bytes) / kMegabyte / seconds,
                          .unit = "MB/s"});
  run.context.report.add({.name = "entry_size",
                          .value = static_cast<double>(bytes) / static_cast<double>(entries),
                          .unit = "bytes"});
  return {};
}

Result<void> bench_whole_journal(BenchRun& run, std::uint64_t entries) {
  HOLDFAST_TRY(const std::uint64_t filled, fill(run, entries));
  HOLDFAST_CHECK(drop_directory(run));
  run.context.report.add(
      {.name = "journal_entries", .value = static_cast<double>(filled), .unit = "entries"});
  HOLDFAST_TRY(const double rebuild_seconds, report_open(run, "without_directory"));
  // One thread reads, checks the hashes and folds: the speed of one core.
  run.context.report.add({.name = "rebuild",
                          .value = static_cast<double>(filled) / rebuild_seconds,
                          .unit = "entries/s"});
  HOLDFAST_CHECK(report_size(run, "size_unsealed", filled));
  HOLDFAST_CHECK(save_directory(run));
  HOLDFAST_CHECK(report_open(run, "with_directory"));
  HOLDFAST_CHECK(bench_seal(run));
  HOLDFAST_CHECK(report_size(run, "size_sealed", filled));
  HOLDFAST_CHECK(report_open(run, "sealed"));
  return {};
}

}  // namespace holdfast
